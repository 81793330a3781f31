// A thumb up or down for an answer, with an optional reason. It is saved at once and can be changed.
import { html, useEffect, useId, useRef, useState } from "../lib/preact.js";
import { isComposing, withValue } from "../lib/components.js";
import { asApiError, post } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { detectLanguage, printable } from "../lib/text.js";
/** @import { Feedback as FeedbackData } from "../lib/types.d.ts" */

/** @typedef {FeedbackData["thumb"]} ThumbDirection */

const MAX_LENGTH = 2000;

/** @param {{ runId: string, given?: FeedbackData | null }} props */
export function Feedback({ runId, given = null }) {
  const [saved, setSaved] = useState(given);
  const [why, setWhy] = useState(given?.why ?? "");
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    setSaved(given);
    setWhy(given?.why ?? "");
    setOpen(false);
    setProblem("");
  }, [runId, given?.thumb, given?.why]);

  const send = async (/** @type {ThumbDirection} */ thumb) => {
    setBusy(true);
    setProblem("");
    try {
      setSaved(await post(`/api/runs/${encodeURIComponent(runId)}/feedback`, { thumb, why: why.trim() }));
      return true;
    } catch (error) {
      setProblem(asApiError(error).message);
      return false;
    } finally {
      setBusy(false);
    }
  };
  const choose = async (/** @type {ThumbDirection} */ thumb) => setOpen((await send(thumb)) || isOpen);
  const close = () => {
    setOpen(false);
    /** @type {HTMLElement | null | undefined} */ (root.current?.querySelector("[aria-pressed=true]"))?.focus(); // the form had it
  };
  const saveReason = async () => { if (saved && await send(saved.thumb)) close(); };

  return html`<div class="feedback" ref=${root}>
    <div class="row" role="group" aria-label=${t("answer.feedback")}>
      <span class="small muted" aria-hidden="true">${t("answer.feedback")}</span>
      ${["up", "down"].map((thumb) => html`<${Thumb} key=${thumb} thumb=${thumb} isChosen=${saved?.thumb === thumb}
        isBusy=${isBusy} onChoose=${choose} />`)}
      <span class="small muted" role="status">${saved ? t(`answer.feedback.given.${saved.thumb}`) : ""}</span>
      ${saved && !isOpen
        ? html`<button type="button" class="link small" onClick=${() => setOpen(true)}>
            ${t(saved.why ? "answer.feedback.change" : "answer.feedback.add")}
          </button>`
        : null}
    </div>
    ${saved?.why && !isOpen ? html`<p class="feedback-why small" dir="auto" lang=${detectLanguage(saved.why)}>${printable(saved.why)}</p>` : null}
    ${isOpen
      ? html`<${ReasonForm} why=${why} setWhy=${setWhy} isBusy=${isBusy} onSave=${saveReason} onClose=${close} />`
      : null}
    ${problem ? html`<p class="notice bad" role="alert"><${Icon} name="warn" />${problem}</p>` : null}
  </div>`;
}

/** @param {{ thumb: ThumbDirection, isChosen: boolean, isBusy: boolean, onChoose: (thumb: ThumbDirection) => void }} props */
function Thumb({ thumb, isChosen, isBusy, onChoose }) {
  return html`<button type="button" class=${`quiet icon feedback-thumb ${isChosen ? "feedback-chosen" : ""}`}
    aria-pressed=${isChosen} aria-disabled=${isBusy} title=${t(`answer.feedback.${thumb}`)}
    aria-label=${t(`answer.feedback.${thumb}`)} onClick=${() => isBusy || onChoose(thumb)}><${Icon} name=${thumb === "up" ? "thumbUp" : "thumbDown"} /></button>`;
}

/** @param {{ why: string, setWhy: (why: string) => void, isBusy: boolean, onSave: () => void, onClose: () => void }} props */
function ReasonForm({ why, setWhy, isBusy, onSave, onClose }) {
  const id = useId();
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    form.current?.scrollIntoView({ block: "nearest" }); // the question box may cover it
    if (document.activeElement === document.body) field.current?.focus(); // the button that opened it is gone
  }, []);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (isComposing(event)) return;
    if (event.key === "Enter") onSave();
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="feedback-form" ref=${form}>
    <label class="small" for=${id}>${t("answer.feedback.why")}</label>
    <div class="row">
      <input id=${id} ref=${field} type="text" maxlength=${MAX_LENGTH} value=${why} autocomplete="off"
        placeholder=${t("answer.feedback.placeholder")} onInput=${withValue(setWhy)} onKeyDown=${onKeyDown} />
      <button type="button" class="primary" disabled=${isBusy} onClick=${onSave}>${t("answer.feedback.save")}</button>
      <button type="button" class="quiet" onClick=${onClose}>${t("answer.feedback.later")}</button>
    </div>
  </div>`;
}
