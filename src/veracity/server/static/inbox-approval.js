// One approval: the draft that waits, all that helps to judge it, and the decision. Knows nothing about the list.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { ago, dateTime, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { Answer } from "./answer.js";
import { citationsOf } from "./citing.js";
import { Source } from "./source.js";
import { Scores } from "./scores.js";
import { Copy } from "./copying.js";
import { Diff } from "./diff.js";
import { useKept } from "./kept.js";
import { visible } from "./visible.js";
import { After } from "./inbox-after.js";
import { Actions, RejectForm, Sending, useDeciding } from "./inbox-deciding.js";
import { EditForm } from "./inbox-editing.js";
import { History } from "./inbox-history.js";
import { useKeys } from "./inbox-keys.js";
import { isOffer, scoreOf } from "./inbox-words.js";
import { points } from "./points.js";

export const canDecide = (me) => me.role !== "asker";

/** `newer` is a later approval of the same run, `next` the address of the next one in the list. */
export function Approval({ me, approval, newer, next, merge, onBack }) {
  const [reason, setReason] = useKept(`inbox.${approval.approval_id}.reason`);
  const [edit, setEdit] = useKept(`inbox.${approval.approval_id}.edit`); // null: the draft as it is
  const mayDecide = canDecide(me) && approval.state === "pending";
  const [form, setForm] = useState(!mayDecide ? "" : edit ? "edit" : reason ? "reject" : ""); // what was begun goes on
  const [cited, setCited] = useState(null);
  const heading = useRef(null);
  const { state, decide, isBusy } = useDeciding(approval, merge);

  useLayoutEffect(() => { // at once: later it would take the focus from a form that was opened meanwhile
    window.scrollTo(0, 0);
    heading.current.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    if (approval.state === "pending") return;
    setForm("");
    if (document.activeElement === document.body) heading.current.focus({ preventScroll: true }); // its button is gone
  }, [approval.state, form]);

  const send = async (decision) => {
    if (!await decide(decision)) return;
    setReason(null);
    setEdit(null);
  };
  const close = () => {
    setForm("");
    heading.current.focus({ preventScroll: true });
  };
  const when = (act) => () => (mayDecide && !isBusy && !form ? act() : false);
  useKeys({
    a: when(() => { send({ verdict: "approve" }); }),
    r: when(() => setForm("reject")),
    e: when(() => setForm("edit")),
    Escape: () => (cited ? setCited(null) : form ? close() : onBack()),
  });

  const { draft } = approval;
  return html`
    <article class="inbox-approval" aria-labelledby="inbox-question">
      <${Head} me=${me} approval=${approval} heading=${heading} onBack=${onBack} />
      <${Standing} me=${me} approval=${approval} newer=${newer} next=${next} />
      <${Sending} state=${state} />
      ${approval.state !== "pending" && !isBusy && html`<${Unsent} approval=${approval} texts=${[edit, reason]} />`}
      ${form === "edit"
        ? html`<${EditForm} approval=${approval} text=${edit ?? draft.text} isBusy=${isBusy}
            setText=${(text) => setEdit(text === draft.text ? null : text)} onSend=${() => send({ verdict: "approve", edit: edit ?? draft.text })} onCancel=${close} />`
        : html`<${Section} title=${t("inbox.draft")} note=${mayDecide && goesTo(me, approval)}>
            ${draft.text ? html`<${Answer} answer=${draft} onCite=${setCited} />`
              : html`<p class="muted">${t(approval.state === "pending" ? "inbox.hidden" : "inbox.removed")}</p>`}
          <//>`}
      ${draft.evaluation && html`<${Section} title=${t("inbox.scores")}>
        <${Scores} evaluation=${draft.evaluation} score=${draft.score} threshold=${me.threshold} /><//>`}
      ${draft.text && draft.status !== "abstained" && html`<${Section} title=${t("inbox.history")}><${History} approval=${approval} /><//>`}
      ${mayDecide && form !== "edit" && html`
        <div class="inbox-bar">
          ${form === "reject"
            ? html`<${RejectForm} approval=${approval} isBusy=${isBusy} reason=${reason ?? ""} setReason=${setReason}
                onSend=${() => send({ verdict: "reject", reason: (reason ?? "").trim() })} onCancel=${close} />`
            : html`<${Actions} approval=${approval} isBusy=${isBusy} onApprove=${() => send({ verdict: "approve" })}
                onReject=${() => setForm("reject")} onEdit=${() => setForm("edit")} />`}
        </div>`}
    </article>
    ${cited && html`<${Source} citation=${cited} evidence=${draft.evidence}
      citations=${citationsOf(draft)} onCite=${setCited} onClose=${() => setCited(null)} />`}`;
}

/** Another was first, or the draft is gone: what was typed for it can still be copied. */
function Unsent({ approval: { decision }, texts }) {
  const left = texts.filter((text) => text?.trim() && text !== decision?.edit && text.trim() !== decision?.reason);
  return left.length > 0 && html`<${Section} title=${t("inbox.unsent")}>${left.map((text) => html`
    <p key=${text} class="inbox-unsent" dir="auto">${visible(text)}</p><${Copy} words=${t("answer.copy")} text=${() => text} />`)}<//>`;
}

