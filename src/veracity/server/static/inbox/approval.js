// One approval: the draft, what helps to judge it, and the decision.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { Answer } from "../answer/answer.js";
import { Diff } from "../answer/diff.js";
import { describeReason } from "../answer/approval-reason.js";
import { Scores } from "../answer/scores.js";
import { AnswerSource } from "../answer/source.js";
import { Verdict as VerdictLine } from "../answer/verdict.js";
import { CopyButton } from "../lib/components.js";
import { ago, dateTime, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Markdown } from "../lib/markdown.js";
import { approvalLink, runLink } from "../lib/routes.js";
import { useTyped } from "../lib/storage.js";
import { thresholdFor } from "../lib/strength.js";
import { printable } from "../lib/text.js";
import { Assignee } from "./assignee.js";
import { Actions, offersWebSearch, RejectForm, SendBackForm, SendStatus, useDecision } from "./decision.js";
import { EditForm } from "./edit-form.js";
import { History } from "./history.js";
import { useKeys } from "./keys.js";
import { isHeld } from "./undo.js";
import { SecondAttempt } from "./second-attempt.js";
/** @import { ComponentChildren } from "../lib/preact.js" */
/** @import { Answer as AnswerData, Approval as ApprovalData, Citation, Me } from "../lib/types.d.ts" */
/** @import { DecisionBody } from "./decision.js" */

/** @param {Me} me */
export const canDecide = (me) => me.role !== "asker";

/**
 * `newer` is a later approval of the same run, `next` the link of the next approval in the list.
 * @param {{ me: Me, approval: ApprovalData, newer?: ApprovalData, next: string, merge: (approvals: ApprovalData[]) => void,
 *   onBack: () => void, onDecided: (decided: ApprovalData) => void }} props
 */
