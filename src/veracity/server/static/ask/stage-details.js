// The details of a stage, step by step. All texts may come from documents and models, so they are rendered as text.
import { html } from "../lib/preact.js";
import { Scores } from "../answer/scores.js";
import { duration, hasText, nameOf, t } from "../lib/i18n.js";
import { Markdown } from "../lib/markdown.js";
import { Meter, rate, scales, scoreScale, Strength } from "../lib/strength.js";
import { printable } from "../lib/text.js";
import { SearchRounds } from "./search-rounds.js";
/** @import { ComponentChildren } from "../lib/preact.js" */
/** @import { ApprovalStep, DraftStep, Dimension, GradeStep, Quality, ReviewStep, RewriteStep, RouteStep, ScoreStep, Step, WebSearchStep } from "../lib/types.d.ts" */
/** @import { Stage } from "./stages.js" */

const WITH_DETAILS = new Set([
  "decide_route", "search_context", "grade_documents", "rewrite_query", "web_search", "generate_answer", "eval_answer",
  "evaluate", "human_approval",
]);

/** @param {{ stage: Stage, question: string, runId: string }} props */
export function StageDetails({ stage, question, runId }) {
  if (stage.steps.some(({ name }) => name === "select_sources")) return html`<${SearchRounds} steps=${stage.steps} runId=${runId} />`;
  const steps = stage.steps.filter((step) => WITH_DETAILS.has(step.name) || step.facts.problem);
  if (!steps.length) return html`<div class="timeline-details"><p class="muted">${t(stage.state === "waiting" ? "ask.waitsForPerson" : "ask.nothingToTell")}</p></div>`;
  return html`<ol class="timeline-details">${steps.map((step, index) => html`<li key=${index}><${Entry} step=${step} question=${question} /></li>`)}</ol>`;
}

/** @param {{ step: Step, question: string }} props */
function Entry({ step, question }) {
  const model = "model" in step.facts && step.facts.model ? ` · ${printable(step.facts.model)}` : "";
  return html`<article class="timeline-entry">
    ${renderStep(step, question)}
    ${step.facts.problem && html`<p class="timeline-bad">${printable(step.facts.problem)}</p>`}
    ${step.texts === null && html`<p class="muted">${t("ask.forgotten")}</p>`}
    ${step.name !== "evaluate" && html`<p class="timeline-foot number">${duration(step.seconds)}${model}</p>`}
  </article>`;
}

/** @param {Step} step @param {string} question @returns {ComponentChildren} */
function renderStep(step, question) {
  switch (step.name) {
    case "decide_route": return renderRoute(step, question);
    case "search_context":
      return html`<h4>${t("ask.earlierAnswers", { n: step.facts.found ?? 0 })}</h4><${Quote} text=${step.texts?.query} />`;
    case "grade_documents": return renderGrade(step);
    case "rewrite_query": return renderRewrite(step);
    case "web_search": return renderWebSearch(step);
    case "generate_answer": return renderDraft(step);
    case "eval_answer": return renderReview(step);
    case "evaluate": return renderScore(step);
    case "human_approval": return renderDecision(step);
    default: return null;
  }
}

/** @param {{ text?: string }} props */
function Quote({ text }) {
  return text ? html`<q class="timeline-quote">${printable(text)}</q>` : null;
}

/** @param {{ items?: string[] }} props */
function TextList({ items = [] }) {
  return items.length ? html`<ul class="timeline-list">${items.map((item) => html`<li dir="auto">${printable(item)}</li>`)}</ul>` : null;
}

/** @param {RouteStep} step @param {string} question */
function renderRoute({ facts, texts }, question) {
  const { reason = "", standalone = "" } = texts ?? {};
  return html`<h4>${nameOf("ask.route.", facts.route ?? "")}</h4>
    ${reason && html`<p>${printable(reason)}</p>`}
    ${standalone && standalone !== question && html`<p>${t("ask.understood")} <${Quote} text=${standalone} /></p>`}`;
}

/** @param {GradeStep} step */
function renderGrade({ facts, texts }) {
  const { quality } = facts;
  if (!quality) return null;
  const dimensions = /** @type {(keyof Quality)[]} */ (["coverage", "relevance", "diversity", "count"]);
  const shown = dimensions.flatMap((name) => { const share = quality[name]; return typeof share === "number" ? [{ name, share }] : []; });
  return html`<h4>${t("ask.evidence", { strength: rate(quality.score, scales.evidence).text })}${facts.is_best === false && html` <span class="badge">${t("ask.notBest")}</span>`}</h4>
    <${Quote} text=${texts?.query} />
    <dl class="timeline-shares">${shown.map(({ name, share }) => html`
      <div><dt>${t(`ask.dimension.${name}`)}</dt><dd><${Meter} share=${share} scale=${scaleOf(name)} /> <${Strength} share=${share} scale=${scaleOf(name)} /></dd></div>`)}</dl>
    ${quality.issues?.length > 0 && html`<ul class="timeline-list">${quality.issues.map(({ code, text }) => html`
      <li>${hasText(`ask.issue.${code}`) ? t(`ask.issue.${code}`) : printable(text)}</li>`)}</ul>`}`;
}

