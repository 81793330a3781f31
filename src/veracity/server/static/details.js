// What happened in one stage of a run, round by round. All of it may come from documents and models: text, nothing else.
import { html } from "./vendor/preact.js";
import { duration, known, percent, t } from "./i18n.js";
import { Markdown } from "./markdown.js";
import { points } from "./points.js";
import { Scores } from "./scores.js";
import { visible } from "./visible.js";

const KINDS = {
  decide_route: Route, search_context: Recalled, select_sources: null, retrieve: Retrieved, fuse: Fused, rerank: Reranked,
  grade_documents: Graded, rewrite_query: Rewritten, web_search: Searched, generate_answer: Drafted, answer_directly: null,
  eval_answer: Reviewed, evaluate: Scored, human_approval: Decided,
};

export function Details({ stage, question }) {
  const told = stage.steps.filter((step) => KINDS[step.name] || step.facts?.problem);
  if (!told.length) return html`<div class="timeline-details"><p class="muted">${t(stage.state === "waiting" ? "ask.waitsForPerson" : "ask.nothingToTell")}</p></div>`;
  return html`<ol class="timeline-details">${told.map((step, index) => html`<li key=${index}><${Entry} step=${step} question=${question} /></li>`)}</ol>`;
}

function Entry({ step, question }) {
  const Kind = KINDS[step.name];
  const facts = step.facts || {};
  const texts = step.texts || {};
  return html`<article class="timeline-entry">
    ${Kind && html`<${Kind} facts=${facts} texts=${texts} question=${question} />`}
    ${facts.problem && html`<p class="timeline-bad">${visible(facts.problem)}</p>`}
    ${step.texts === null && html`<p class="muted">${t("ask.forgotten")}</p>`}
    ${Kind !== Scored && html`<p class="timeline-foot number">${duration(step.seconds)}${facts.model ? ` · ${visible(facts.model)}` : ""}</p>`}
  </article>`;
}

const Quoted = ({ children }) => html`<q class="timeline-quote">${children}</q>`;
const named = (kind, name) => (known(`ask.${kind}.${name}`) ? t(`ask.${kind}.${name}`) : name);

function Route({ facts, texts, question }) {
  return html`<h4>${named("route", facts.route)}</h4>
    ${texts.reason && html`<p>${visible(texts.reason)}</p>`}
    ${texts.standalone && texts.standalone !== question && html`<p>${t("ask.understood")} <${Quoted}>${visible(texts.standalone)}<//></p>`}`;
}

function Recalled({ facts, texts }) {
  return html`<h4>${t("ask.earlierAnswers", { n: facts.found ?? 0 })}</h4>${texts.query && html`<${Quoted}>${visible(texts.query)}<//>`}`;
}

function Retrieved({ facts }) {
  return html`<h4>${named("source", facts.source)}</h4><p>${t("ask.found", { n: facts.found ?? 0 })}</p>`;
}

function Fused({ facts }) {
  return html`<h4>${t("ask.together")}</h4><p>${t("ask.found", { n: facts.passages ?? 0 })}</p>`;
}

function Reranked({ facts }) {
  return facts.reranker && facts.reranker !== "none" ? html`<h4>${t("ask.reranked")}</h4><p>${facts.reranker}</p>` : null;
}

