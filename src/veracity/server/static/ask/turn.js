// A question and its answer: the stages, the draft while it is written, then the answer.
import { html, useEffect, useState } from "../lib/preact.js";
import { Answer, isForgotten, Reason } from "../answer/answer.js";
import { describeReason } from "../answer/approval-reason.js";
import { Feedback } from "../answer/feedback.js";
import { Verdict } from "../answer/verdict.js";
import { CopyButton, Loading } from "../lib/components.js";
import { useConnectionLost } from "../lib/connection.js";
import { get, translateReason } from "../lib/http.js";
import { dateTime, duration, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Markdown } from "../lib/markdown.js";
import { approvalLink, receiptLink, runLink } from "../lib/routes.js";
import { detectLanguage, printable } from "../lib/text.js";
import { Chips } from "./document-picker.js";
import { FollowUps } from "./examples.js";
import { ModelUsage } from "./model-usage.js";
import { isPending, isRunning } from "./run-state.js";
import { lastStep } from "./stages.js";
import { Timeline } from "./timeline.js";
/** @import { Answer as AnswerData, Approval, Citation, Decision, FollowedRun, Me, OnCite, Run } from "../lib/types.d.ts" */

const STOPPED = /^Stopped by (.+)\.$/; // the problem of a run that somebody stopped

/**
 * `isPast`: a turn of an earlier visit, which a screen reader does not announce. `isLast`: the end of the conversation.
 * @param {{ run: FollowedRun, me: Me, isPast?: boolean, isLast?: boolean, onCite?: OnCite, onAskAgain?: (run: Run) => void,
 *   onEdit?: (run: Run) => void, onFollowUp?: (question: string) => void }} props
 */
export function Turn({ run, me, isPast = false, isLast = false, onCite, onAskAgain, onEdit, onFollowUp }) {
  const isBusy = isRunning(run);
  const started = run.started ?? run.steps[0]?.started;
  return html`<article class="ask-turn">
    ${started && html`<p class="print-only small">${dateTime(started)}</p>`}
    ${run.question && html`<h2 class="ask-question" lang=${detectLanguage(run.question)}><bdi>${printable(run.question)}</bdi></h2>`}
    ${run.only.length > 0 && html`<div class="ask-limits row small muted">${t("ask.only")} <${Chips} only=${run.only} /></div>`}
    ${!isPast && html`<p class="visually-hidden" role="status">${announcement(run, me)}</p>`}
    <${Examination} run=${run} me=${me} />
    ${run.phase === "queued" && run.ahead > 0 && html`<p class="notice"><${Icon} name="clock" /> ${t("ask.queued", { n: run.ahead })}</p>`}
    ${isBusy && run.draft && html`<${LiveDraft} run=${run} />`}
    ${run.answer && isPending(run) && html`<${Pending} run=${run} answer=${run.answer} me=${me} onCite=${onCite} onEdit=${onEdit} />`}
    ${run.answer && run.phase === "done" && !isPending(run) && html`
      <${Decisions} answer=${run.answer} />
      <${Answer} answer=${run.answer} onCite=${bindAnswer(onCite, run.answer)} />
      ${run.answer.status === "abstained" && run.only.length > 0 && onAskAgain && html`<p class="row muted">${t("ask.abstained.only")}
        <button type="button" class="small" onClick=${() => onAskAgain({ ...run, only: [] })}>${t("ask.abstained.all")}</button></p>`}
      ${run.answer.status === "abstained" && html`<p class="muted">${t("ask.abstained.next")}
        ${me.role === "admin" && html` <a href="#/documents">${t("ask.addDocuments")}</a>`}</p>`}
      <${Foot} run=${run} answer=${run.answer} me=${me} onEdit=${onEdit} />
      ${isLast && onFollowUp && run.answer.status === "answered" && html`<${FollowUps} key=${run.runId} runId=${run.runId} onChoose=${onFollowUp} />`}`}
    ${run.phase === "unread" && html`<${Failure} title=${t("ask.unread")} problem=${run.error?.message ?? ""} onRetry=${run.reload} />`}
    ${isStopped(run) && html`<${Stopped} run=${run} me=${me} onAskAgain=${onAskAgain} />`}
    ${(run.phase === "failed" || run.phase === "refused") && !isStopped(run) && html`<${Failure} title=${t("ask.failed")} problem=${describeProblem(run)}
      label=${t("ask.again")} onRetry=${onAskAgain && (() => onAskAgain(run))} />`}
  </article>`;
}

