// The question box. Enter sends, Shift+Enter starts a new line. Typed text survives a reload. A question sent while an
// answer is being written is sent after it; typing on takes it back.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { isComposing } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { readTyped, storeTyped } from "../lib/storage.js";

const MAX_LENGTH = 10000; // the server's limit
const MAX_HEIGHT = 240;
const HAS_KEYBOARD = window.matchMedia("(hover: hover)"); // a focused field opens the keyboard of a touch screen

/** @param {string} before @param {string} text */
const append = (before, text) => (before.trim() && before !== text ? `${before.trimEnd()}\n${text}` : text);

/** Appends to the text of the box for a new question. @param {string} text */
export function typeNewQuestion(text) {
  storeTyped("", append(readTyped("") ?? "", text));
}

/**
 * `conversation` is "" until the first question. `isBlocked`: nothing can be asked yet. `fill` is appended to what was typed; pass a new object each time.
 * @param {{ conversation: string, isFollowUp: boolean, isBusy: boolean, isBlocked: boolean, fill: { text: string } | null, onSend: (question: string) => void, onStop?: () => void }} props
 */
export function Composer({ conversation, isFollowUp, isBusy, isBlocked, fill, onSend, onStop }) {
  const [text, setText] = useState(() => readTyped(conversation) ?? "");
  const [isNext, setNext] = useState(false);
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const field = useRef(conversation);
  const lastFill = useRef("");

  useEffect(() => { if (HAS_KEYBOARD.matches) box.current?.focus({ preventScroll: true }); }, []);
  useLayoutEffect(() => { // not in an effect: a reload may follow
    if (field.current !== conversation) storeTyped(field.current, ""); // the text now belongs to the new conversation
    field.current = conversation;
    storeTyped(conversation, text);
  }, [conversation, text]);
  useEffect(() => {
    const area = box.current;
    if (!fill || !area) return;
    lastFill.current = append(text === lastFill.current ? "" : text, fill.text);
    setText(lastFill.current);
    area.value = lastFill.current; // so that the cursor can be placed after it
    area.focus();
    area.setSelectionRange(lastFill.current.length, lastFill.current.length);
  }, [fill]);
  useLayoutEffect(() => {
    const area = /** @type {HTMLTextAreaElement} */ (box.current);
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, MAX_HEIGHT)}px`;
  }, [text]);

  const send = () => {
    const question = text.trim();
    setNext(Boolean(question) && isBusy && !isBlocked);
    if (!question || isBusy || isBlocked) return;
    onSend(question);
    setText("");
  };
  useEffect(() => { if (isNext && !isBusy) send(); }, [isBusy, isNext]);
  const onInput = (/** @type {InputEvent} */ event) => {
    setNext(false);
    setText(/** @type {HTMLTextAreaElement} */ (event.target).value);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    send();
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send();
  };
  const stop = (/** @type {MouseEvent} */ event) => {
    if (event.detail > 1) return; // the second click of a double click on "send"
    onStop?.();
    if (HAS_KEYBOARD.matches) box.current?.focus();
  };
  const isIdle = isNext || (isBusy && !text.trim()); // nothing to send

  return html`<p class="muted" role="status">${isNext && t("ask.next")}</p>
  <form class="ask-composer" onSubmit=${onSubmit}>
    <label class="visually-hidden" for="question">${t("ask.question")}</label>
    <textarea id="question" ref=${box} rows="1" maxlength=${MAX_LENGTH} value=${text} enterkeyhint="send" autocomplete="off"
      placeholder=${t(isFollowUp ? "ask.followUp" : "ask.placeholder")} aria-describedby="question-keys"
      onInput=${onInput} onKeyDown=${onKeyDown}></textarea>
    ${isIdle && onStop
      ? html`<button type="button" class="primary icon ask-stop" aria-label=${t("ask.stop")} title=${t("ask.stop")} onClick=${stop}>
          <${Icon} name="stop" size=${20} /></button>`
      : html`<button type="submit" class="primary icon" disabled=${isIdle || isBlocked || !text.trim()} aria-label=${t("ask.send")} title=${t("ask.send")}>
          ${isIdle ? html`<span class="spinner"></span>` : html`<${Icon} name="send" size=${20} />`}</button>`}
    <p id="question-keys" class="visually-hidden">${t("ask.keys")}</p>
  </form>`;
}
