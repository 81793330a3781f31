// The part of a document around a quote, and more of it on request. Offsets are in characters (code points).
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { asApiError, get } from "../lib/http.js";
import { Loading } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { countCharacters, printable, toUtf16Offset } from "../lib/text.js";
import { SourceText } from "./source-text.js";
/** @import { Citation, DocumentText, Evidence, Excerpt as ExcerptData, Mark, Range } from "../lib/types.d.ts" */

/** @typedef {"earlier" | "later"} Direction */
/** @typedef {ExcerptData & { loadMore?(direction: Direction): void }} ExtendableExcerpt */

const CONTEXT_LENGTH = 1500;
const MORE_LENGTH = 4000;
const NOT_STORED = new Set(["web", "history"]); // only the passage is stored

/** @type {ExcerptData} */
const LOADING = { phase: "loading", text: "", start: 0, end: 0, characters: 0, quote: null, passage: null };

/** @param {Citation} citation @param {Evidence | undefined} passage @returns {ExtendableExcerpt} */
export function useExcerpt(citation, passage) {
  const [excerpt, setExcerpt] = useState(LOADING);
  useEffect(() => {
    let isCurrent = true;
    if (excerpt.phase === "document" && excerpt.id === citation.document_id && contains(excerpt, citation)) {
      setExcerpt((now) => ({ ...now, ...locateQuote(now, citation, passage) }));
      return undefined;
    }
    setExcerpt(LOADING);
    load(citation, passage).then((loaded) => isCurrent && setExcerpt(loaded));
    return () => { isCurrent = false; };
  }, [citation, passage]);

  const loadMore = useCallback(async (/** @type {Direction} */ direction) => {
    setExcerpt((now) => ({ ...now, isBusy: true, problem: "" }));
    const extended = await extend(excerpt, direction);
    setExcerpt((now) => ({ ...now, ...(now.text === excerpt.text ? extended : {}), isBusy: false }));
  }, [excerpt]);
  return { ...excerpt, loadMore };
}

/** @param {ExcerptData} excerpt @param {Citation} citation */
function contains(excerpt, citation) {
  return excerpt.start <= citation.start && citation.end <= excerpt.end;
}

/** @param {Citation} citation @param {Evidence | undefined} passage @returns {Promise<ExcerptData>} */
async function load(citation, passage) {
  if (!citation.document_id || (passage && NOT_STORED.has(passage.source))) return passageOnly(citation, passage, passage?.source);
  const start = Math.max(0, citation.start - CONTEXT_LENGTH);
  try {
    const text = fromWholeLine(await readText(citation.document_id, start, citation.end + CONTEXT_LENGTH), citation.start);
    const located = locateQuote(text, citation, passage);
    if (citation.quote && !located.quote) return passageOnly(citation, passage, "changed");
    return { phase: "document", ...text, ...located };
  } catch (thrown) {
    const error = asApiError(thrown);
    return error.status === 404 ? passageOnly(citation, passage, "forgotten") : passageOnly(citation, passage, "", error.message);
  }
}

/** @param {string} id @param {number} start @param {number} end @returns {Promise<DocumentText>} */
function readText(id, start, end) {
  return get(`/api/document/text?id=${encodeURIComponent(id)}&start=${start}&end=${end}`);
}

/**
 * Drops the rest of a line at which the text was cut, unless that is quoted.
 * @template {{ text: string, start: number }} Part
 * @param {Part} part
 * @returns {Part}
 */
function fromWholeLine(part, quoteStart = Infinity) {
  const at = part.start ? part.text.indexOf("\n") + 1 : 0;
  const start = part.start + countCharacters(part.text.slice(0, at));
  return start <= quoteStart ? { ...part, text: part.text.slice(at), start } : part;
}

/**
 * The passage as it was when the answer was written.
 * @param {Citation} citation
 * @param {Evidence | undefined} passage
 * @param {string} reason
 * @returns {ExcerptData}
 */
function passageOnly(citation, passage, reason = "", problem = "") {
  const text = passage?.text ?? "";
  const start = passage?.start ?? 0;
  const excerpt = { text, start, end: start + countCharacters(text), characters: 0 };
  return { phase: "passage", reason, problem, ...excerpt, ...locateQuote(excerpt, citation) };
}

/**
 * Where the quote and the passage are. If the quote is not at its offset, the text is searched for it.
 * @param {{ text: string, start: number }} excerpt @param {Citation} citation @param {Evidence} [passage]
 * @returns {{ quote: Range | null, passage: Range | null }}
 */
export function locateQuote({ text, start }, citation, passage) {
  const expected = toUtf16Offset(text, citation.start - start);
  const isThere = citation.start >= start && text.startsWith(citation.quote, expected);
  const at = isThere ? expected : text.indexOf(citation.quote);
  const from = start + countCharacters(text.slice(0, at));
  return {
    quote: citation.quote && at >= 0 ? [from, from + countCharacters(citation.quote)] : null,
    passage: passage ? [passage.start, passage.end] : null,
  };
}