/** @param {keyof Quality} dimension */
const scaleOf = (dimension) => (dimension === "relevance" ? scales.relevance : scales.evidence);

/** @param {RewriteStep} step */
function renderRewrite({ facts, texts }) {
  const reason = texts?.reason || facts.outcome;
  return html`<h4>${t("ask.stage.rewrite")}</h4>
    <${Quote} text=${texts?.query} />
    ${reason && html`<p>${printable(reason)}</p>`}
    ${facts.sources && html`<p class="muted">${facts.sources.map((source) => nameOf("answer.source.", source)).join(" · ")}</p>`}`;
}

/** Addresses are text, not links: web pages are untrusted. @param {WebSearchStep} step */
function renderWebSearch({ facts, texts }) {
  const isConfigured = facts.provider !== "none";
  const pages = texts?.pages ?? [];
  return html`<h4>${isConfigured ? facts.provider : t("ask.webNotSetUp")}</h4>
    ${isConfigured && html`<${Quote} text=${texts?.query} />`}
    ${facts.outcome && html`<p class="timeline-bad">${printable(facts.outcome)}</p>`}
    ${pages.length > 0 && html`<ul class="timeline-list">${pages.map((page) => html`<li><bdi>${printable(page.title || page.url)}</bdi>
      <bdi class="timeline-address">${printable(page.url)}</bdi>${page.problem && html`<span class="timeline-bad">${printable(page.problem)}</span>`}</li>`)}</ul>`}`;
}

/** @param {DraftStep} step */
function renderDraft({ facts, texts }) {
  return html`<h4>${facts.abstains ? t("ask.abstains") : t("ask.draftNumber", { n: (facts.epoch ?? 0) + 1 })}</h4>
    ${facts.outcome && html`<p>${printable(facts.outcome)}</p>`}
    ${texts?.draft && html`<div class="timeline-draft"><${Markdown} text=${texts.draft} /></div>`}
    <${TextList} items=${texts?.missing} />`;
}

/** @param {ReviewStep} step */
function renderReview({ facts, texts }) {
  const review = texts?.review;
  return html`<h4>${t("ask.draftNumber", { n: (facts.epoch ?? 0) + 1 })} · ${nameOf("ask.review.", facts.outcome ?? "")}</h4>
    <p class="muted">${facts.reviewer === "local" ? t("ask.localChecks") : facts.reviewer} · ${t("ask.confidence", { strength: rate(facts.confidence ?? 0, scales.confidence).text })}</p>
    ${review?.reasonableness && renderDimension("reasonableness", review.reasonableness)}
    ${review?.evidence && renderDimension("evidence", review.evidence)}
    ${review && review.suggestions?.length > 0 && html`<p class="timeline-label">${t("ask.suggestions")}</p><${TextList} items=${review.suggestions} />`}
    ${review?.problem && html`<p class="timeline-bad">${printable(review.problem)}</p>`}`;
}

/** @param {string} name @param {Dimension} dimension */
function renderDimension(name, { passed, detail }) {
  return html`<p><span class=${`badge ${passed ? "good" : "bad"}`}>${t(`ask.dimension.${name}`)}: ${t(passed ? "ask.review.passed" : "ask.review.failed")}</span> ${printable(detail || "")}</p>`;
}

/** @param {ScoreStep} step */
function renderScore({ facts, texts }) {
  if (facts.score == null) return html`<h4>${t("ask.notScored")}</h4><p>${printable(facts.failed || "")}</p>`;
  if (!texts?.evaluation) return html`<h4>${rate(facts.score, scoreScale(facts.threshold ?? 0)).text}</h4>`;
  return html`<${Scores} evaluation=${texts.evaluation} score=${facts.score} threshold=${facts.threshold}
    grounding=${texts.grounding} floor=${facts.grounding_floor} />`;
}

/** @param {ApprovalStep} step */
function renderDecision({ facts, texts }) {
  return html`<h4>${t(`ask.verdict.${facts.edited ? "edit" : facts.verdict}`)} · <bdi>${printable(facts.by ?? "")}</bdi></h4><${Quote} text=${texts?.reason} />`;
}
