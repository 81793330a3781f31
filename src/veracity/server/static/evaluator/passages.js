// The evidence of a trial: numbered rows that can be added, removed, and split at blank lines.
import { html, useRef } from "../lib/preact.js";
import { withValue } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";

const MAX_PASSAGES = 50; // the server's limit

/** @param {{ passages: string[], onChange: (passages: string[]) => void }} props */
export function Passages({ passages, onChange }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const replace = (/** @type {number} */ at, /** @type {string[]} */ ...texts) => onChange([...passages.slice(0, at), ...texts, ...passages.slice(at + 1)]);
  const focusRow = (/** @type {number} */ at) => requestAnimationFrame(() => list.current?.querySelectorAll("textarea")[at]?.focus());
  const remove = (/** @type {number} */ at) => {
    if (passages.length > 1) replace(at);
    else replace(at, "");
    focusRow(Math.max(0, at - 1));
  };
  const add = () => {
    onChange([...passages, ""]);
    focusRow(passages.length);
  };
  return html`<fieldset class="evaluator-passages">
    <legend>${t("evaluator.evidence")}</legend>
    <ol ref=${list}>${passages.map((text, at) => html`<${Row} key=${at} text=${text} place=${at + 1} room=${MAX_PASSAGES + 1 - passages.length}
      onReplace=${(/** @type {string[]} */ ...texts) => replace(at, ...texts)} onRemove=${() => remove(at)} />`)}</ol>
    ${passages.length < MAX_PASSAGES && html`<button type="button" class="small" onClick=${add}><${Icon} name="plus" size=${16} />
      ${t("evaluator.add_passage")}</button>`}
  </fieldset>`;
}

/** @param {{ text: string, place: number, room: number, onReplace: (...texts: string[]) => void, onRemove: () => void }} props */
function Row({ text, place, room, onReplace, onRemove }) {
  const parts = splitText(text, room);
  return html`<li>
    <span class="evaluator-place number" aria-hidden="true">[${place}]</span>
    <div>
      <textarea rows="2" aria-label=${t("evaluator.passage", { number: place })} value=${text} onInput=${withValue(onReplace)}></textarea>
      ${parts.length > 1 && html`<button type="button" class="small" onClick=${() => onReplace(...parts)}>
        ${t("evaluator.split", { count: parts.length })}</button>`}
    </div>
    <button type="button" class="icon quiet" aria-label=${t("evaluator.remove_passage", { number: place })}
      onClick=${onRemove}><${Icon} name="close" /></button>
  </li>`;
}

/**
 * Splits at blank lines into at most `room` parts; the last keeps the rest.
 * @param {string} text
 * @param {number} room
 */
function splitText(text, room) {
  const parts = text.split(/\n[^\S\n]*\n/).map((part) => part.trim()).filter(Boolean);
  return [...parts.slice(0, room - 1), parts.slice(room - 1).join("\n\n")].filter(Boolean);
}
