// The form to edit a draft before it is approved. It shows the changes and the sentences without a citation.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { Diff } from "../answer/diff.js";
import { isSubmitKey, withValue } from "../lib/components.js";
import { language, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
/** @import { Approval } from "../lib/types.d.ts" */

const MAX_LISTED = 5;
const PREVIEW_DELAY = 300; // milliseconds after the last key press

const MARK = String.raw`[\[［【]\s*\d{1,3}(?:\s*[,，、;；–-]\s*\d{1,3})*\s*[\]］】]`;
const MARKS = new RegExp(MARK, "g");
const MARK_AFTER_STOP = new RegExp(String.raw`([.!?。！？…]+["'”’»)）」』]*)((?:\s*${MARK})+)`, "g");
const NO_STATEMENT = /^#{1,6}\s|[:：]$|[?？]$/; // a heading, an introduction to a list, a question
const LIST_ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)、])\s+/;
const WORD = /\p{L}{2}/u;

/** @param {{ approval: Approval, text: string, setText: (text: string) => void, isBusy: boolean, onSend: () => void, onCancel: () => void }} props */
export function EditForm({ approval, text, setText, isBusy, onSend, onCancel }) {
  const original = approval.draft.text;
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [preview, setPreview] = useState(text);
  const isEmpty = !text.trim();

  useLayoutEffect(() => { // before the next key press
    field.current?.focus();
    field.current?.setSelectionRange(0, 0);
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setPreview(text), PREVIEW_DELAY);
    return () => clearTimeout(timer);
  }, [text]);

  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isEmpty) onSend();
  };
  return html`
    <form class="inbox-form inbox-edit" onSubmit=${submit} aria-labelledby="inbox-edit-title">
      <h3 id="inbox-edit-title">${t("inbox.form.edit")}</h3>
      <label for="inbox-edit-text">${t("inbox.form.edit.text")}</label>
      <textarea id="inbox-edit-text" ref=${field} rows="8" lang=${approval.draft.language || null} maxlength="20000" value=${text} aria-describedby="inbox-edit-hint"
        onInput=${withValue(setText)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => isSubmitKey(event) && submit(event)}></textarea>
      <p id="inbox-edit-hint" class=${isEmpty ? "inbox-wrong small" : "muted small"} aria-live="polite">
        ${t(isEmpty ? "inbox.form.edit.empty" : "inbox.form.edit.hint")}</p>
      <${Uncited} text=${preview} passages=${approval.draft.evidence.length} />
      ${preview !== original && html`
        <h4>${t("inbox.form.edit.changes")}</h4>
        <${Diff} language=${approval.draft.language} before=${printable(original)} after=${printable(preview)} />`}
      <div class="row inbox-bar">
        <button type="submit" class="primary" disabled=${isBusy || isEmpty}>
          ${t(text === original ? "inbox.approve" : "inbox.form.edit.send")}</button>
        <button type="button" class="quiet" disabled=${isBusy} onClick=${onCancel}>${t("inbox.form.cancel")}</button>
        ${text !== original && html`
          <button type="button" class="quiet" onClick=${() => setText(original)}>${t("inbox.form.edit.reset")}</button>`}
      </div>
    </form>`;
}

/**
 * Lists what readers will see as unsupported. Without evidence there is nothing to cite.
 * @param {{ text: string, passages: number }} props
 */
function Uncited({ text, passages }) {
  const sentences = passages ? findUncited(text, passages) : [];
  return html`<div role="status">${sentences.length > 0 && html`
    <div class="notice warn inbox-uncited"><${Icon} name="warn" size=${16} />
      <div><p>${t("inbox.form.edit.uncited", { n: sentences.length })}</p>
        <ul>${sentences.slice(0, MAX_LISTED).map((sentence) => html`<li dir="auto">${printable(sentence)}</li>`)}
          ${sentences.length > MAX_LISTED && html`<li>…</li>`}</ul></div></div>`}</div>`;
}

/**
 * The sentences without a mark of a passage, such as [1]. Only a hint: the server decides what counts.
 * @param {string} text @param {number} passages how many there are
 */
export function findUncited(text, passages = Infinity) {
  const segmenter = new Intl.Segmenter(language(), { granularity: "sentence" });
  const lines = text.split(/\n+/).map((line) => line.replace(LIST_ITEM, "").replace(MARK_AFTER_STOP, "$2$1"));
  return lines.flatMap((line) => [...segmenter.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => WORD.test(sentence) && !hasPassage(sentence, passages) && !NO_STATEMENT.test(sentence));
}

/** Whether one of its marks names a passage. @param {string} sentence @param {number} passages */
function hasPassage(sentence, passages) {
  const numbers = (sentence.match(MARKS) ?? []).flatMap((mark) => mark.match(/\d+/g) ?? []).map(Number);
  return numbers.some((number) => number >= 1 && number <= passages);
}