/** @param {OnCite | undefined} onCite @param {AnswerData} answer */
function bindAnswer(onCite, answer) {
  return onCite && ((/** @type {Citation} */ citation) => onCite(citation, answer));
}

/** What a screen reader announces: the stages, not every piece of a draft. @param {Run} run @param {Me} me */
function announcement(run, me) {
  if (run.phase === "done") return t(`ask.spoken.${run.answer?.status}`);
  if (run.phase === "failed" || run.phase === "refused") return isStopped(run) ? describeStop(run, me) : t("ask.failed");
  if (run.phase === "unread") return t("ask.unread");
  const step = run.active.at(-1)?.name;
  return step ? t(`ask.step.${step}`) : t("ask.asking");
}

/**
 * The stages while the run goes on, or if it failed. Then the verdict, which opens them.
 * @param {{ run: Run, me: Me }} props
 */
function Examination({ run, me }) {
  const [isOpen, setOpen] = useState(false);
  const isOver = !isRunning(run);
  const timeline = html`<${Timeline} steps=${run.steps} active=${run.active} isOver=${isOver} isPending=${isPending(run)}
    isLost=${run.connection === "reconnecting"} question=${run.question} runId=${run.runId} />`;
  if (!isOver || !run.answer) return run.steps.length || !isOver ? timeline : null;
  const threshold = lastStep(run.steps, "evaluate")?.facts.threshold ?? me.threshold;
  const seconds = run.answer.seconds || 0;
  return html`<div class="ask-stages">
    <div class="verdict-bar"><${Verdict} answer=${run.answer} threshold=${threshold} />
      ${run.steps.length > 0 && html`<button type="button" class="quiet small" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        <${Icon} name=${isOpen ? "down" : "right"} size=${14} /> ${t("ask.howItCame")}${seconds > 0 ? ` · ${duration(seconds)}` : ""}</button>`}</div>
    ${isOpen && timeline}</div>`;
}

/** @param {{ run: Run }} props */
function LiveDraft({ run }) {
  const isWritten = run.active.length > 0 && !run.active.some(({ name }) => name === "generate_answer");
  const label = isWritten ? "ask.draftExamined" : run.isOutdated ? "ask.draftRevised" : "ask.draftMark";
  return html`<section class="ask-draft" aria-label=${t("ask.draft")} aria-busy="true">
    <p class="ask-draft-mark"><${Icon} name="edit" size=${14} /> ${t(label)}</p>
    <div lang=${detectLanguage(run.draft)}><${Markdown} text=${run.draft} /></div>
  </section>`;
}

/**
 * Shows the pending draft to users who may see it: it is part of the approval.
 * @param {{ run: Run, answer: AnswerData, me: Me, onCite?: OnCite, onEdit?: (run: Run) => void }} props
 */
function Pending({ run, answer, me, onCite, onEdit }) {
  const [approval, setApproval] = useState(/** @type {Approval | null} */ (null));
  const id = answer.approval_id;
  useEffect(() => {
    let isCurrent = true;
    get(`/api/approvals/${encodeURIComponent(id)}`).then((loaded) => isCurrent && setApproval(loaded), () => {});
    return () => { isCurrent = false; };
  }, [id]);
  const mayDecide = me.role !== "asker";
  return html`<div class="notice accent ask-waiting"><${Icon} name="person" />
      <div><strong>${t("ask.waits")}</strong>
        ${approval && html`<p>${describeReason(approval, me)}</p>`}
        ${approval?.assignee && html`<p>${t("ask.waits.assignee", { name: printable(approval.assignee) })}</p>`}
        ${approval?.expires && html`<p>${t("ask.waits.expires", { when: dateTime(approval.expires) })}</p>`}
        <p>${t(mayDecide ? "ask.waits.decide" : "ask.waits.lead")}</p></div>
      ${mayDecide && html`<a class="button small" href=${approvalLink(id)}>${t("ask.toInbox")}</a>`}
    </div>
    <${Decisions} answer=${answer} />
    ${approval?.draft?.text && html`<p><${Verdict} answer=${approval.draft} threshold=${me.threshold} /></p>
      <${Answer} answer=${approval.draft} isDraft onCite=${bindAnswer(onCite, approval.draft)} />`}
    <${Foot} run=${run} answer=${answer} me=${me} onEdit=${onEdit} />`;
}

