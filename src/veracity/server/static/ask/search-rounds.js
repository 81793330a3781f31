// The searches of a run: the query of each round and the passages it found, with their relevance. They are in the receipt.
import { html } from "../lib/preact.js";
import { describePlace } from "../answer/citations.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { duration, nameOf, t } from "../lib/i18n.js";
import { readableText } from "../lib/markdown.js";
import { scales, Strength } from "../lib/strength.js";
import { printable } from "../lib/text.js";
/** @import { Evidence, Receipt, Round, Step } from "../lib/types.d.ts" */

const MAX_PASSAGES = 5;
const MAX_EXCERPT = 240; // characters

/** @param {{ steps: Step[], runId: string }} props */
export function SearchRounds({ steps, runId }) {
  const searches = splitRounds(steps);
  const load = () => /** @type {Promise<Receipt>} */ (get(`/api/runs/${encodeURIComponent(runId)}`));
  const { value: receipt } = useLoaded(load, [runId, steps.length]);
  return html`<ol class="timeline-details">${searches.map((search, index) => html`<li key=${index}>
    <${Search} steps=${search} number=${index + 1} isOnly=${searches.length === 1} round=${receipt?.rounds[index]} /></li>`)}</ol>`;
}

/** A round starts with the choice of its sources. @param {Step[]} steps */
function splitRounds(steps) {
  /** @type {Step[][]} */
  const rounds = [];
  for (const step of steps) {
    if (step.name === "select_sources" || !rounds.length) rounds.push([]);
    rounds[rounds.length - 1].push(step);
  }
  return rounds;
}

/** @param {{ steps: Step[], number: number, isOnly: boolean, round?: Round }} props */
function Search({ steps, number, isOnly, round }) {
  const problems = steps.flatMap(({ facts }) => (facts.problem ? [facts.problem] : []));
  const passages = round?.evidence ?? [];
  return html`<article class="timeline-entry">
    <h4>${isOnly ? t("ask.stage.search") : t("ask.searchNumber", { n: number })}</h4>
    ${round?.query && html`<q class="timeline-quote">${printable(round.query)}</q>`}
    <p class="muted">${steps.map(describeStep).filter(Boolean).join(" · ")}</p>
    ${problems.map((problem) => html`<p class="timeline-bad">${printable(problem)}</p>`)}
    ${passages.length > 0 && html`<ol class="timeline-passages">${passages.slice(0, MAX_PASSAGES).map((evidence) => html`
      <${Passage} key=${evidence.id} evidence=${evidence} />`)}</ol>`}
    ${passages.length > MAX_PASSAGES && html`<p class="small muted">${t("ask.morePassages", { n: passages.length - MAX_PASSAGES })}</p>`}
    <p class="timeline-foot number">${duration(steps.reduce((total, { seconds }) => Math.max(total, seconds), 0))}</p>
  </article>`;
}

/** @param {Step} step */
function describeStep({ name, facts }) {
  if (name === "retrieve") return `${nameOf("answer.source.", facts.source ?? "")}: ${t("ask.found", { n: facts.found ?? 0 })}`;
  if (name === "fuse") return `${t("ask.together")}: ${t("ask.found", { n: facts.passages ?? 0 })}`;
  return name === "rerank" && (facts.reranker ?? "none") !== "none" ? `${t("ask.reranked")}: ${printable(facts.reranker ?? "")}` : "";
}

/** @param {{ evidence: Evidence }} props */
function Passage({ evidence }) {
  const place = describePlace(evidence);
  const text = readableText(evidence.text).replace(/\s+/g, " ");
  const language = evidence.language || undefined;
  return html`<li>
    <p class="row spread"><bdi class="timeline-title" lang=${language}>${printable(evidence.text ? evidence.title || t("answer.untitled") : t("answer.removed"))}</bdi>
      <${Strength} share=${evidence.metadata.relevance_score} scale=${scales.relevance} /></p>
    ${place && html`<p class="small muted"><bdi lang=${language}>${printable(place)}</bdi></p>`}
    <p class="small" dir="auto" lang=${language}>${printable(text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text)}</p>
  </li>`;
}