function Graded({ facts, texts }) {
  const { quality } = facts;
  if (!quality) return null;
  return html`<h4>${t(`ask.grade.${quality.grade}`, { score: quality.score.toFixed(2) })}${facts.is_best === false && html` <span class="badge">${t("ask.notBest")}</span>`}</h4>
    ${texts.query && html`<${Quoted}>${visible(texts.query)}<//>`}
    <dl class="timeline-shares">${["coverage", "relevance", "diversity", "count"].filter((name) => quality[name] != null).map((name) => html`
      <div><dt>${t(`ask.dimension.${name}`)}</dt><dd><meter min="0" max="1" value=${quality[name]}></meter> ${percent(quality[name])}</dd></div>`)}</dl>
    ${quality.issues?.length > 0 && html`<ul class="timeline-list">${quality.issues.map(({ code, text }) => html`<li>${known(`ask.issue.${code}`) ? t(`ask.issue.${code}`) : visible(text)}</li>`)}</ul>`}`;
}

function Rewritten({ facts, texts }) {
  return html`<h4>${t("ask.stage.rewrite")}</h4>
    ${texts.query && html`<${Quoted}>${visible(texts.query)}<//>`}
    ${(texts.reason || facts.outcome) && html`<p>${visible(texts.reason || facts.outcome)}</p>`}
    ${facts.sources && html`<p class="muted">${facts.sources.map((source) => named("source", source)).join(" · ")}</p>`}`;
}

// Addresses are text: what a page says of itself is no place to send a reader.
function Searched({ facts, texts }) {
  const isSetUp = facts.provider !== "none";
  return html`<h4>${isSetUp ? facts.provider : t("ask.webNotSetUp")}</h4>
    ${isSetUp && texts.query && html`<${Quoted}>${visible(texts.query)}<//>`}
    ${facts.outcome && html`<p class="timeline-bad">${visible(facts.outcome)}</p>`}
    ${texts.pages?.length > 0 && html`<ul class="timeline-list">${texts.pages.map((page) => html`<li><bdi>${visible(page.title || page.url)}</bdi>
      <bdi class="timeline-address">${visible(page.url)}</bdi>${page.problem && html`<span class="timeline-bad">${visible(page.problem)}</span>`}</li>`)}</ul>`}`;
}

function Drafted({ facts, texts }) {
  const title = facts.abstains ? t("ask.abstains") : t("ask.draftNumber", { n: (facts.epoch ?? 0) + 1 });
  return html`<h4>${title}</h4>
    ${facts.outcome && html`<p>${visible(facts.outcome)}</p>`}
    ${texts.draft && html`<div class="timeline-draft"><${Markdown} text=${texts.draft} /></div>`}
    ${texts.missing?.length > 0 && html`<ul class="timeline-list">${texts.missing.map((one) => html`<li dir="auto">${visible(one)}</li>`)}</ul>`}`;
}

function Reviewed({ facts, texts }) {
  const review = texts.review || {};
  return html`<h4>${t("ask.draftNumber", { n: (facts.epoch ?? 0) + 1 })} · ${named("review", facts.outcome)}</h4>
    <p class="muted">${facts.reviewer === "local" ? t("ask.localChecks") : facts.reviewer} · ${t("ask.confidence", { share: percent(facts.confidence ?? 0) })}</p>
    ${["reasonableness", "evidence"].filter((name) => review[name]).map((name) => html`
      <p><span class=${`badge ${review[name].passed ? "good" : "bad"}`}>${t(`ask.dimension.${name}`)}: ${t(review[name].passed ? "ask.review.passed" : "ask.review.failed")}</span> ${visible(review[name].detail || "")}</p>`)}
    ${review.suggestions?.length > 0 && html`<p class="timeline-label">${t("ask.suggestions")}</p>
      <ul class="timeline-list">${review.suggestions.map((one) => html`<li dir="auto">${visible(one)}</li>`)}</ul>`}
    ${review.problem && html`<p class="timeline-bad">${visible(review.problem)}</p>`}`;
}

function Scored({ facts, texts }) {
  if (facts.score == null) return html`<h4>${t("ask.notScored")}</h4><p>${visible(facts.failed || "")}</p>`;
  if (!texts.evaluation) return html`<h4>${points(facts.score, facts.threshold)}</h4>`;
  return html`<${Scores} evaluation=${texts.evaluation} score=${facts.score} threshold=${facts.threshold} />`;
}

function Decided({ facts, texts }) {
  return html`<h4>${t(`ask.verdict.${facts.edited ? "edit" : facts.verdict}`)} · <bdi>${visible(facts.by)}</bdi></h4>${texts.reason && html`<${Quoted}>${visible(texts.reason)}<//>`}`;
}
