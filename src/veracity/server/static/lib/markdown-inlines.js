// Parses what a Markdown block contains: emphasis, code, citation marks, link addresses. Returns a tree whose `from` and
// `to` are offsets in the source.
//
// The text comes from models and documents: every search is bounded or linear, and nesting is capped.
/** @import { Line } from "./markdown-blocks.js" */

/**
 * @typedef {{ kind: "text" | "cite" | "address", from: number, to: number } | { kind: "break" }
 *   | { kind: "code", pieces: { from: number, to: number }[] }
 *   | { kind: "strong" | "em", children: Inline[] }} Inline
 * @typedef {{ kind: string, at: number, end: number, codeEnd: number, isHidden: boolean, isShown: boolean,
 *   opens: number[], closes: number[], spare: number }} Token
 *   `isHidden`: a bracket around a link's text; `isShown`: an address; `spare`: stars that are text
 * @typedef {(at: number) => number} ToSource
 * @typedef {{ sign: string, size: number, token: Token }} OpenEmphasis
 */

const MAX_OPEN = 8; // nested emphasis; beyond that the oldest becomes text
const MAX_BRACKETS = 32;

// As in veracity/language/citations.py: [1], [1, 3-5], and the same in full-width brackets.
const NUMBER = String.raw`\d{1,3}`;
const RANGE = `${NUMBER}(?:[ ]?[-–~〜][ ]?${NUMBER})?`;
const GAP = String.raw`[^\S\n]{0,2}`;
const MARK = String.raw`[\[［【]${GAP}${RANGE}(?:${GAP}[,，、;；]${GAP}${RANGE}){0,20}${GAP}[\]］】]`;
// "](address)" or "](address "title")". An address has no parenthesis and no space, so the search is bounded.
const ADDRESS = String.raw`\]\((?:[^\s()]{1,4000})(?:[ ]"[^"\n()]{0,300}")?\)`;
const TOKEN = new RegExp(
  String.raw`(?<escape>\\[!-/:-@[-\x60{-~])|(?<mark>${MARK})|(?<ticks>\x60+)|(?<address>${ADDRESS})` +
    String.raw`|(?<bracket>!?\[)|(?<stars>\*+|_+)|(?<line>\n)`,
  "g",
);
const IN_WORD = /[\p{L}\p{N}]/u;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** @param {string} source @param {Line[]} lines of one block */
export function parseInlines(source, lines) {
  const joined = lines.map(([from, to]) => source.slice(from, to)).join("\n");
  const tokens = pairBrackets(tokenize(joined));
  return buildTree(joined, tokens, sourceOffsets(lines));
}

/**
 * Maps offsets in the joined lines to the source. Must be called with increasing offsets.
 * @param {Line[]} slices
 * @returns {ToSource}
 */
function sourceOffsets(slices) {
  let line = 0;
  let begin = 0;
  return (at) => {
    while (line + 1 < slices.length && at > begin + slices[line][1] - slices[line][0]) {
      begin += slices[line][1] - slices[line][0] + 1;
      line += 1;
    }
    return slices[line][0] + at - begin;
  };
}

/** @param {string} text */
function tokenize(text) {
  const findCodeEnd = codeEnds(text);
  /** @type {Token[]} */
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? "";
    /** @type {Token} */
    const token = {
      kind, at: match.index, end: TOKEN.lastIndex, codeEnd: 0, isHidden: false, isShown: false, opens: [], closes: [], spare: 0,
    };
    if (kind === "ticks") {
      token.codeEnd = findCodeEnd(token.at, token.end);
      if (token.codeEnd) token.end = TOKEN.lastIndex = token.codeEnd;
    }
    tokens.push(token);
  }
  return tokens;
}

