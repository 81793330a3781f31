// Tries a search: the passages a question would be answered from, with their relevance and sources.
import { html, useState } from "../lib/preact.js";
import { SourceText } from "../answer/source-text.js";
import { isComposing, withValue } from "../lib/components.js";
import { asApiError, post } from "../lib/http.js";
import { nameOf, number, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Meter, scales, Strength } from "../lib/strength.js";
import { printable } from "../lib/text.js";
/** @import { Evidence } from "../lib/types.d.ts" */

/** @typedef {{ passages: Evidence[] | null, isBusy: boolean, problem: string }} Search */

/** @param {{ onOpen: (evidence: Evidence, place: number) => void }} props */
export function DocumentSearch({ onOpen }) {
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState(/** @type {Search} */ ({ passages: null, isBusy: false, problem: "" }));

  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    if (!query.trim() || search.isBusy) return;
    setSearch({ ...search, isBusy: true, problem: "" });
    try {
      setSearch({ passages: await post("/api/search", { query }), isBusy: false, problem: "" });
    } catch (error) {
      setSearch({ passages: null, isBusy: false, problem: asApiError(error).message });
    }
  }

  return html`<form class="documents-search" role="search" onSubmit=${submit}>
      <label for="documents-query">${t("documents.search_label")}</label>
      <div class="documents-search-row">
        <input id="documents-query" type="search" value=${query} onInput=${withValue(setQuery)}
          onKeyDown=${keepComposing} aria-describedby="documents-search-hint" />
        <button class="primary" disabled=${search.isBusy || !query.trim()}>
          <${Icon} name="search" />${t("documents.search_go")}</button>
      </div>
      <p id="documents-search-hint" class="muted small">${t("documents.search_hint")}</p>
    </form>
    ${search.problem && html`<p class="notice bad" role="alert">${search.problem}</p>`}
    <p class="documents-search-count muted" aria-live="polite">${describeResult(search)}</p>
    ${search.passages && html`<ol class="documents-passages">
      ${search.passages.map((evidence, index) => html`<${Passage} key=${evidence.id} evidence=${evidence} place=${index + 1} onOpen=${onOpen} />`)}
    </ol>`}`;
}

/** Enter that ends a composition must not submit the form. @param {KeyboardEvent} event */
function keepComposing(event) {
  if (event.key === "Enter" && isComposing(event)) event.preventDefault();
}

/** @param {Search} search */
function describeResult({ passages, isBusy }) {
  if (isBusy) return t("documents.search_busy");
  if (!passages) return "";
  if (!passages.length) return t("documents.search_none");
  return t("documents.search_found", { n: passages.length, count: number(passages.length) });
}

/** @param {{ evidence: Evidence, place: number, onOpen: (evidence: Evidence, place: number) => void }} props */
function Passage({ evidence, place, onOpen }) {
  const { relevance_score: relevance, found_by: foundBy } = evidence.metadata;
  const language = evidence.language || null;
  const path = [...evidence.headings, evidence.page ? t("documents.page", { page: evidence.page }) : ""].filter(Boolean);
  const sources = [evidence.source, ...foundBy.filter((source) => source !== evidence.source)];
  return html`<li class="card documents-passage">
    <div class="documents-passage-head">
      <h2 lang=${language}><button class="link" onClick=${() => onOpen(evidence, place)}>
        <bdi>${printable(evidence.title || evidence.document_id)}</bdi></button></h2>
      <div class="documents-relevance">
        <span class="small">${t("documents.relevance")} <${Strength} share=${relevance} scale=${scales.relevance} /></span>
        <${Meter} share=${relevance} scale=${scales.relevance} />
      </div>
    </div>
    ${path.length > 0 && html`<p class="muted small"><bdi lang=${language}>${printable(path.join(" › "))}</bdi></p>`}
    <${SourceText} className="documents-passage-text" language=${language} text=${evidence.text} />
    <div class="row">
      ${sources.map((source, index) => html`<span key=${source} class="badge ${index === 0 ? "accent" : ""}">
        ${nameOf("answer.source.", source)}</span>`)}
    </div>
  </li>`;
}
