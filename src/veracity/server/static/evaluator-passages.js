// The evidence of a trial: numbered rows of text that can be added, taken away, and split where several were pasted at once.
import { html, useRef } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

const MOST = 50; // what the server takes

export function Passages({ passages, onChange }) {
  const list = useRef(null);
  const replace = (at, ...texts) => onChange([...passages.slice(0, at), ...texts, ...passages.slice(at + 1)]);
  const focusRow = (at) => requestAnimationFrame(() => list.current?.querySelectorAll("textarea")[at]?.focus());
  const remove = (at) => {
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
    <ol ref=${list}>${passages.map((text, at) => html`<${Row} key=${at} text=${text} place=${at + 1} room=${MOST + 1 - passages.length}
      onText=${(next) => replace(at, next)} onSplit=${(texts) => replace(at, ...texts)} onRemove=${() => remove(at)} />`)}</ol>
    ${passages.length < MOST && html`<button type="button" class="small" onClick=${add}><${Icon} name="plus" size=${16} />
      ${t("evaluator.add_passage")}</button>`}
  </fieldset>`;
}

// What finds no row of its own stays with the last.
function upTo(count, texts) {
  return [...texts.slice(0, count - 1), texts.slice(count - 1).join("\n\n")].filter(Boolean);
}

function Row({ text, place, room, onText, onSplit, onRemove }) {
  const parts = upTo(room, text.split(/\n[^\S\n]*\n/).map((part) => part.trim()).filter(Boolean));
  return html`<li>
    <span class="evaluator-place number" aria-hidden="true">[${place}]</span>
    <div>
      <textarea rows="2" aria-label=${t("evaluator.passage", { number: place })} value=${text}
        onInput=${(event) => onText(event.target.value)}></textarea>
      ${parts.length > 1 && html`<button type="button" class="small" onClick=${() => onSplit(parts)}>
        ${t("evaluator.split", { count: parts.length })}</button>`}
    </div>
    <button type="button" class="icon quiet" aria-label=${t("evaluator.remove_passage", { number: place })}
      onClick=${onRemove}><${Icon} name="close" /></button>
  </li>`;
}
