// What changed between two texts: words of English, characters of Chinese and Japanese. Two long texts that share little
// are shown as one taking the place of the other, so that the work is bounded. Knows nothing about drafts or approvals.

import { html, useMemo } from "./vendor/preact.js";
import { t } from "./i18n.js";

const CJK = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー";
const TOKEN = new RegExp(`(?:(?![${CJK}])[\\p{L}\\p{N}\\p{M}_])+|\\n|[^\\S\\n]+|[^]\\p{M}*`, "gu");
const SENTENCE = /[^\n。！？.!?]*(?:[。！？]|[.!?]+(?=\s|$)|[.!?]|\n|$)[^\S\n]*/gu;
const MOST_EDITS = 600; // of tokens; the work is this times the length of the texts
const MOST_SLIDE = 500; // characters a change is moved, so that it begins where a sentence does

/** [{kind: "same" | "gone" | "new", text}], which joined without "new" give `before`, without "gone" `after`. */
export function differences(before, after) {
  const fine = shortestEdit(tokensOf(before, TOKEN), tokensOf(after, TOKEN));
  return readable(fine ?? bySentence(before, after));
}

function tokensOf(text, pattern) {
  return (text.match(pattern) ?? []).filter(Boolean);
}

/** Whole sentences first, and then words of those that took one another's place. */
function bySentence(before, after) {
  const coarse = shortestEdit(tokensOf(before, SENTENCE), tokensOf(after, SENTENCE));
  if (!coarse) return replaced(before, after);
  return paired(coarse).flatMap(({ same, gone, fresh }) => [
    ...(same ? [{ kind: "same", text: same }] : []),
    ...(gone || fresh ? within(gone, fresh) : []),
  ]);
}

function within(gone, fresh) {
  return shortestEdit(tokensOf(gone, TOKEN), tokensOf(fresh, TOKEN)) ?? replaced(gone, fresh);
}

function replaced(before, after) {
  return [{ kind: "gone", text: before }, { kind: "new", text: after }].filter((piece) => piece.text);
}

/** Myers' greedy algorithm on what is left between the common ends; null where it would take too many edits. */
function shortestEdit(before, after) {
  let head = 0;
  const shorter = Math.min(before.length, after.length);
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const middle = myers(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  if (!middle) return null;
  const same = (tokens) => (tokens.length ? [{ kind: "same", text: tokens.join("") }] : []);
  return [...same(before.slice(0, head)), ...middle, ...same(before.slice(before.length - tail))];
}

function myers(before, after) {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  let reach = new Int32Array(2 * most + 3); // by diagonal: how far into `before` this many edits lead
  const history = [];
  for (let edits = 0; edits <= most; edits += 1) {
    history.push(reach.slice());
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = diagonal + most + 1;
      let x = diagonal === -edits || (diagonal !== edits && reach[at - 1] < reach[at + 1]) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      reach[at] = x;
      if (x >= before.length && x - diagonal >= after.length) return traced(before, after, history, most);
    }
  }
  return null;
}

function traced(before, after, history, most) {
  const pieces = [];
  let x = before.length;
  let y = after.length;
  for (let edits = history.length - 1; edits >= 0; edits -= 1) {
    const reach = history[edits];
    const diagonal = x - y;
    const at = diagonal + most + 1;
    const down = diagonal === -edits || (diagonal !== edits && reach[at - 1] < reach[at + 1]);
    const fromX = edits === 0 ? 0 : down ? reach[at + 1] : reach[at - 1];
    const fromY = edits === 0 ? 0 : fromX - (down ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) {
      pieces.push({ kind: "same", text: before[x - 1] });
      x -= 1;
      y -= 1;
    }
    if (edits > 0) pieces.push(down ? { kind: "new", text: after[y - 1] } : { kind: "gone", text: before[x - 1] });
    x = fromX;
    y = fromY;
  }
  return pieces.reverse();
}