/** Returns a function that finds where code ends: at the next run of as many backticks. @param {string} text */
function codeEnds(text) {
  /** @type {Map<number, { places: number[], next: number }>} */
  const runs = new Map();
  for (const run of text.matchAll(/`+/g)) {
    const same = runs.get(run[0].length) ?? { places: [], next: 0 };
    runs.set(run[0].length, same);
    same.places.push(run.index);
  }
  return (/** @type {number} */ at, /** @type {number} */ end) => {
    const same = runs.get(end - at);
    if (!same) return 0;
    while (same.next < same.places.length && same.places[same.next] < end) same.next += 1;
    return same.next < same.places.length ? same.places[same.next] + end - at : 0;
  };
}

/** Hides the brackets around the text of a link or an image, and shows its address. @param {Token[]} tokens */
function pairBrackets(tokens) {
  /** @type {Token[]} */
  const brackets = [];
  for (const token of tokens) {
    if (token.kind === "bracket") {
      if (brackets.push(token) > MAX_BRACKETS) brackets.shift();
    } else if (token.kind === "address") {
      const bracket = brackets.pop();
      if (bracket) token.isShown = bracket.isHidden = true;
    }
  }
  return tokens;
}

/** @param {string} text @param {Token[]} tokens @param {ToSource} toSource */
function buildTree(text, tokens, toSource) {
  matchEmphasis(text, tokens);
  /** @type {Inline[]} */
  const root = [];
  const levels = [root];
  const children = () => levels[levels.length - 1];
  const add = (/** @type {Inline} */ node) => children().push(node);
  const addText = (/** @type {number} */ from, /** @type {number} */ to) => {
    if (from < to) appendText(children(), toSource(from), toSource(to));
  };
  let at = 0;
  for (const token of tokens) {
    addText(at, token.at);
    at = token.end;
    if (token.kind === "escape") addText(token.at + 1, token.end);
    else if (token.kind === "line") add({ kind: "break" });
    else if (token.kind === "mark") add({ kind: "cite", from: toSource(token.at), to: toSource(token.end) });
    else if (token.kind === "ticks" && token.codeEnd) add(parseCode(text, token, toSource));
    else if (token.isHidden) continue;
    else if (token.isShown) add({ kind: "address", from: toSource(token.at + 2), to: toSource(token.end - 1) });
    else if (token.kind === "stars") addEmphasis(token, levels, addText);
    else addText(token.at, token.end);
  }
  addText(at, text.length);
  return root;
}

/** Adjacent text becomes one node. @param {Inline[]} children @param {number} from @param {number} to */
function appendText(children, from, to) {
  const last = children.at(-1);
  if (last?.kind === "text" && last.to === from) last.to = to;
  else children.push({ kind: "text", from, to });
}

/** @param {string} text @param {Token} token @param {ToSource} toSource @returns {Inline} */
function parseCode(text, token, toSource) {
  let size = 0;
  while (text[token.at + size] === "`") size += 1;
  const pieces = [];
  let from = token.at + size;
  for (const line of text.slice(from, token.end - size).split("\n")) {
    pieces.push({ from: toSource(from), to: toSource(from + line.length) });
    from += line.length + 1;
  }
  return { kind: "code", pieces };
}

/** @param {Token} token @param {Inline[][]} levels @param {(from: number, to: number) => void} addText */
function addEmphasis(token, levels, addText) {
  for (const size of token.closes) {
    const children = levels.pop() ?? [];
    levels.at(-1)?.push({ kind: size === 2 ? "strong" : "em", children });
  }
  addText(token.at, token.at + token.spare);
  token.opens.forEach(() => levels.push([]));
}

/**
 * Only matched pairs get into `opens` (outer first) and `closes` (inner first), so they always nest.
 * @param {string} text
 * @param {Token[]} tokens
 */
function matchEmphasis(text, tokens) {
  /** @type {OpenEmphasis[]} */
  const open = [];
  for (const token of tokens) {
    if (token.kind !== "stars") continue;
    token.spare = token.end - token.at;
    if (token.spare > 3) continue;
    const sign = text[token.at];
    const { canOpen, canClose } = flanks(text, token, sign);
    if (canClose) closeEmphasis(open, token, sign);
    if (canOpen) openEmphasis(open, token, sign);
  }
}

/** @param {OpenEmphasis[]} open @param {Token} token @param {string} sign */
function closeEmphasis(open, token, sign) {
  for (let index = open.length - 1; index >= 0 && token.spare; index -= 1) {
    const { sign: opened, size, token: opener } = open[index];
    if (opened !== sign || size > token.spare) continue;
    open.length = index;
    opener.opens.unshift(size);
    opener.spare -= size;
    token.closes.push(size);
    token.spare -= size;
  }
}

/**
 * Three signs are emphasis around strong emphasis.
 * @param {OpenEmphasis[]} open
 * @param {Token} token
 * @param {string} sign
 */
function openEmphasis(open, token, sign) {
  for (const size of [[], [1], [2], [1, 2]][token.spare]) {
    if (open.push({ sign, size, token }) > MAX_OPEN) open.shift();
  }
}

/**
 * Whether stars or underscores can open or close emphasis. Chinese and Japanese put no spaces around emphasis, and
 * brackets often touch it, so any neighbour but a space will do. An underscore inside a word is part of a name.
 * @param {string} text @param {Token} token @param {string} sign
 */
function flanks(text, token, sign) {
  const before = text[token.at - 1] ?? " ";
  const after = text[token.end] ?? " ";
  const isName = (/** @type {string} */ neighbour) => sign === "_" && IN_WORD.test(neighbour) && !WIDE.test(neighbour);
  return { canOpen: /\S/.test(after) && !isName(before), canClose: /\S/.test(before) && !isName(after) };
}
