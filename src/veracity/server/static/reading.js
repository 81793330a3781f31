// A stretch of a document's text to read, as plain text: the quote marked and in the middle, more of it on request without a
// jump. Knows nothing about where the text comes from.
import { html, useLayoutEffect, useMemo, useRef } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { visible } from "./visible.js";
import { cut } from "./excerpt.js";

export function Excerpt({ excerpt, language }) {
  const body = useRef(null);
  const { text, start, quote, passage } = excerpt;
  const pieces = useMemo(() => cut({ text: "", ...excerpt }), [text, start, quote, passage]);
  useStillness(body, excerpt);
  if (excerpt.phase === "loading") {
    return html`<div class="source-body" ref=${body}>
      <p class="muted row"><span class="spinner"></span>${t("answer.source.loading")}</p>
    </div>`;
  }
  const isDocument = excerpt.phase === "document";
  return html`<div class="source-body" ref=${body} tabindex="0" role="group" aria-label=${t("answer.source.text")}>
    ${isDocument ? html`<${More} excerpt=${excerpt} direction="earlier" isEnd=${excerpt.start <= 0} />` : null}
    <div class="source-text" dir="auto" lang=${language || undefined}>${pieces.map(element)}</div>
    ${isDocument ? html`<${More} excerpt=${excerpt} direction="later" isEnd=${excerpt.end >= excerpt.characters} />` : null}
    ${excerpt.problem && isDocument ? html`<p class="notice bad" role="alert">${visible(excerpt.problem)}</p>` : null}
  </div>`;
}

function element({ text, isPassage, isQuote }) {
  if (isQuote) return html`<mark class="source-quote">${visible(text)}</mark>`;
  return isPassage ? html`<span class="source-passage">${visible(text)}</span>` : visible(text);
}

function More({ excerpt, direction, isEnd }) {
  if (isEnd) return html`<p class="source-edge small muted">${t(`answer.source.end.${direction}`)}</p>`;
  return html`<button type="button" class="quiet small source-more" aria-disabled=${excerpt.isBusy ?? false}
    onClick=${() => excerpt.isBusy || excerpt.more(direction)}>${t(`answer.source.${direction}`)}</button>`;
}

// A new quote is brought to the middle; text that is put before it leaves it where it is on the screen.
function useStillness(body, { phase, text, quote, passage, start }) {
  const before = useRef({ height: 0, start: 0, quote: null });
  useLayoutEffect(() => {
    const box = body.current;
    const shown = box.querySelector(".source-quote") ?? box.querySelector(".source-passage");
    const isNew = before.current.quote !== quote || before.current.passage !== passage;
    if (isNew && shown) box.scrollTop = middle(box, shown);
    else if (start < before.current.start) box.scrollTop += box.scrollHeight - before.current.height;
    before.current = { height: box.scrollHeight, start, quote, passage };
  }, [phase, text, quote, passage, start]);
}

// A quote that is higher than the box begins near its top.
function middle(box, shown) {
  const top = shown.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  return top - Math.max(box.clientHeight * 0.1, (box.clientHeight - shown.getBoundingClientRect().height) / 2);
}
