// The documents as a table with filters, sorting and pages. On phones each row is a card.
import { html, useMemo, useState } from "../lib/preact.js";
import { shortLocation } from "../answer/citations.js";
import { withValue } from "../lib/components.js";
import { ago, dateTime, language, nameOf, number, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { fold, printable } from "../lib/text.js";
/** @import { KnownDocument } from "../lib/types.d.ts" */

/**
 * @typedef {"title" | "format" | "language" | "passages" | "characters" | "added"} Column
 * @typedef {{ words: string, format: string, language: string, column: Column, isDescending: boolean, page: number }} View
 * @typedef {(changes: Partial<View>) => void} ChangeView
 */

const PAGE_SIZE = 50; // thousands of rows would slow down every key press
/** @type {Column[]} */
const COLUMNS = ["title", "format", "language", "passages", "characters", "added"];
const NUMERIC = new Set(["passages", "characters"]);
const DESCENDING_FIRST = new Set(["passages", "characters", "added"]);
/** @type {View} */
const START = { words: "", format: "", language: "", column: "added", isDescending: true, page: 0 };

/** @param {{ documents: KnownDocument[], onOpen: (document: KnownDocument) => void, onRemove: false | ((document: KnownDocument) => void) }} props */
export function DocumentList({ documents, onOpen, onRemove }) {
  const [view, setView] = useState(START);
  const change = (/** @type {Partial<View>} */ changes) => setView((before) => ({ ...before, page: 0, ...changes }));
  const matching = useMatching(documents, view);
  const page = Math.min(view.page, Math.max(0, Math.ceil(matching.length / PAGE_SIZE) - 1));
  const rows = matching.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  return html`
    <${Filters} documents=${documents} view=${view} onChange=${change} />
    ${rows.length === 0 && html`<div class="empty">
      <p>${t("documents.nothing_matches")}</p>
      <button class="small" onClick=${() => change({ words: "", format: "", language: "" })}>
        ${t("documents.clear_filters")}</button>
    </div>`}
    ${rows.length > 0 && html`<table class="documents-table" role="table">
      <thead><tr role="row">
        ${COLUMNS.map((column) => html`<${ColumnHead} key=${column} column=${column} view=${view} onChange=${change} />`)}
        ${onRemove && html`<th scope="col"><span class="visually-hidden">${t("documents.column_actions")}</span></th>`}
      </tr></thead>
      <tbody>${rows.map((document) => html`
        <${Row} key=${document.id} document=${document} onOpen=${onOpen} onRemove=${onRemove} />`)}</tbody>
    </table>`}
    <${Pager} page=${page} count=${matching.length} onPage=${(/** @type {number} */ next) => change({ page: next })} />`;
}

/**
 * Filters and sorts. The text of each document is folded once.
 * @param {KnownDocument[]} documents
 * @param {View} view
 */
function useMatching(documents, view) {
  const folded = useMemo(
    () => documents.map((document) => ({ document, text: fold(`${document.title}\n${document.location}\n${document.id}`) })), [documents]);
  return useMemo(() => {
    const words = fold(view.words).split(/\s+/).filter(Boolean);
    const matches = folded.filter(({ document, text }) =>
      (!view.format || document.format === view.format) &&
      (!view.language || document.language === view.language) &&
      words.every((word) => text.includes(word)));
    return matches.map(({ document }) => document).sort(comparison(view.column, view.isDescending));
  }, [folded, view.words, view.format, view.language, view.column, view.isDescending, language()]);
}

/** @param {Column} column @param {boolean} isDescending @returns {(a: KnownDocument, b: KnownDocument) => number} */
function comparison(column, isDescending) {
  const sign = isDescending ? -1 : 1;
  if (column === "passages" || column === "characters") return (a, b) => sign * (a[column] - b[column]);
  if (column === "added") return (a, b) => sign * (Date.parse(a.added) - Date.parse(b.added));
  const { compare } = new Intl.Collator(language(), { numeric: true });
  return (a, b) => sign * compare(a[column], b[column]);
}

/** @param {{ documents: KnownDocument[], view: View, onChange: ChangeView }} props */
function Filters({ documents, view, onChange }) {
  const sort = (/** @type {string} */ column) => onChange({ column: /** @type {Column} */ (column), isDescending: DESCENDING_FIRST.has(column) });
  return html`<div class="documents-filters" role="search">
    <input type="search" aria-label=${t("documents.filter")} placeholder=${t("documents.filter")} value=${view.words}
      onInput=${withValue((words) => onChange({ words }))} />
    <${Choice} field="format" all="all_formats" documents=${documents} view=${view} onChange=${onChange} />
    <${Choice} field="language" all="all_languages" documents=${documents} view=${view} onChange=${onChange} />
    <select class="documents-sorting" aria-label=${t("documents.sort_label")} value=${view.column} onChange=${withValue(sort)}>
      ${COLUMNS.map((column) => html`<option key=${column} value=${column}>
        ${t("documents.sort_by", { column: t(`documents.column_${column}`) })}</option>`)}
    </select>
  </div>`;
}

/** @param {{ field: "format" | "language", all: string, documents: KnownDocument[], view: View, onChange: ChangeView }} props */
function Choice({ field, all, documents, view, onChange }) {
  const values = useMemo(() => [...new Set(documents.map((document) => document[field]))].sort(), [documents, field]);
  if (values.length < 2 && !view[field]) return null;
  return html`<select aria-label=${t(`documents.${field}_label`)} value=${view[field]} onChange=${withValue((value) => onChange({ [field]: value }))}>
    <option value="">${t(`documents.${all}`)}</option>
    ${values.map((value) => html`<option key=${value} value=${value}>
      ${field === "language" ? languageName(value) : value}</option>`)}
  </select>`;
}

/** @param {string} code */
export const languageName = (code) => nameOf("documents.language_", code);

/** @param {{ column: Column, view: View, onChange: ChangeView }} props */
function ColumnHead({ column, view, onChange }) {
  const isSorted = view.column === column;
  const isDescending = isSorted ? !view.isDescending : DESCENDING_FIRST.has(column);
  return html`<th scope="col" role="columnheader" class=${NUMERIC.has(column) ? "documents-number" : ""}
    aria-sort=${isSorted ? (view.isDescending ? "descending" : "ascending") : "none"}>
    <button onClick=${() => onChange({ column, isDescending })}>${t(`documents.column_${column}`)}
      <span class="documents-arrow" aria-hidden="true">${isSorted ? (view.isDescending ? "↓" : "↑") : ""}</span></button>
  </th>`;
}

/** @param {{ document: KnownDocument, onOpen: (document: KnownDocument) => void, onRemove: false | ((document: KnownDocument) => void) }} props */
function Row({ document, onOpen, onRemove }) {
  const title = printable(document.title || document.id);
  return html`<tr role="row">
    <td role="cell" class="documents-title">
      <button class="link" onClick=${() => onOpen(document)}><bdi lang=${document.language || null}>${title}</bdi></button>
      <bdi class="muted small clip" title=${printable(document.location)}>${printable(shortLocation(document) || t("documents.handed_in"))}</bdi>
    </td>
    <td role="cell"><span class="badge">${document.format}</span></td>
    <td role="cell">${languageName(document.language)}</td>
    <td role="cell" class="documents-number" data-label=${t("documents.column_passages")}>${number(document.passages)}</td>
    <td role="cell" class="documents-number" data-label=${t("documents.column_characters")}>${number(document.characters)}</td>
    <td role="cell" class="documents-added">
      <time datetime=${document.added} title=${dateTime(document.added)}>${ago(document.added)}</time></td>
    ${onRemove && html`<td role="cell" class="documents-actions">
      <button class="icon quiet" aria-label=${t("documents.remove_one", { title })} title=${t("documents.remove")}
        onClick=${() => onRemove(document)}><${Icon} name="trash" /></button>
    </td>`}
  </tr>`;
}

/** @param {{ page: number, count: number, onPage: (page: number) => void }} props */
function Pager({ page, count, onPage }) {
  if (count <= PAGE_SIZE) return null;
  const last = Math.min(count, (page + 1) * PAGE_SIZE);
  const range = { first: number(page * PAGE_SIZE + 1), last: number(last), count: number(count) };
  return html`<nav class="documents-pager" aria-label=${t("documents.pages")}>
    <button class="icon" aria-label=${t("documents.previous")} disabled=${page === 0} onClick=${() => onPage(page - 1)}>
      <${Icon} name="left" /></button>
    <span class="number muted" aria-live="polite">${t("documents.range", range)}</span>
    <button class="icon" aria-label=${t("documents.next")} disabled=${last === count} onClick=${() => onPage(page + 1)}>
      <${Icon} name="right" /></button>
  </nav>`;
}
