// One question and what comes of it: the stages, the draft while it is written, the answer. Used by the ask view and the run view.
import { html, useEffect, useState } from "./vendor/preact.js";
import { Answer, isForgotten } from "./answer.js";
import { get } from "./api.js";
import { Copy } from "./copying.js";
import { Decisions } from "./decisions.js";
import { Feedback } from "./feedback.js";
import { duration, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { writtenIn } from "./letters.js";
import { Markdown } from "./markdown.js";
import { inOwnWords } from "./reasons.js";
import { Timeline } from "./timeline.js";
import { visible } from "./visible.js";
import { isUnderWay, isWaiting } from "./watching.js";

const NARROW = window.matchMedia("(max-width: 760px)");

// `isFolded`: the stages are behind a button, as those of earlier turns are.
export function Turn({ run, me, isFolded = false, onCite, onAskAgain }) {
  const isBusy = isUnderWay(run);
  const waits = isWaiting(run);
  return html`<article class="ask-turn">
    ${run.question && html`<h2 class="ask-question" lang=${writtenIn(run.question)}><bdi>${visible(run.question)}</bdi></h2>`}
    ${!isFolded && html`<p class="visually-hidden" role="status">${spoken(run)}</p>`}
    <${Stages} run=${run} isFolded=${isFolded} waits=${waits} />
    ${isBusy && run.connection === "reconnecting" && html`<p class="notice warn"><span class="spinner"></span> ${t("ask.reconnecting")}</p>`}
    ${run.phase === "queued" && run.ahead > 0 && html`<p class="notice"><${Icon} name="clock" /> ${t("ask.queued", { n: run.ahead })}</p>`}
    ${isBusy && run.draft && html`<${LiveDraft} run=${run} />`}
    ${waits && html`<${Waiting} run=${run} me=${me} onCite=${onCite} />`}
    ${run.phase === "done" && !waits && html`
      <${Decisions} answer=${run.answer} />
      <${Answer} answer=${run.answer} onCite=${onCite && ((citation) => onCite(citation, run.answer))} />
      <${Foot} run=${run} me=${me} />`}
    ${run.phase === "unread" && html`<${Trouble} title=${t("ask.unread")} problem=${run.refusal.message} onAgain=${run.look} />`}
    ${(run.phase === "failed" || run.phase === "refused") && html`<${Trouble} title=${t("ask.failed")} problem=${problemOf(run)}
      words=${t("ask.again")} onAgain=${onAskAgain && (() => onAskAgain(run))} />`}
  </article>`;
}

// What a screen reader is told as it goes: the stages, not every piece of a draft.
function spoken(run) {
  if (run.phase === "done") return t(`ask.spoken.${run.answer.status}`);
  if (run.phase === "failed" || run.phase === "refused") return t("ask.failed");
  if (run.phase === "unread") return t("ask.unread");
  const now = run.now.at(-1)?.name;
  return now ? t(`ask.step.${now}`) : t("ask.asking");
}

// On a phone they fold once they are through, so that the answer is what one sees.
function Stages({ run, isFolded, waits }) {
  const [isOpen, setOpen] = useState(false);
  if (!run.steps.length && !isUnderWay(run)) return null;
  const line = html`<${Timeline} steps=${run.steps} now=${run.now} isOver=${!isUnderWay(run)} waits=${waits} question=${run.question} />`;
  if (isUnderWay(run) || !(isFolded || NARROW.matches)) return line;
  const seconds = run.answer?.seconds || 0;
  return html`<div class="ask-stages"><button type="button" class="quiet small" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
    <${Icon} name=${isOpen ? "down" : "right"} size=${14} /> ${t("ask.howItCame")}${seconds > 0 ? ` · ${duration(seconds)}` : ""}</button>
    ${isOpen && line}</div>`;
}

function LiveDraft({ run }) {
  const isWritten = run.now.length > 0 && !run.now.some((one) => one.name === "generate_answer");
  const mark = isWritten ? "ask.draftExamined" : run.isOld ? "ask.draftRevised" : "ask.draftMark";
  return html`<section class="ask-draft" aria-label=${t("ask.draft")} aria-busy="true">
    <p class="ask-draft-mark"><${Icon} name="edit" size=${14} /> ${t(mark)}</p>
    <div lang=${writtenIn(run.draft)}><${Markdown} text=${run.draft} /></div>
  </section>`;
}

// The draft that waits is in its approval, for those who may see it.
function Waiting({ run, me, onCite }) {
  const [approval, setApproval] = useState(null);
  const id = run.answer.approval_id;
  useEffect(() => {
    let isGone = false;
    get(`/api/approvals/${encodeURIComponent(id)}`).then((found) => { if (!isGone) setApproval(found); }, () => {});
    return () => { isGone = true; };
  }, [id]);
  const mayDecide = me.role !== "asker";
  return html`<div class="notice accent ask-waiting"><${Icon} name="person" />
      <div><strong>${t("ask.waits")}</strong><p>${t(mayDecide ? "ask.waits.decide" : "ask.waits.lead")}</p></div>
      ${mayDecide && html`<a class="button small" href=${`#/inbox/${encodeURIComponent(id)}`}>${t("ask.toInbox")}</a>`}
    </div>
    <${Decisions} answer=${run.answer} />
    ${approval?.draft?.text && html`<${Answer} answer=${approval.draft} isDraft onCite=${onCite && ((citation) => onCite(citation, approval.draft))} />`}
    <${Foot} run=${run} me=${me} />`;
}

function Foot({ run, me }) {
  const id = encodeURIComponent(run.runId);
  const mine = run.feedback.find((one) => one.by === me.user) || null;
  const stands = !isWaiting(run) && run.answer.status !== "rejected" && !isForgotten(run.answer);
  return html`<footer class="ask-foot">
    ${stands && html`<${Feedback} runId=${run.runId} given=${mine} />`}
    <span class="row">
      <${Copy} words=${t("ask.copyLink")} text=${() => `${location.origin}/#/runs/${id}`} />
      <a class="button quiet small" href=${`/api/runs/${id}/page`} target="_blank" rel="noopener"><${Icon} name="receipt" size=${16} /> ${t("ask.receipt")}</a>
    </span>
  </footer>`;
}

// What is not there, why, and a button to try again.
export function Trouble({ title, problem, words = t("shell.tryAgain"), onAgain }) {
  return html`<div class="notice bad ask-failed" role="alert"><${Icon} name="warn" />
      <div><strong>${title}</strong><p>${visible(problem)}</p></div>
      ${onAgain && html`<button type="button" class="small" onClick=${() => onAgain()}><${Icon} name="again" size=${16} /> ${words}</button>`}
    </div>`;
}

function problemOf({ problem, refusal }) {
  return problem ? inOwnWords(problem) : (refusal.status === 401 ? t("ask.signedOut") : refusal.message);
}