/** Decisions that were made on the way to this answer. @param {{ answer: AnswerData }} props */
function Decisions({ answer }) {
  const decisions = (answer.decisions ?? []).map((decision) => ({ ...decision, key: decisionKey(decision, answer) })).filter(({ key }) => key);
  if (!decisions.length) return null;
  return html`<ul class="ask-decisions">${decisions.map(({ key, by, reason }) => html`<li class="small">
    <${Icon} name="person" size=${16} /><span>${t(key, { name: printable(by) })}<${Reason} text=${reason} /></span></li>`)}</ul>`;
}

/**
 * A notice mentions an approval without a reason, and the banner the rejection of this answer.
 * @param {Decision} decision
 * @param {AnswerData} answer
 */
function decisionKey({ verdict, attempt, reason }, answer) {
  if (verdict === "approve") return reason ? "ask.decided.approved" : "";
  if (verdict === "send_back") return "ask.decided.sentBack";
  if (verdict === "expire") return "";
  if (attempt < answer.attempt) return "ask.decided.first";
  return answer.status === "abstained" ? "ask.decided.search" : "";
}

/** @param {{ run: Run, answer: AnswerData, me: Me, onEdit?: (run: Run) => void }} props */
function Foot({ run, answer, me, onEdit }) {
  const ownFeedback = run.feedback.find(({ by }) => by === me.user) || null;
  const takesFeedback = !isPending(run) && answer.status !== "rejected" && !isForgotten(answer);
  return html`<footer class="ask-foot">
    ${takesFeedback && html`<${Feedback} runId=${run.runId} given=${ownFeedback} />`}
    <span class="row">
      ${onEdit && run.question && html`<button type="button" class="quiet small" onClick=${() => onEdit(run)}><${Icon} name="edit" size=${16} /> ${t("ask.edit")}</button>`}
      <${CopyButton} label=${t("ask.copyLink")} note=${t("ask.copyLink.note")} text=${() => `${location.origin}/${runLink(run.runId)}`} />
      <a class="button quiet small" href=${receiptLink(run.runId)} target="_blank" rel="noopener" title=${t("ask.copyLink.note")}><${Icon} name="receipt" size=${16} /> ${t("ask.receipt")}</a>
    </span>
    ${answer.usage.calls > 0 && html`<${ModelUsage} key=${run.runId} runId=${run.runId} />`}
  </footer>`;
}

/** @param {Run} run */
const isStopped = ({ phase, problem }) => phase === "failed" && STOPPED.test(problem);

/** @param {Run} run @param {Me} me */
function describeStop({ problem }, me) {
  const name = STOPPED.exec(problem)?.[1] ?? "";
  return name === me.user ? t("ask.stopped.you") : t("ask.stopped", { name: printable(name) });
}

/**
 * What was written before somebody stopped the run, as far as this page has seen it.
 * @param {{ run: Run, me: Me, onAskAgain?: (run: Run) => void }} props
 */
function Stopped({ run, me, onAskAgain }) {
  return html`<div class="notice ask-stopped"><${Icon} name="stop" size=${16} /><p>${describeStop(run, me)}</p>
      ${onAskAgain && html`<button type="button" class="small" onClick=${() => onAskAgain(run)}><${Icon} name="again" size=${16} /> ${t("ask.again")}</button>`}</div>
    ${run.draft && html`<section class="ask-draft" aria-label=${t("ask.draft")}>
      <p class="ask-draft-mark"><${Icon} name="edit" size=${14} /> ${t("ask.stopped.draft")}</p>
      <div lang=${detectLanguage(run.draft)}><${Markdown} text=${run.draft} /></div></section>`}`;
}

/**
 * Without a `label` it is a failure to load, which is tried again when the server is back.
 * @param {{ title: string, problem: string, label?: string, onRetry?: () => void }} props
 */
export function Failure({ title, problem, label = "", onRetry }) {
  if (useConnectionLost() && !label && problem === t("shell.offline")) return html`<${Loading} text=${t("shell.lost.waiting")} />`;
  return html`<div class="notice bad ask-failed" role="alert"><${Icon} name="warn" />
      <div><strong>${title}</strong><p>${printable(problem)}</p></div>
      ${onRetry && html`<button type="button" class="small" onClick=${() => onRetry()}><${Icon} name="again" size=${16} /> ${label || t("shell.tryAgain")}</button>`}
    </div>`;
}

/** @param {Run} run */
function describeProblem({ problem, error }) {
  if (problem) return translateReason(problem);
  return error?.status === 401 ? t("ask.signedOut") : error?.message ?? "";
}