export function Approval({ me, approval, newer, next, merge, onBack, onDecided }) {
  const [reason, setReason] = useTyped(`inbox.${approval.approval_id}.reason`);
  const [note, setNote] = useTyped(`inbox.${approval.approval_id}.note`);
  const [edit, setEdit] = useTyped(`inbox.${approval.approval_id}.edit`); // null: the draft is unchanged
  const mayDecide = canDecide(me) && approval.state === "pending";
  const [form, setForm] = useState(!mayDecide ? "" : edit ? "edit" : note && approval.send_backs ? "sendBack" : reason ? "reject" : ""); // continues what was begun
  const [cited, setCited] = useState(/** @type {Citation | null} */ (null));
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const { state, decide, isBusy } = useDecision(approval, merge, onDecided);
  const focusHeading = () => heading.current?.focus({ preventScroll: true });

  useLayoutEffect(() => { // later it would take the focus from a form that was opened meanwhile
    window.scrollTo(0, 0);
    focusHeading();
  }, []);
  useEffect(() => {
    if (approval.state === "pending") return;
    setForm("");
    if (document.activeElement === document.body) focusHeading(); // the button that had the focus is gone
  }, [approval.state, form]);

  const send = async (/** @type {DecisionBody} */ decision) => {
    if (!await decide({ ...decision, hold: me.undo_seconds })) return;
    setReason(null);
    setNote(null);
    setEdit(null);
  };
  const close = () => {
    setForm("");
    focusHeading();
  };
  const whenIdle = (/** @type {() => unknown} */ act) => () => (mayDecide && !isBusy && !form ? act() : false);
  useKeys({
    a: whenIdle(() => { send({ verdict: "approve" }); }),
    r: whenIdle(() => setForm("reject")),
    e: whenIdle(() => setForm("edit")),
    s: whenIdle(() => (approval.send_backs > 0 ? setForm("sendBack") : false)),
    Escape: () => (cited ? setCited(null) : form ? close() : onBack()),
  });

  const { draft } = approval;
  const sent = editedAnswer(approval);
  const shown = sent ?? draft;
  const setEdited = (/** @type {string} */ text) => setEdit(text === draft.text ? null : text);
  return html`
    <article class="inbox-approval" aria-labelledby="inbox-question">
      <${Head} me=${me} approval=${approval} heading=${heading} merge=${merge} onBack=${onBack} />
      <${Status} me=${me} approval=${approval} newer=${newer} next=${next} />
      ${shown.text && html`<div class="verdict-bar"><${VerdictLine} answer=${shown} threshold=${me.threshold} /></div>`}
      <${SendStatus} state=${state} />
      ${approval.state !== "pending" && !isBusy && html`<${Unsent} approval=${approval} texts=${[edit, reason, note]} />`}
      ${form === "edit"
        ? html`<${EditForm} approval=${approval} text=${edit ?? draft.text} isBusy=${isBusy} setText=${setEdited}
            onSend=${() => send({ verdict: "approve", edit: edit ?? draft.text })} onCancel=${close} />`
        : sent ? html`<${Sent} draft=${draft} sent=${sent} onCite=${setCited} />`
        : html`<${Section} title=${t("inbox.draft")} note=${mayDecide && describeRecipient(me, approval)}>
            ${draft.text ? html`<${Answer} answer=${draft} onCite=${setCited} />`
              : html`<p class="muted">${t(approval.state === "pending" ? "inbox.hidden" : "inbox.removed")}</p>`}
          <//>`}
      ${(draft.evaluation || draft.grounding.length > 0) && html`<${Section} title=${t("inbox.scores")}
        note=${(sent || form === "edit") && t("inbox.scores.before")}>
        <${Scores} evaluation=${draft.evaluation} score=${draft.score} threshold=${thresholdFor(draft.language, me.threshold)}
          grounding=${draft.grounding} floor=${me.grounding_floor} /><//>`}
      ${draft.text && draft.status !== "abstained" && html`<${Section} title=${t("inbox.history")}>
        <${History} key=${approval.draft_hash} approval=${approval} /><//>`}
      ${mayDecide && form !== "edit" && html`
        <div class="inbox-bar">
          ${form === "sendBack"
            ? html`<${SendBackForm} approval=${approval} isBusy=${isBusy} note=${note ?? ""} setNote=${setNote}
                onSend=${() => send({ verdict: "send_back", reason: (note ?? "").trim() })} onCancel=${close} />`
            : form === "reject"
            ? html`<${RejectForm} approval=${approval} isBusy=${isBusy} reason=${reason ?? ""} setReason=${setReason}
                onSend=${() => send({ verdict: "reject", reason: (reason ?? "").trim() })} onCancel=${close} />`
            : html`<${Actions} approval=${approval} isBusy=${isBusy} onApprove=${() => send({ verdict: "approve" })}
                onReject=${() => setForm("reject")} onEdit=${() => setForm("edit")} onSendBack=${() => setForm("sendBack")} />`}
        </div>`}
    </article>
    ${cited && html`<${AnswerSource} open=${{ citation: cited, answer: shown }} onCite=${setCited} onClose=${() => setCited(null)} />`}`;
}

/**
 * What a person wrote instead of the draft. Its sentences were not examined, so citations open whole passages.
 * @param {ApprovalData} approval @returns {AnswerData | null}
 */
export function editedAnswer({ draft, decision }) {
  if (!decision?.edit) return null;
  return { ...draft, status: "answered", form: "edited", text: decision.edit, sentences: [], missing: [], notices: [], review: null, score: null, decisions: [decision] };
}

/**
 * What was sent, and behind a fold the draft and what was changed.
 * @param {{ draft: AnswerData, sent: AnswerData, onCite: (citation: Citation) => void }} props
 */
function Sent({ draft, sent, onCite }) {
  return html`<${Section} title=${t("inbox.sent")}><${Answer} answer=${sent} onCite=${onCite} />
    ${draft.text && html`<details class="inbox-whole"><summary class="small">${t("inbox.sent.changes")}</summary>
      <${Diff} language=${draft.language} before=${printable(draft.text)} after=${printable(sent.text)} />
      <h4>${t("inbox.draft")}</h4><div lang=${draft.language || null}><${Markdown} text=${draft.text} /></div></details>`}<//>`;
}

/**
 * Text that was typed for a draft somebody else decided on. It can still be copied.
 * @param {{ approval: ApprovalData, texts: (string | null)[] }} props
 */
function Unsent({ approval: { decision }, texts }) {
  const left = texts.filter((text) => text?.trim() && text !== decision?.edit && text.trim() !== decision?.reason);
  return left.length > 0 && html`<${Section} title=${t("inbox.unsent")}>${left.map((text) => html`
    <p key=${text} class="inbox-unsent" dir="auto">${printable(text ?? "")}</p><${CopyButton} label=${t("answer.copy")} text=${() => text ?? ""} />`)}<//>`;
}

/** @param {Me} me @param {ApprovalData} approval */
function describeRecipient(me, { user }) {
  return user === me.user ? t("inbox.draft.note.you") : t("inbox.draft.note", { user: printable(user) });
}

