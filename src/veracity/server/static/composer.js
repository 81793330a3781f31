// The box for a question. Enter sends, Shift+Enter begins a new line; an Enter that ends a composition (IME) does neither.
// What is typed is kept for the visit, so that neither a reload nor another view loses it. What is sent while an answer is
// still on its way waits for that and goes by itself; whoever types on takes it back.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { keep, kept } from "./kept.js";

const LONGEST = 10000; // as the server has it
const TALLEST = 240;
const HAS_KEYBOARD = window.matchMedia("(hover: hover)"); // on a touch screen the keyboard would cover the page unasked

const behind = (before, text) => (before.trim() && before !== text ? `${before.trimEnd()}\n${text}` : text);

// As if it had been typed in the box for a new question, behind what stands there.
export function typeForNew(text) {
  keep("", behind(kept("") ?? "", text));
}

// `conversation` is "" until there is one. `fill` is {text} to put in, a new object each time: never over what was typed.
// `onStop` ends what is on its way, where that can be ended.
export function Composer({ conversation, isFollowUp, isBusy, fill, onSend, onStop }) {
  const [text, setText] = useState(() => kept(conversation) ?? "");
  const [isNext, setNext] = useState(false);
  const box = useRef(null);
  const place = useRef(conversation);
  const filled = useRef("");

  useEffect(() => { if (HAS_KEYBOARD.matches) box.current.focus({ preventScroll: true }); }, []);
  useLayoutEffect(() => { // at once: a reload may follow
    if (place.current !== conversation) keep(place.current, ""); // it has begun: what is typed on belongs to it
    place.current = conversation;
    keep(conversation, text);
  }, [conversation, text]);
  useEffect(() => {
    if (!fill) return;
    filled.current = behind(text === filled.current ? "" : text, fill.text);
    setText(filled.current);
    box.current.value = filled.current; // so that the cursor can stand behind it at once
    box.current.focus();
    box.current.setSelectionRange(filled.current.length, filled.current.length);
  }, [fill]);
  useLayoutEffect(() => { // grows with what is typed
    const area = box.current;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, TALLEST)}px`;
  }, [text]);

  const send = () => {
    const question = text.trim();
    setNext(Boolean(question) && isBusy);
    if (!question || isBusy) return;
    onSend(question);
    setText("");
  };
  useEffect(() => { if (isNext && !isBusy) send(); }, [isBusy, isNext]);
  const onInput = (event) => {
    setNext(false);
    setText(event.target.value);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  };

  const stop = (event) => {
    if (event.detail > 1) return; // the second click of two that were meant to send
    onStop();
    if (HAS_KEYBOARD.matches) box.current.focus();
  };
  const isIdle = isNext || (isBusy && !text.trim()); // nothing to send

  return html`<p class="muted" role="status">${isNext && t("ask.next")}</p>
  <form class="ask-composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    <label class="visually-hidden" for="question">${t("ask.question")}</label>
    <textarea id="question" ref=${box} rows="1" maxlength=${LONGEST} value=${text} enterkeyhint="send" autocomplete="off"
      placeholder=${t(isFollowUp ? "ask.followUp" : "ask.placeholder")} aria-describedby="question-keys"
      onInput=${onInput} onKeyDown=${onKeyDown}></textarea>
    ${isIdle && onStop
      ? html`<button type="button" class="primary icon ask-stop" aria-label=${t("ask.stop")} title=${t("ask.stop")} onClick=${stop}>
          <${Icon} name="stop" size=${20} /></button>`
      : html`<button type="submit" class="primary icon" disabled=${isIdle || !text.trim()} aria-label=${t("ask.send")} title=${t("ask.send")}>
          ${isIdle ? html`<span class="spinner"></span>` : html`<${Icon} name="send" size=${20} />`}</button>`}
    <p id="question-keys" class="visually-hidden">${t("ask.keys")}</p>
  </form>`;
}