function goesTo(me, { user }) {
  return user === me.user ? t("inbox.draft.note.you") : t("inbox.draft.note", { user: visible(user) });
}

function Section({ title, note, children }) {
  return html`<section class="inbox-section"><h3>${title}</h3>${note && html`<p class="muted small">${note}</p>`}${children}</section>`;
}

function Head({ me, approval, heading, onBack }) {
  const { draft } = approval;
  const isMine = approval.user === me.user;
  const asked = t(isMine ? "inbox.asked.you" : "inbox.asked", { user: visible(approval.user), when: ago(approval.created) });
  return html`
    <header class="inbox-head">
      <button type="button" class="quiet small inbox-back" onClick=${onBack}><${Icon} name="left" />${t("inbox.back")}</button>
      <h2 id="inbox-question" tabindex="-1" ref=${heading} lang=${draft.language || null}>${visible(approval.question) || t("inbox.removed")}</h2>
      ${draft.standalone && draft.standalone !== approval.question && html`
        <p class="muted">${t("inbox.understood", { question: visible(draft.standalone) })}</p>`}
      <p class="row muted small">
        <span title=${dateTime(approval.created)}>${asked}</span>
        ${approval.attempt > 1 && html`<span class="badge accent"><${Icon} name="globe" size=${14} />${t("inbox.attempt.web")}</span>`}
        <a href=${`#/runs/${encodeURIComponent(approval.run_id)}`}>${t("inbox.run")}</a>
      </p>
    </header>`;
}

/** Why it waits and what a rejection leads to; or what was decided and what came of it. */
function Standing({ me, approval, newer, next }) {
  const isPending = approval.state === "pending";
  return html`
    <div role="status" class=${isPending ? "" : "inbox-decided"}>
      ${isPending ? html`<${Waiting} me=${me} approval=${approval} />` : html`<${Verdict} me=${me} approval=${approval} />`}
      ${approval.state === "superseded" && newer && html`
        <a class="button primary" href=${`#/inbox/${encodeURIComponent(newer.approval_id)}`}>${t("inbox.newer")}</a>`}
      ${!isPending && next && html`<a class="button small" href=${next}>${t("inbox.next")}<kbd aria-hidden="true">j</kbd></a>`}
    </div>
    ${approval.decision?.edit && html`
      <${Section} title=${t("inbox.decided.edit")}>
        <${Diff} language=${approval.draft.language} before=${visible(approval.draft.text)} after=${visible(approval.decision.edit)} /><//>`}
    ${approval.state === "rejected" && approval.on_reject === "search" && html`<${After} approval=${approval} newer=${newer} />`}`;
}

function Waiting({ me, approval }) {
  const next = !canDecide(me) ? "inbox.watch" : isOffer(approval) ? "inbox.offer" : `inbox.reject.${approval.on_reject}`;
  const values = { score: scoreOf(approval.draft, me), threshold: points(me.threshold) };
  return html`
    <div class="notice warn inbox-why">
      <${Icon} name="clock" />
      <div><strong>${t(`inbox.why.${approval.why}`, values)}</strong>
        <p>${t(next)}</p></div>
    </div>`;
}

const TONES = { approved: "good", rejected: "bad", superseded: "warn" };
const ICONS = { approved: "check", rejected: "cross", superseded: "warn" };

function Verdict({ me, approval }) {
  const { state, decision } = approval;
  const how = decision?.edit ? "edited" : state;
  const whose = decision && decision.by === me.user ? ".you" : "";
  return html`
    <div class=${`notice ${TONES[state]}`}>
      <${Icon} name=${ICONS[state]} />
      <div><strong>${t(`inbox.decided.${how}${whose}`, { name: visible(decision?.by ?? "") })}</strong>
        ${decision?.at && html` <span class="small" title=${dateTime(decision.at)}>${ago(decision.at)}</span>`}
        ${decision?.reason && html`<p>${t("inbox.decided.reason", { reason: visible(decision.reason) })}</p>`}</div>
    </div>`;
}
