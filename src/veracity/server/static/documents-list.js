// The documents of the workspace as a table that can be filtered, sorted and leafed through. On a phone each is a card.
import { html, useMemo, useState } from "./vendor/preact.js";
import { ago, dateTime, known, language, number, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { locationOf } from "./citing.js";
import { visible } from "./visible.js";

const PAGE = 50; // ten thousand rows at once would make every key press wait
const COLUMNS = ["title", "format", "language", "passages", "characters", "added"];
const NUMBERS = new Set(["passages", "characters"]);
const DESCENDING = new Set(["passages", "characters", "added"]); // what one wants to see first
const START = { words: "", format: "", language: "", column: "added", isDown: true, page: 0 };

export function DocumentList({ documents, onOpen, onRemove }) {
  const [chosen, setChosen] = useState(START);
  const choose = (changes) => setChosen((before) => ({ ...before, page: 0, ...changes }));
  const shown = useShown(documents, chosen);
  const page = Math.min(chosen.page, Math.max(0, Math.ceil(shown.length / PAGE) - 1));
  const rows = shown.slice(page * PAGE, (page + 1) * PAGE);
  return html`
    <${Filters} documents=${documents} chosen=${chosen} choose=${choose} />
    ${rows.length === 0 && html`<div class="empty">
      <p>${t("documents.nothing_matches")}</p>
      <button class="small" onClick=${() => choose({ words: "", format: "", language: "" })}>
        ${t("documents.clear_filters")}</button>
    </div>`}
    ${rows.length > 0 && html`<table class="documents-table" role="table">
      <thead><tr role="row">
        ${COLUMNS.map((column) => html`<${Column} key=${column} column=${column} chosen=${chosen} choose=${choose} />`)}
        ${onRemove && html`<th scope="col"><span class="visually-hidden">${t("documents.column_actions")}</span></th>`}
      </tr></thead>
      <tbody>${rows.map((one) => html`
        <${Row} key=${one.id} document=${one} onOpen=${onOpen} onRemove=${onRemove} />`)}</tbody>
    </table>`}
    <${Pager} page=${page} count=${shown.length} onPage=${(next) => choose({ page: next })} />`;
}

// The words of each document are folded once, and sorting waits for a change of what it depends on.
function useShown(documents, chosen) {
  const folded = useMemo(
    () => documents.map((one) => [one, fold(`${one.title}\n${one.location}\n${one.id}`)]), [documents]);
  return useMemo(() => {
    const words = fold(chosen.words).split(/\s+/).filter(Boolean);
    const isWanted = ([one, text]) =>
      (!chosen.format || one.format === chosen.format) &&
      (!chosen.language || one.language === chosen.language) &&
      words.every((word) => text.includes(word));
    return folded.filter(isWanted).map(([one]) => one).sort(order(chosen.column, chosen.isDown));
  }, [folded, chosen.words, chosen.format, chosen.language, chosen.column, chosen.isDown, language()]);
}

function fold(text) {
  return text.normalize("NFKC").toLowerCase();
}

function order(column, isDown) {
  const sign = isDown ? -1 : 1;
  if (NUMBERS.has(column)) return (one, other) => sign * (one[column] - other[column]);
  if (column === "added") return (one, other) => sign * (Date.parse(one.added) - Date.parse(other.added));
  const { compare } = new Intl.Collator(language(), { numeric: true });
  return (one, other) => sign * compare(one[column], other[column]);
}

function Filters({ documents, chosen, choose }) {
  return html`<div class="documents-filters" role="search">
    <input type="search" aria-label=${t("documents.filter")} placeholder=${t("documents.filter")} value=${chosen.words}
      onInput=${(event) => choose({ words: event.target.value })} />
    <${Choice} label="format" all="all_formats" documents=${documents} chosen=${chosen} choose=${choose} />
    <${Choice} label="language" all="all_languages" documents=${documents} chosen=${chosen} choose=${choose} />
    <select class="documents-sorting" aria-label=${t("documents.sort_label")} value=${chosen.column}
      onChange=${(event) => choose({ column: event.target.value, isDown: DESCENDING.has(event.target.value) })}>
      ${COLUMNS.map((column) => html`<option key=${column} value=${column}>
        ${t("documents.sort_by", { column: t(`documents.column_${column}`) })}</option>`)}
    </select>
  </div>`;
}

function Choice({ label, all, documents, chosen, choose }) {
  const values = useMemo(() => [...new Set(documents.map((one) => one[label]))].sort(), [documents, label]);
  if (values.length < 2 && !chosen[label]) return null;
  return html`<select aria-label=${t(`documents.${label}_label`)} value=${chosen[label]}
    onChange=${(event) => choose({ [label]: event.target.value })}>
    <option value="">${t(`documents.${all}`)}</option>
    ${values.map((value) => html`<option key=${value} value=${value}>
      ${label === "language" ? languageName(value) : value}</option>`)}
  </select>`;
}

export function languageName(code) {
  const key = `documents.language_${code}`;
  return known(key) ? t(key) : code;
}

function Column({ column, chosen, choose }) {
  const isSorted = chosen.column === column;
  const next = isSorted ? !chosen.isDown : DESCENDING.has(column);
  return html`<th scope="col" role="columnheader" class=${NUMBERS.has(column) ? "documents-number" : ""}
    aria-sort=${isSorted ? (chosen.isDown ? "descending" : "ascending") : "none"}>
    <button onClick=${() => choose({ column, isDown: next })}>${t(`documents.column_${column}`)}
      <span class="documents-arrow" aria-hidden="true">${isSorted ? (chosen.isDown ? "↓" : "↑") : ""}</span></button>
  </th>`;
}

function Row({ document: one, onOpen, onRemove }) {
  const title = visible(one.title || one.id);
  return html`<tr role="row">
    <td role="cell" class="documents-title">
      <button class="link" onClick=${() => onOpen(one)}><bdi lang=${one.language || null}>${title}</bdi></button>
      <bdi class="muted small clip" title=${visible(one.location)}>${visible(locationOf(one) || t("documents.handed_in"))}</bdi>
    </td>
    <td role="cell"><span class="badge">${one.format}</span></td>
    <td role="cell">${languageName(one.language)}</td>
    <td role="cell" class="documents-number" data-label=${t("documents.column_passages")}>${number(one.passages)}</td>
    <td role="cell" class="documents-number" data-label=${t("documents.column_characters")}>${number(one.characters)}</td>
    <td role="cell" class="documents-added">
      <time datetime=${one.added} title=${dateTime(one.added)}>${ago(one.added)}</time></td>
    ${onRemove && html`<td role="cell" class="documents-actions">
      <button class="icon quiet" aria-label=${t("documents.remove_one", { title })} title=${t("documents.remove")}
        onClick=${() => onRemove(one)}><${Icon} name="trash" /></button>
    </td>`}
  </tr>`;
}

function Pager({ page, count, onPage }) {
  if (count <= PAGE) return null;
  const last = Math.min(count, (page + 1) * PAGE);
  const range = { first: number(page * PAGE + 1), last: number(last), count: number(count) };
  return html`<nav class="documents-pager" aria-label=${t("documents.pages")}>
    <button class="icon" aria-label=${t("documents.previous")} disabled=${page === 0} onClick=${() => onPage(page - 1)}>
      <${Icon} name="left" /></button>
    <span class="number muted" aria-live="polite">${t("documents.range", range)}</span>
    <button class="icon" aria-label=${t("documents.next")} disabled=${last === count} onClick=${() => onPage(page + 1)}>
      <${Icon} name="right" /></button>
  </nav>`;
}
