// A thumb up or down for an answer, and a word of why: `<${Feedback} runId=${…} given=${feedback or null} />`. What is said
// counts at once and can be changed. Knows nothing about the answer.
import { html, useEffect, useId, useRef, useState } from "./vendor/preact.js";
import { Icon } from "./icons.js";
import { post } from "./api.js";
import { t } from "./i18n.js";
import { writtenIn } from "./letters.js";
import { visible } from "./visible.js";

const LONGEST = 2000;

export function Feedback({ runId, given = null, onGiven }) {
  const [kept, setKept] = useState(given);
  const [why, setWhy] = useState(given?.why ?? "");
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const root = useRef(null);
  useEffect(() => {
    setKept(given);
    setWhy(given?.why ?? "");
    setOpen(false);
    setProblem("");
  }, [runId, given?.thumb, given?.why]);

  const send = async (thumb, reason) => {
    setBusy(true);
    setProblem("");
    try {
      const feedback = await post(`/api/runs/${encodeURIComponent(runId)}/feedback`, { thumb, why: reason.trim() });
      setKept(feedback);
      onGiven?.(feedback);
      return true;
    } catch (refused) {
      setProblem(refused.message);
      return false;
    } finally {
      setBusy(false);
    }
  };
  const choose = async (thumb) => setOpen((await send(thumb, why)) || isOpen);
  const close = () => {
    setOpen(false);
    root.current?.querySelector("[aria-pressed=true]")?.focus(); // the form takes with it what has the focus
  };
  const explain = async () => { if (await send(kept.thumb, why)) close(); };

  return html`<div class="feedback" ref=${root}>
    <div class="row" role="group" aria-label=${t("answer.feedback")}>
      <span class="small muted" aria-hidden="true">${t("answer.feedback")}</span>
      ${["up", "down"].map((thumb) => html`<${Thumb} key=${thumb} thumb=${thumb} isChosen=${kept?.thumb === thumb}
        isBusy=${isBusy} onChoose=${() => choose(thumb)} />`)}
      <span class="small muted" role="status">${kept ? t(`answer.feedback.given.${kept.thumb}`) : ""}</span>
      ${kept && !isOpen
        ? html`<button type="button" class="link small" onClick=${() => setOpen(true)}>
            ${t(kept.why ? "answer.feedback.change" : "answer.feedback.add")}
          </button>`
        : null}
    </div>
    ${kept?.why && !isOpen ? html`<p class="feedback-why small" dir="auto" lang=${writtenIn(kept.why)}>${visible(kept.why)}</p>` : null}
    ${isOpen
      ? html`<${Why} why=${why} setWhy=${setWhy} isBusy=${isBusy} onSave=${explain} onClose=${close} />`
      : null}
    ${problem ? html`<p class="notice bad" role="alert"><${Icon} name="warn" />${problem}</p>` : null}
  </div>`;
}

function Thumb({ thumb, isChosen, isBusy, onChoose }) {
  return html`<button type="button" class=${`quiet icon feedback-thumb ${isChosen ? "feedback-chosen" : ""}`}
    aria-pressed=${isChosen} aria-disabled=${isBusy} title=${t(`answer.feedback.${thumb}`)}
    aria-label=${t(`answer.feedback.${thumb}`)} onClick=${() => isBusy || onChoose()}><${Icon} name=${thumb === "up" ? "thumbUp" : "thumbDown"} /></button>`;
}

function Why({ why, setWhy, isBusy, onSave, onClose }) {
  const id = useId();
  const field = useRef(null);
  const form = useRef(null);
  useEffect(() => {
    form.current.scrollIntoView({ block: "nearest" }); // from under the bar at the foot
    if (document.activeElement === document.body) field.current.focus(); // the button that opened it is gone
  }, []);
  const onKeyDown = (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") onSave();
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="feedback-form" ref=${form}>
    <label class="small" for=${id}>${t("answer.feedback.why")}</label>
    <div class="row">
      <input id=${id} ref=${field} type="text" maxlength=${LONGEST} value=${why} autocomplete="off"
        placeholder=${t("answer.feedback.placeholder")} onInput=${(event) => setWhy(event.currentTarget.value)} onKeyDown=${onKeyDown} />
      <button type="button" class="primary" disabled=${isBusy} onClick=${onSave}>${t("answer.feedback.save")}</button>
      <button type="button" class="quiet" onClick=${onClose}>${t("answer.feedback.later")}</button>
    </div>
  </div>`;
}