/** Stretches of what stayed, each followed by what went and what came in its place. */
function paired(pieces) {
  const pairs = [{ same: "", gone: "", fresh: "" }];
  for (const { kind, text } of pieces) {
    const last = pairs.at(-1);
    if (kind === "gone") last.gone += text;
    else if (kind === "new") last.fresh += text;
    else if (last.gone || last.fresh) pairs.push({ same: text, gone: "", fresh: "" });
    else last.same += text;
  }
  return pairs;
}

/** A short word that stayed between two longer changes only makes them harder to read: it joins them. */
function readable(pieces) {
  const kept = [];
  for (const pair of paired(pieces)) {
    const last = kept.at(-1);
    const size = (one) => Math.max(one.gone.length, one.fresh.length);
    if (last && size(last) && size(pair) && isFiller(pair.same, size(last), size(pair))) {
      last.gone += pair.same + pair.gone;
      last.fresh += pair.same + pair.fresh;
    } else kept.push({ ...pair });
  }
  return settled(kept).flatMap(({ same, gone, fresh }) =>
    [{ kind: "same", text: same }, { kind: "gone", text: gone }, { kind: "new", text: fresh }].filter((one) => one.text),
  );
}

function isFiller(text, before, after) {
  return text.length <= Math.min(before, after) && (text.length <= 3 || !/[\p{L}\p{N}]/u.test(text)) && !text.includes("\n");
}

/** Of "is. It was" the new may be "is. It" or "It was": what begins and ends with a sentence or a word is taken. */
function settled(pairs) {
  for (let index = 0; index + 1 < pairs.length; index += 1) {
    const [pair, next] = [pairs[index], pairs[index + 1]];
    if (Boolean(pair.gone) === Boolean(pair.fresh)) continue;
    const whole = pair.same + pair.gone + pair.fresh + next.same;
    const length = pair.gone.length + pair.fresh.length;
    const start = bestStart(whole, pair.same.length, length);
    pair[pair.gone ? "gone" : "fresh"] = whole.slice(start, start + length);
    pair.same = whole.slice(0, start);
    next.same = whole.slice(start + length);
  }
  return pairs;
}

function bestStart(whole, given, length) {
  let from = given;
  while (from > 0 && given - from < MOST_SLIDE && whole[from - 1] === whole[from + length - 1]) from -= 1;
  let best = given;
  for (let start = from; start === from || whole[start - 1] === whole[start + length - 1]; start += 1) {
    if (start + length > whole.length || start - given > MOST_SLIDE) break;
    const fits = (at) => edge(whole, at) + edge(whole, at + length);
    if (fits(start) > fits(best)) best = start;
  }
  return best;
}

/** How well a text is cut here: after a sentence, between words, or in the middle of a character. */
function edge(text, at) {
  if (at === 0 || at === text.length) return 3;
  if (/[\uDC00-\uDFFF]/.test(text[at]) || /\p{M}/u.test(text[at])) return -9;
  if (/[[［【]/.test(text[at])) return 0; // a mark such as [1] belongs to the sentence before it
  if (/[\n。！？\]］】]$|[.!?]\s$/.test(text.slice(Math.max(0, at - 2), at))) return 3;
  return /[^\p{L}\p{N}]/u.test(text[at - 1]) ? 1 : 0;
}

/** `label` names it for those who do not see it. */
export function Diff({ before, after, label, language }) {
  const pieces = useMemo(() => differences(before, after), [before, after]);
  if (before === after) return html`<p class="diff-same">${t("inbox.diff.same")}</p>`;
  return html`<div class="diff" lang=${language || null} role="group" aria-label=${label ?? t("inbox.diff.label")}>${pieces.map(Piece)}</div>`;
}

function Piece({ kind, text }) {
  if (kind === "same") return text;
  const said = t(kind === "gone" ? "inbox.diff.gone" : "inbox.diff.new");
  const spoken = html`<span class="visually-hidden" lang=${document.documentElement.lang}>${said} </span>`;
  return kind === "gone" ? html`<del>${spoken}${text}</del>` : html`<ins>${spoken}${text}</ins>`;
}
