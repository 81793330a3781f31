// The panel with the source of a citation: the document's text with the quote marked. On phones it is a bottom sheet.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { describePlace, keepInPlace, listCitations, shortLocation } from "./citations.js";
import { Excerpt, useExcerpt } from "./excerpt.js";
import { OriginalLink, OriginalPage } from "./original.js";
/** @import { Answer, Citation, Evidence, Excerpt as ExcerptData, OpenCitation } from "../lib/types.d.ts" */

/** @typedef {"text" | "page"} View */

/** @type {View[]} */
const VIEWS = ["text", "page"];
let lastView = VIEWS[0]; // as the last source was shown

/** @type {Record<string, string>} */
const NOTES = {
  web: "answer.source.note.web",
  history: "answer.source.note.history",
  changed: "answer.source.note.changed",
};

/**
 * The panel for a citation of an answer, with buttons to step through its citations.
 * @param {{ open: OpenCitation, onCite: (citation: Citation, answer: Answer) => void, onClose: () => void }} props
 */
export function AnswerSource({ open: { citation, answer }, onCite, onClose }) {
  return html`<${Source} citation=${citation} passage=${answer.evidence?.[citation.number - 1]} citations=${listCitations(answer)}
    onCite=${(/** @type {Citation} */ next) => onCite(next, answer)} onClose=${onClose} />`;
}

/** @param {{ citation: Citation, passage?: Evidence, citations?: Citation[], onCite?: (citation: Citation) => void, onClose: () => void }} props */
export function Source({ citation, passage, citations = [], onCite, onClose }) {
  const excerpt = useExcerpt(citation, passage);
  const { panel, close } = usePanel(citation, onClose);
  const [view, setView] = useState(lastView);
  const hasPages = Boolean(excerpt.has_original) && excerpt.format === "pdf";
  const title = printable(passage?.title || shortLocation(passage ?? {}) || t("answer.untitled"));
  return html`<aside class="source" ref=${panel} aria-label=${t("answer.source.panel")}>
    <header class="source-head">
      <div class="source-title">
        <h2 tabindex="-1">
          ${citation.number ? html`<span class="answer-number">${citation.number}</span>` : null}
          ${" "}<bdi lang=${passage?.language || undefined}>${title}</bdi>
        </h2>
        ${passage && html`<${Place} passage=${onPageOfQuote(passage, citation, excerpt)} />`}
      </div>
      <button type="button" class="quiet icon" aria-label=${t("answer.source.close")} title=${t("answer.source.close")}
        onClick=${close}><${Icon} name="close" /></button>
    </header>
    ${excerpt.has_original ? html`<div class="source-tools row">
      ${hasPages ? html`<${Views} view=${view} setView=${setView} />` : null}<${OriginalLink} id=${citation.document_id} />
    </div>` : null}
    <${Note} excerpt=${excerpt} passage=${passage} />
    ${hasPages && view === "page" ? html`<${OriginalPage} citation=${citation} />`
      : html`<${Excerpt} excerpt=${excerpt} language=${passage?.language} />`}
    <${Steps} citation=${citation} citations=${citations} onCite=${onCite} />
  </aside>`;
}

/** @param {{ view: View, setView: (view: View) => void }} props */
function Views({ view, setView }) {
  const choose = (/** @type {View} */ name) => {
    lastView = name;
    setView(name);
  };
  return html`<div class="source-views" role="group" aria-label=${t("answer.source.views")}>
    ${VIEWS.map((name) => html`<button type="button" key=${name} class="small" aria-pressed=${view === name} onClick=${() => choose(name)}>
      ${t(`answer.source.view.${name}`)}</button>`)}
  </div>`;
}

/**
 * A passage may span pages: its page becomes that of the quote.
 * @param {Evidence} passage
 * @param {Citation} citation
 * @param {ExcerptData} excerpt
 */
function onPageOfQuote(passage, citation, excerpt) {
  const page = excerpt.page_starts?.filter((start) => start <= citation.start).length;
  return page ? { ...passage, page } : passage;
}

/** The address is text, not a link: it comes from a document or from the web. @param {{ passage: Evidence }} props */
function Place({ passage }) {
  const place = describePlace(passage);
  return html`${place ? html`<p class="small muted"><bdi lang=${passage.language || undefined}>${printable(place)}</bdi></p>` : null}
    ${passage.location
      ? html`<p class="small muted"><code class="source-location" dir="ltr">${printable(shortLocation(passage))}</code></p>`
      : null}`;
}

/** Why only the passage is shown. @param {{ excerpt: ExcerptData, passage?: Evidence }} props */
function Note({ excerpt, passage }) {
  if (excerpt.phase !== "passage") return null;
  const key = passage?.text ? NOTES[excerpt.reason ?? ""] ?? "answer.source.note.forgotten" : "answer.removed";
  return html`<p class="notice source-note">
    <${Icon} name="info" /> <span>${t(key)} ${printable(excerpt.problem ?? "")}</span>
  </p>`;
}

/** @param {{ citation: Citation, citations: Citation[], onCite?: (citation: Citation) => void }} props */
function Steps({ citation, citations, onCite }) {
  const at = citations.findIndex((other) => isSame(other, citation));
  if (!onCite || citations.length < 2) return null;
  const step = (/** @type {number} */ by) => onCite(citations[(Math.max(at, by < 0 ? 0 : -1) + by + citations.length) % citations.length]);
  return html`<nav class="source-steps row spread" aria-label=${t("answer.source.steps")}>
    <button type="button" class="quiet small" onClick=${() => step(-1)}>
      <${Icon} name="left" size=${16} />${t("answer.source.previous")}
    </button>
    <span class="small muted number" role="status">
      ${at < 0 ? "" : t("answer.source.of", { at: at + 1, all: citations.length })}
    </span>
    <button type="button" class="quiet small" onClick=${() => step(1)}>
      ${t("answer.source.next")}<${Icon} name="right" size=${16} />
    </button>
  </nav>`;
}

/** @param {Citation} a @param {Citation} b */
function isSame(a, b) {
  return a === b || (a.evidence_id === b.evidence_id && a.start === b.start && a.quote === b.quote);
}

/**
 * Focuses the panel when it opens, and the previous element when it closes. Esc closes it before anything else.
 * @param {Citation} citation
 * @param {() => void} onClose
 */
function usePanel(citation, onClose) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const lastFocus = useRef(/** @type {HTMLElement | null} */ (null));
  const close = useRef(onClose);
  close.current = () => keepInPlace(lastFocus.current, onClose);
  useEffect(() => {
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    if (panel.current?.contains(active)) return;
    lastFocus.current = active;
    panel.current?.querySelector("h2")?.focus({ preventScroll: true });
  }, [citation]);
  useEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      close.current();
    };
    document.addEventListener("keydown", onKeyDown, true);
    return () => {
      document.removeEventListener("keydown", onKeyDown, true);
      const active = document.activeElement;
      const isOurs = active === document.body || panel.current?.contains(active); // never take the focus from a field
      if (isOurs && lastFocus.current?.isConnected) lastFocus.current.focus({ preventScroll: true });
    };
  }, []);
  return { panel, close: () => close.current() };
}
