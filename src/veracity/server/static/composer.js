// The box for a question. Enter sends, Shift+Enter begins a new line; an Enter that ends a composition (IME) does neither.
// What is typed is kept for the visit, so that neither a reload nor another view loses it. What is sent while an answer is
// still on its way waits for that and goes by itself; whoever types on takes it back.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";

const LONGEST = 20000; // as the server has it
const TALLEST = 240;
const HAS_KEYBOARD = window.matchMedia("(hover: hover)"); // on a touch screen the keyboard would cover the page unasked

const place = (conversation) => `veracity.typed.${conversation}`;

function typedBefore(conversation) {
  try { return sessionStorage.getItem(place(conversation)) || ""; } catch { return ""; }
}

// As if it had been typed in the box of that conversation ("" for a new one).
export function keepTyped(conversation, text) {
  try {
    if (text) sessionStorage.setItem(place(conversation), text);
    else sessionStorage.removeItem(place(conversation));
  } catch { /* storage may be switched off or full */ }
}

// `fill` is {text} to put in, a new object each time.
export function Composer({ conversation, isFollowUp, isBusy, fill, onSend }) {
  const [text, setText] = useState(() => typedBefore(conversation));
  const [isNext, setNext] = useState(false);
  const box = useRef(null);

  useEffect(() => { if (HAS_KEYBOARD.matches) box.current.focus({ preventScroll: true }); }, []);
  useEffect(() => { keepTyped(conversation, text); }, [conversation, text]);
  useEffect(() => {
    if (!fill) return;
    setText(fill.text);
    box.current.value = fill.text; // so that the cursor can stand behind it at once
    box.current.focus();
    box.current.setSelectionRange(fill.text.length, fill.text.length);
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

  return html`<p class="muted" role="status">${isNext && t("ask.next")}</p>
  <form class="ask-composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    <label class="visually-hidden" for="question">${t("ask.question")}</label>
    <textarea id="question" ref=${box} rows="1" maxlength=${LONGEST} value=${text} enterkeyhint="send" autocomplete="off"
      placeholder=${t(isFollowUp ? "ask.followUp" : "ask.placeholder")} aria-describedby="question-keys"
      onInput=${onInput} onKeyDown=${onKeyDown}></textarea>
    <button type="submit" class="primary icon" disabled=${isNext || !text.trim()} aria-label=${t("ask.send")} title=${t("ask.send")}>
      ${isNext || (isBusy && !text.trim()) ? html`<span class="spinner"></span>` : html`<${Icon} name="send" size=${20} />`}</button>
    <p id="question-keys" class="visually-hidden">${t("ask.keys")}</p>
  </form>`;
}