/** @param {{ title: string, note?: string | false, children?: ComponentChildren }} props */
function Section({ title, note, children }) {
  return html`<section class="inbox-section"><h3>${title}</h3>${note && html`<p class="muted small">${note}</p>`}${children}</section>`;
}

/**
 * @param {{ me: Me, approval: ApprovalData, heading: { current: HTMLElement | null }, merge: (approvals: ApprovalData[]) => void,
 *   onBack: () => void }} props
 */
function Head({ me, approval, heading, merge, onBack }) {
  const { draft } = approval;
  const isMine = approval.user === me.user;
  const asked = t(approval.attempt > 1 ? "inbox.asked.again" : isMine ? "inbox.asked.you" : "inbox.asked", { user: printable(approval.user), when: ago(approval.created) });
  return html`
    <header class="inbox-head">
      <button type="button" class="quiet small inbox-back" onClick=${onBack}><${Icon} name="left" />${t("inbox.back")}</button>
      <h2 id="inbox-question" tabindex="-1" ref=${heading} lang=${draft.language || null}>${printable(approval.question) || t("inbox.removed")}</h2>
      ${draft.standalone && draft.standalone !== approval.question && html`
        <p class="muted">${t("inbox.understood", { question: printable(draft.standalone) })}</p>`}
      <p class="row muted small">
        <span title=${dateTime(approval.created)}>${asked}</span>
        ${isFromWeb(approval) && html`<span class="badge accent"><${Icon} name="globe" size=${14} />${t("inbox.attempt.web")}</span>`}
        ${approval.expires && approval.state === "pending" && html`<span title=${dateTime(approval.expires)}>${t("inbox.expires", { when: ago(approval.expires) })}</span>`}
        ${canDecide(me) && approval.state === "pending" && html`<${Assignee} me=${me} approval=${approval} merge=${merge} />`}
        <a href=${runLink(approval.run_id)}>${t("inbox.run")}</a>
      </p>
    </header>`;
}

/** @param {ApprovalData} approval */
const isFromWeb = ({ draft }) => draft.evidence.some(({ source }) => source === "web");

/**
 * Why the draft is pending and what a rejection leads to, or what was decided.
 * @param {{ me: Me, approval: ApprovalData, newer?: ApprovalData, next: string }} props
 */
function Status({ me, approval, newer, next }) {
  const isPending = approval.state === "pending";
  return html`
    <div role="status" class=${isPending ? "" : "inbox-decided"}>
      ${isPending ? html`<${PendingReason} me=${me} approval=${approval} />` : html`<${Verdict} me=${me} approval=${approval} />`}
      ${approval.state === "superseded" && newer && html`
        <a class="button primary" href=${approvalLink(newer.approval_id)}>${t("inbox.newer")}</a>`}
      ${!isPending && next && html`<a class="button small" href=${next}>${t("inbox.next")}<kbd aria-hidden="true">j</kbd></a>`}
    </div>
    ${(approval.state === "sent_back" || (approval.state === "rejected" && approval.on_reject === "search")) && !isHeld(approval) && html`<${SecondAttempt} approval=${approval} newer=${newer} />`}`;
}

/** @param {{ me: Me, approval: ApprovalData }} props */
function PendingReason({ me, approval }) {
  const next = !canDecide(me) ? "inbox.watch" : offersWebSearch(approval) ? "inbox.offer" : `inbox.reject.${approval.on_reject}`;
  return html`
    <div class="notice warn inbox-why">
      <${Icon} name="clock" />
      <div><strong>${describeReason(approval, me)}</strong>
        <p>${t(next)}</p></div>
    </div>`;
}

const TONES = { pending: "", approved: "good", rejected: "bad", sent_back: "", expired: "warn", superseded: "warn" };
const ICONS = { pending: "", approved: "check", rejected: "cross", sent_back: "again", expired: "clock", superseded: "warn" };

/** @param {{ me: Me, approval: ApprovalData }} props */
function Verdict({ me, approval }) {
  const { state, decision } = approval;
  const verdict = decision?.edit ? "edited" : state;
  const suffix = decision && decision.by === me.user ? ".you" : "";
  return html`
    <div class=${`notice ${TONES[state]}`}>
      <${Icon} name=${ICONS[state]} />
      <div><strong>${t(`inbox.decided.${verdict}${suffix}`, { name: printable(decision?.by ?? "") })}</strong>
        ${decision?.at && html` <span class="small" title=${dateTime(decision.at)}>${ago(decision.at)}</span>`}
        ${decision?.reason && html`<p>${t("inbox.decided.reason", { reason: printable(decision.reason) })}</p>`}</div>
    </div>`;
}
