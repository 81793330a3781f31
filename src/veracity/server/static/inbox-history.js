// How a draft came about: each draft of its run, what the reviewer said of it, and what was changed then.
// Knows nothing about approving.

import { html, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { t } from "./i18n.js";
import { Diff } from "./diff.js";
import { Markdown } from "./markdown.js";
import { addressOf } from "./inbox-store.js";
import { visible } from "./visible.js";

export function History({ approval }) {
  const [drafts, setDrafts] = useState(null);
  const [problem, setProblem] = useState("");
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isWanted = true;
    setDrafts(null);
    setProblem("");
    get(`${addressOf(approval.approval_id)}/history`).then(
      (read) => isWanted && setDrafts(read),
      (refused) => isWanted && setProblem(refused.message),
    );
    return () => { isWanted = false; };
  }, [approval.approval_id, approval.draft_hash, tries]);

  if (problem) {
    return html`<div class="notice bad"><span>${problem}</span>
      <button type="button" class="small" onClick=${() => setTries(tries + 1)}>${t("inbox.retry")}</button></div>`;
  }
  if (!drafts) return html`<p class="muted">${t("inbox.history.loading")}</p>`;
  return html`<${Drafts} drafts=${drafts} approval=${approval} />`;
}

function Drafts({ drafts, approval }) {
  const meant = whichIsMeant(drafts, approval);
  const isBetter = meant >= 0 && drafts.slice(meant + 1).some((one) => one.attempt === approval.attempt);
  const isPending = approval.state === "pending";
  return html`
    ${drafts.length === 1 && html`<p class="muted">${t("inbox.history.one")}</p>`}
    ${isBetter && html`<p class="muted">${t(isPending ? "inbox.history.best" : "inbox.history.best.decided")}</p>`}
    <ol class="inbox-drafts">${drafts.map((draft, index) => html`
      <li key=${index}>
        <${Rejection} draft=${draft} before=${drafts[index - 1]} decisions=${approval.draft.decisions} />
        <${OneDraft} draft=${draft} number=${index + 1} before=${drafts[index - 1]} language=${approval.draft.language || null}
          label=${index === meant ? labelOf(approval) : ""} />
      </li>`)}
    </ol>`;
}

/** What became of the draft that is meant. */
function labelOf({ state, decision }) {
  if (state === "pending") return t("inbox.history.waits");
  return t(`inbox.history.${decision?.edit ? "edited" : state}`);
}

/** The last with that text, since the best of a run's drafts need not be the last one. */
function whichIsMeant(drafts, approval) {
  return drafts.findLastIndex((one) => one.attempt === approval.attempt && one.text.trim() === approval.draft.text.trim());
}

function Rejection({ draft, before, decisions }) {
  if (!before || before.attempt === draft.attempt) return null;
  const rejection = decisions.find((one) => one.verdict === "reject" && one.attempt === before.attempt);
  if (!rejection) return null;
  const said = { name: visible(rejection.by), reason: visible(rejection.reason) };
  return html`<p class="inbox-rejection">${t(rejection.reason ? "inbox.rejection.why" : "inbox.rejection", said)}</p>`;
}

function OneDraft({ draft, number, before, language, label }) {
  const isRedraft = before && before.attempt === draft.attempt;
  const changes = t("inbox.history.changes", { before: number - 1, after: number });
  return html`
    <h4>${t("inbox.history.draft", { number })}
      ${before && !isRedraft && html`<span class="badge">${t("inbox.history.web")}</span>`}
      ${label && html`<span class="badge accent">${label}</span>`}</h4>
    ${isRedraft
      ? html`<${Diff} language=${language} before=${visible(before.text)} after=${visible(draft.text)} label=${changes} />
          <details class="inbox-whole"><summary class="small">${t("inbox.history.whole")}</summary>
            <div lang=${language}><${Markdown} text=${draft.text} /></div></details>`
      : html`<div class="inbox-text" lang=${language}><${Markdown} text=${draft.text} /></div>`}
    ${draft.review && html`<${Review} review=${draft.review} />`}`;
}

function Review({ review }) {
  const details = [review.reasonableness, review.evidence].filter((one) => one && !one.passed && one.detail);
  const said = review.suggestions.length ? review.suggestions : details.map((one) => one.detail);
  const tone = { passed: "good", failed: "bad", doubtful: "warn" }[review.outcome] ?? "warn";
  return html`
    <div class=${`inbox-review ${tone}`}>
      <p><span>${t(`inbox.review.${review.outcome}`)} ${review.problem && html`<span class="muted">${visible(review.problem)}</span>`}</span>
        <span class="muted small">${visible(review.reviewer)}</span></p>
      ${review.outcome !== "passed" && said.length > 0 && html`<ul>${said.map((one) => html`<li>${visible(one)}</li>`)}</ul>`}
    </div>`;
}
