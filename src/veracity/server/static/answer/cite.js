// A citation mark in an answer. Pointing at it, or focusing it with the keyboard, previews the quote.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
import { describePlace, keepInPlace } from "./citations.js";
import { SourceText } from "./source-text.js";
/** @import { Answer, Citation, Evidence } from "../lib/types.d.ts" */

const SHOW_DELAY = 200; // milliseconds
const HIDE_DELAY = 150; // time to move the pointer to the preview
const PREVIEW_LENGTH = 280; // characters of a passage without a quote, and of a long quote
const GAP = 6; // pixels

/** @param {{ number: number, answer: Answer, citation: Citation | null, onCite?: (citation: Citation) => void }} props */
export function Cite({ number, answer, citation, onCite }) {
  const evidence = answer.evidence?.[number - 1];
  if (!citation) {
    const isUnresolved = (answer.evidence ?? []).length > 0;
    return html`<span class=${`answer-cite ${isUnresolved ? "answer-unresolved" : ""}`}
      title=${isUnresolved ? t("answer.unresolved") : undefined}>${number}</span>`;
  }
  const title = printable(evidence?.title || t("answer.untitled"));
  if (!onCite) return html`<span class="answer-cite" title=${title}>${number}</span>`;
  return html`<${CiteButton} number=${number} title=${title} citation=${citation} evidence=${evidence} onCite=${onCite} />`;
}

/** @param {{ number: number, title: string, citation: Citation, evidence?: Evidence, onCite: (citation: Citation) => void }} props */
function CiteButton({ number, title, citation, evidence, onCite }) {
  const id = useId();
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const { isOpen, hide, ...handlers } = usePreview();
  const open = () => {
    hide(true);
    keepInPlace(button.current, () => onCite(citation));
  };
  return html`<span class="answer-cite-place" ...${handlers}>
    <button type="button" class="answer-cite" ref=${button} aria-label=${t("answer.cite", { number, title })}
      aria-describedby=${isOpen ? id : undefined} onClick=${open}>${number}</button>
    ${isOpen ? html`<${Preview} id=${id} title=${title} citation=${citation} evidence=${evidence} anchor=${button} />` : null}
  </span>`;
}

/** Opens with the pointer or the keyboard, but not by touch. Esc closes it, and nothing else. */
function usePreview() {
  const [isOpen, setOpen] = useState(false);
  const timer = useRef(0);
  const isReturning = useRef(false); // the focus comes back when the source is closed
  const set = (/** @type {boolean} */ next, /** @type {number} */ delay) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOpen(next), delay);
  };
  const hide = (/** @type {boolean} */ returns) => {
    clearTimeout(timer.current);
    setOpen(false);
    isReturning.current = returns;
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => { // before the next key press
    if (!isOpen) return undefined;
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      hide(false);
    };
    window.addEventListener("keydown", onKeyDown, true);
    return () => window.removeEventListener("keydown", onKeyDown, true);
  }, [isOpen]);
  return {
    isOpen,
    hide,
    onPointerEnter: (/** @type {PointerEvent} */ event) => { if (event.pointerType === "mouse") set(true, SHOW_DELAY); },
    onPointerLeave: () => set(false, HIDE_DELAY),
    onFocusIn: (/** @type {FocusEvent} */ event) => {
      if (isReturning.current) isReturning.current = false;
      else if (/** @type {HTMLElement} */ (event.target).matches(":focus-visible")) set(true, 0);
    },
    onFocusOut: () => set(false, 0),
  };
}

/** @param {{ id: string, title: string, citation: Citation, evidence?: Evidence, anchor: { current: HTMLElement | null } }} props */
export function Preview({ id, title, citation, evidence, anchor }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const shown = /** @type {HTMLElement} */ (box.current);
    shown.showPopover?.(); // above everything, wherever its text scrolls
    place(shown, /** @type {HTMLElement} */ (anchor.current));
  }, []);
  const text = [...(citation.quote || evidence?.text || "")];
  const where = evidence && describePlace(evidence);
  return html`<span class="answer-preview" id=${id} ref=${box} role="tooltip" popover="manual">
    <bdi class="answer-preview-title" lang=${evidence?.language || undefined}>${title}</bdi>
    ${where ? html`<bdi class="small muted">${printable(where)}</bdi>` : null}
    <${SourceText} text=${text.slice(0, PREVIEW_LENGTH).join("") + (text.length > PREVIEW_LENGTH ? "…" : "")} language=${evidence?.language} />
  </span>`;
}

/** Below the mark, or above it where there is more room. @param {HTMLElement} box @param {HTMLElement} anchor */
function place(box, anchor) {
  const { left, top, bottom } = anchor.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const isBelow = bottom + GAP + height <= innerHeight || top < innerHeight - bottom;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  box.style.top = `${isBelow ? bottom + GAP : Math.max(8, top - GAP - height)}px`;
}
