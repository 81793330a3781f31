// The drafts of a run, with the reviewer's verdict on each and the changes between them.
import { html } from "../lib/preact.js";
import { Diff } from "../answer/diff.js";
import { ErrorNotice } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Markdown } from "../lib/markdown.js";
import { printable } from "../lib/text.js";
import { approvalPath } from "./store.js";
/** @import { Approval, Decision, Draft as DraftData, Review as ReviewData } from "../lib/types.d.ts" */

/** Needs a new key when the draft of the approval changes. @param {{ approval: Approval }} props */
export function History({ approval }) {
  const load = () => /** @type {Promise<DraftData[]>} */ (get(`${approvalPath(approval.approval_id)}/history`));
  const { value: drafts, error, reload } = useLoaded(load, []);
  if (error) return html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`;
  if (!drafts) return html`<p class="muted">${t("inbox.history.loading")}</p>`;
  return html`<${Drafts} drafts=${drafts} approval=${approval} />`;
}

/** @param {{ drafts: DraftData[], approval: Approval }} props */
function Drafts({ drafts, approval }) {
  const chosen = findChosen(drafts, approval);
  const isNotLast = chosen >= 0 && drafts.slice(chosen + 1).some(({ attempt }) => attempt === approval.attempt);
  const isPending = approval.state === "pending";
  return html`
    ${drafts.length === 1 && html`<p class="muted">${t("inbox.history.one")}</p>`}
    ${isNotLast && html`<p class="muted">${t(isPending ? "inbox.history.best" : "inbox.history.best.decided")}</p>`}
    <ol class="inbox-drafts">${drafts.map((draft, index) => html`
      <li key=${index}>
        <${Rejection} draft=${draft} before=${drafts[index - 1]} decisions=${approval.draft.decisions} />
        <${Draft} draft=${draft} number=${index + 1} before=${drafts[index - 1]} isFromWeb=${isFromWeb(draft, approval.draft.decisions)} language=${approval.draft.language || null}
          label=${index === chosen ? describeState(approval) : ""} />
      </li>`)}
    </ol>`;
}

/** @param {Approval} approval */
function describeState({ state, decision }) {
  if (state === "pending") return t("inbox.history.waits");
  return t(`inbox.history.${decision?.edit ? "edited" : state}`);
}

/**
 * The index of the approval's draft: the last with its text, since the best draft need not be the last.
 * @param {DraftData[]} drafts
 * @param {Approval} approval
 */
function findChosen(drafts, approval) {
  return drafts.findLastIndex(({ attempt, text }) => attempt === approval.attempt && text.trim() === approval.draft.text.trim());
}

/** @param {{ draft: DraftData, before?: DraftData, decisions: Decision[] }} props */
function Rejection({ draft, before, decisions }) {
  if (!before || before.attempt === draft.attempt) return null;
  const rejection = decisions.find(({ verdict, attempt }) => verdict !== "approve" && attempt === before.attempt);
  if (!rejection) return null;
  if (rejection.verdict === "send_back") {
    return html`<p class="inbox-rejection">${t("inbox.rejection.note", { name: printable(rejection.by), note: printable(rejection.reason) })}</p>`;
  }
  const values = { name: printable(rejection.by), reason: printable(rejection.reason) };
  return html`<p class="inbox-rejection">${t(rejection.reason ? "inbox.rejection.why" : "inbox.rejection", values)}</p>`;
}

/** Whether it follows a rejection. @param {DraftData} draft @param {Decision[]} decisions */
function isFromWeb(draft, decisions) {
  return decisions.some(({ verdict, attempt }) => verdict === "reject" && attempt < draft.attempt);
}

/** @param {{ draft: DraftData, number: number, before?: DraftData, isFromWeb: boolean, language: string | null, label: string }} props */
function Draft({ draft, number, before, isFromWeb, language, label }) {
  const isRedraft = before && !isFromWeb;
  const changes = t("inbox.history.changes", { before: number - 1, after: number });
  return html`
    <h4>${t("inbox.history.draft", { number })}
      ${before && !isRedraft && html`<span class="badge">${t("inbox.history.web")}</span>`}
      ${label && html`<span class="badge accent">${label}</span>`}</h4>
    ${isRedraft
      ? html`<${Diff} language=${language} before=${printable(before.text)} after=${printable(draft.text)} label=${changes} />
          <details class="inbox-whole"><summary class="small">${t("inbox.history.whole")}</summary>
            <div lang=${language}><${Markdown} text=${draft.text} /></div></details>`
      : html`<div class="inbox-text" lang=${language}><${Markdown} text=${draft.text} /></div>`}
    ${draft.review && html`<${Review} review=${draft.review} />`}`;
}

/** @param {{ review: ReviewData }} props */
function Review({ review }) {
  const details = [review.reasonableness, review.evidence].flatMap((dimension) => (dimension && !dimension.passed && dimension.detail ? [dimension.detail] : []));
  const remarks = review.suggestions.length ? review.suggestions : details;
  const tone = { passed: "good", failed: "bad", doubtful: "warn", not_reviewed: "warn" }[review.outcome];
  return html`
    <div class=${`inbox-review ${tone}`}>
      <p><span>${t(`inbox.review.${review.outcome}`)} ${review.problem && html`<span class="muted">${printable(review.problem)}</span>`}</span>
        <span class="muted small">${printable(review.reviewer)}</span></p>
      ${review.outcome !== "passed" && remarks.length > 0 && html`<ul>${remarks.map((remark) => html`<li>${printable(remark)}</li>`)}</ul>`}
    </div>`;
}
