// Tries a search: the passages that a question would be answered from, with how well they fit and what found them.
import { html, useState } from "./vendor/preact.js";
import { post } from "./api.js";
import { known, number, percent, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { visible } from "./visible.js";

export function DocumentSearch({ onOpen }) {
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState({ found: null, busy: false, problem: "" });

  async function look(event) {
    event.preventDefault();
    if (!query.trim() || search.busy) return;
    setSearch({ ...search, busy: true, problem: "" });
    try {
      setSearch({ found: await post("/api/search", { query }), busy: false, problem: "" });
    } catch (problem) {
      setSearch({ found: null, busy: false, problem: problem.message });
    }
  }

  return html`<form class="documents-search" role="search" onSubmit=${look}>
      <label for="documents-query">${t("documents.search_label")}</label>
      <div class="documents-search-row">
        <input id="documents-query" type="search" value=${query} onInput=${(event) => setQuery(event.target.value)}
          onKeyDown=${keepComposing} aria-describedby="documents-search-hint" />
        <button class="primary" disabled=${search.busy || !query.trim()}>
          <${Icon} name="search" />${t("documents.search_go")}</button>
      </div>
      <p id="documents-search-hint" class="muted small">${t("documents.search_hint")}</p>
    </form>
    ${search.problem && html`<p class="notice bad" role="alert">${search.problem}</p>`}
    <p class="documents-search-count muted" aria-live="polite">${standing(search)}</p>
    ${search.found && html`<ol class="documents-passages">
      ${search.found.map((one, place) => html`<${Found} key=${one.id} evidence=${one} place=${place} onOpen=${onOpen} />`)}
    </ol>`}`;
}

// Enter that takes over a word of an input method must not send the form.
function keepComposing(event) {
  if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.preventDefault();
}

function standing({ found, busy }) {
  if (busy) return t("documents.search_busy");
  if (!found) return "";
  if (!found.length) return t("documents.search_none");
  return t("documents.search_found", { n: found.length, count: number(found.length) });
}

function Found({ evidence, place, onOpen }) {
  const share = evidence.metadata.relevance_score;
  const language = evidence.language || null;
  const where = [...evidence.headings, evidence.page ? t("documents.page", { page: evidence.page }) : ""].filter(Boolean);
  const sources = [evidence.source, ...evidence.metadata.found_by.filter((source) => source !== evidence.source)];
  return html`<li class="card documents-passage">
    <div class="documents-passage-head">
      <h2 lang=${language}><button class="link" onClick=${() => onOpen(evidence, place + 1)}>
        <bdi>${visible(evidence.title || evidence.document_id)}</bdi></button></h2>
      <div class="documents-relevance">
        <span class="small number">${t("documents.relevance", { percent: percent(share) })}</span>
        <span class="documents-bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>
      </div>
    </div>
    ${where.length > 0 && html`<p class="muted small"><bdi lang=${language}>${visible(where.join(" › "))}</bdi></p>`}
    <p class="documents-passage-text" lang=${language}><bdi>${visible(evidence.text)}</bdi></p>
    <div class="row">
      ${sources.map((source, at) => html`<span key=${source} class="badge ${at === 0 ? "accent" : ""}">
        ${sourceName(source)}</span>`)}
    </div>
  </li>`;
}

function sourceName(source) {
  const key = `documents.source_${source}`;
  return known(key) ? t(key) : source;
}