/** @param {ExcerptData} excerpt @param {Direction} direction @returns {Promise<Partial<ExcerptData>>} */
async function extend(excerpt, direction) {
  const isEarlier = direction === "earlier";
  const [from, to] = isEarlier ? [Math.max(0, excerpt.start - MORE_LENGTH), excerpt.start] : [excerpt.end, excerpt.end + MORE_LENGTH];
  try {
    const part = await readText(excerpt.id ?? "", from, to);
    if (!isEarlier) return { text: excerpt.text + part.text, end: part.end };
    const { text, start } = fromWholeLine(part);
    return { text: text + excerpt.text, start };
  } catch (error) {
    return { problem: asApiError(error).message };
  }
}

/**
 * Marks the quote, and the passage around it.
 * @param {Pick<ExcerptData, "text" | "start" | "passage" | "quote">} excerpt
 * @returns {Mark[]}
 */
export function markExcerpt({ text, start, passage, quote }) {
  const toOffsets = (/** @type {Range | null} */ range) => (range ?? []).map((at) => toUtf16Offset(text, at - start));
  const [passageAt, quoteAt] = [toOffsets(passage), toOffsets(quote)];
  const edges = [...new Set([...passageAt, ...quoteAt])].sort((a, b) => a - b);
  const isInside = (/** @type {number[]} */ [from, to], /** @type {number} */ at) => from <= at && at < to;
  return edges.slice(0, -1).flatMap((from, index) => {
    const place = { start: from, end: edges[index + 1] };
    if (isInside(quoteAt, from)) return [{ ...place, tag: /** @type {const} */ ("mark"), className: "source-quote" }];
    return isInside(passageAt, from) ? [{ ...place, className: "source-passage" }] : [];
  });
}

/**
 * Shows an excerpt, with the quote marked and scrolled to the middle.
 * @param {{ excerpt: ExtendableExcerpt, language?: string }} props
 */
export function Excerpt({ excerpt, language }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const { text, start, quote, passage } = excerpt;
  const marks = useMemo(() => markExcerpt(excerpt), [text, start, quote, passage]);
  useScrollPosition(body, excerpt);
  if (excerpt.phase === "loading") {
    return html`<div class="source-body" ref=${body}><${Loading} text=${t("answer.source.loading")} /></div>`;
  }
  const isDocument = excerpt.phase === "document";
  return html`<div class="source-body" ref=${body} tabindex="0" role="group" aria-label=${t("answer.source.text")}>
    ${isDocument ? html`<${More} excerpt=${excerpt} direction="earlier" isEnd=${excerpt.start <= 0} />` : null}
    <${SourceText} text=${text} isMarkdown=${excerpt.markdown} language=${language} marks=${marks} />
    ${isDocument ? html`<${More} excerpt=${excerpt} direction="later" isEnd=${excerpt.end >= excerpt.characters} />` : null}
    ${excerpt.problem && isDocument ? html`<p class="notice bad" role="alert">${printable(excerpt.problem)}</p>` : null}
  </div>`;
}

/** @param {{ excerpt: ExtendableExcerpt, direction: Direction, isEnd: boolean }} props */
function More({ excerpt, direction, isEnd }) {
  if (isEnd) return html`<p class="source-edge small muted">${t(`answer.source.end.${direction}`)}</p>`;
  return html`<button type="button" class="quiet small source-more" aria-disabled=${excerpt.isBusy ?? false}
    onClick=${() => excerpt.isBusy || excerpt.loadMore?.(direction)}>${t(`answer.source.${direction}`)}</button>`;
}

/**
 * Scrolls a new quote to the middle, and keeps it in place when text is added before it.
 * @param {{ current: HTMLElement | null }} body
 * @param {ExcerptData} excerpt
 */
function useScrollPosition(body, { phase, text, quote, passage, start }) {
  const before = useRef({ height: 0, start: 0, quote: /** @type {Range | null} */ (null), passage: /** @type {Range | null} */ (null) });
  useLayoutEffect(() => {
    const box = /** @type {HTMLElement} */ (body.current);
    const shown = box.querySelector(".source-quote") ?? box.querySelector(".source-passage");
    const isNew = before.current.quote !== quote || before.current.passage !== passage;
    if (isNew && shown) box.scrollTop = scrollToMiddle(box, shown);
    else if (start < before.current.start) box.scrollTop += box.scrollHeight - before.current.height;
    before.current = { height: box.scrollHeight, start, quote, passage };
  }, [phase, text, quote, passage, start]);
}

/** A quote taller than the box starts near its top. @param {HTMLElement} box @param {Element} shown */
export function scrollToMiddle(box, shown) {
  const { top, height } = shown.getBoundingClientRect();
  return top - box.getBoundingClientRect().top + box.scrollTop - Math.max(box.clientHeight * 0.1, (box.clientHeight - height) / 2);
}
