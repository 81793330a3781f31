// What stands inside a line of Markdown: emphasis, code, citation marks, addresses. Gives a tree of plain objects whose
// `from` and `to` are places in the source text. Knows nothing about blocks, and nothing about pages.
//
// Text comes from models and documents: every search below is bounded or walks the text once, and nesting is capped.

const MOST_OPEN = 8; // emphasis within emphasis; beyond it the oldest is taken for text
const MOST_BRACKETS = 32;

// As in veracity/citations.py: [1], [1, 3-5], and the same in full-width brackets.
const NUMBER = String.raw`\d{1,3}`;
const RANGE = `${NUMBER}(?:[ ]?[-–~〜][ ]?${NUMBER})?`;
const GAP = String.raw`[^\S\n]{0,2}`;
const MARK = String.raw`[\[［【]${GAP}${RANGE}(?:${GAP}[,，、;；]${GAP}${RANGE}){0,20}${GAP}[\]］】]`;
// "](address)" or "](address "title")". An address holds no parenthesis and no space, so the search ends soon.
const ADDRESS = String.raw`\]\((?:[^\s()]{1,4000})(?:[ ]"[^"\n()]{0,300}")?\)`;
const TOKEN = new RegExp(
  String.raw`(?<escape>\\[!-/:-@[-\x60{-~])|(?<mark>${MARK})|(?<ticks>\x60+)|(?<address>${ADDRESS})` +
    String.raw`|(?<bracket>!?\[)|(?<stars>\*+|_+)|(?<line>\n)`,
  "g",
);
const IN_WORD = /[\p{L}\p{N}]/u;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

// `slices` are the lines of one paragraph, each a [from, to] of the source.
export function inlines(source, slices) {
  const joined = slices.map(([from, to]) => source.slice(from, to)).join("\n");
  const tokens = paired(tokenized(joined));
  return tree(joined, tokens, placing(slices));
}

// Turns places in the joined lines into places of the source; it is asked in rising order.
function placing(slices) {
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

function tokenized(text) {
  const closing = codeEnds(text);
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    const token = { kind, at: found.index, end: TOKEN.lastIndex };
    if (kind === "ticks") {
      token.codeEnd = closing(token.at, token.end);
      if (token.codeEnd) token.end = TOKEN.lastIndex = token.codeEnd;
    }
    tokens.push(token);
  }
  return tokens;
}

// Where the code that opens with a run of backticks ends: at the next run of the same length.
function codeEnds(text) {
  const runs = new Map();
  for (const run of text.matchAll(/`+/g)) {
    const length = run[0].length;
    if (!runs.has(length)) runs.set(length, { places: [], next: 0 });
    runs.get(length).places.push(run.index);
  }
  return (at, end) => {
    const same = runs.get(end - at);
    if (!same) return 0;
    while (same.next < same.places.length && same.places[same.next] < end) same.next += 1;
    return same.next < same.places.length ? same.places[same.next] + end - at : 0;
  };
}

// The brackets around the text of a link or an image are not shown, the address is.
function paired(tokens) {
  const brackets = [];
  for (const token of tokens) {
    if (token.kind === "bracket") {
      if (brackets.push(token) > MOST_BRACKETS) brackets.shift();
    } else if (token.kind === "address" && brackets.length) {
      token.shown = brackets.pop().hidden = true;
    }
  }
  return tokens;
}

function tree(text, tokens, place) {
  matchEmphasis(text, tokens);
  const levels = [{ children: [] }];
  const add = (node) => levels.at(-1).children.push(node);
  const addText = (from, to) => from < to && addTo(levels.at(-1).children, { kind: "text", from: place(from), to: place(to) });
  let at = 0;
  for (const token of tokens) {
    addText(at, token.at);
    at = token.end;
    if (token.kind === "escape") addText(token.at + 1, token.end);
    else if (token.kind === "line") add({ kind: "break" });
    else if (token.kind === "mark") add({ kind: "cite", from: place(token.at), to: place(token.end) });
    else if (token.kind === "ticks" && token.codeEnd) add(code(text, token, place));
    else if (token.hidden) continue;
    else if (token.shown) add({ kind: "address", from: place(token.at + 2), to: place(token.end - 1) });
    else if (token.kind === "stars") emphasis(token, levels, addText);
    else addText(token.at, token.end);
  }
  addText(at, text.length);
  return levels[0].children;
}

// Text that goes on is one stretch: signs that mean nothing make no pieces of it.
function addTo(children, node) {
  const last = children.at(-1);
  if (last?.kind === "text" && last.to === node.from) last.to = node.to;
  else children.push(node);
}

function code(text, token, place) {
  let size = 0;
  while (text[token.at + size] === "`") size += 1;
  const pieces = [];
  let from = token.at + size;
  for (const line of text.slice(from, token.end - size).split("\n")) {
    pieces.push({ from: place(from), to: place(from + line.length) });
    from += line.length + 1;
  }
  return { kind: "code", pieces };
}

function emphasis(token, levels, addText) {
  for (const _ of token.closes) {
    const { children, size } = levels.pop();
    levels.at(-1).children.push({ kind: size === 2 ? "strong" : "em", children });
  }
  addText(token.at, token.at + token.spare);
  for (const size of token.opens) levels.push({ children: [], size });
}

// Only matched pairs get into `opens` (outer ones first) and `closes` (inner ones first), so they always nest.
function matchEmphasis(text, tokens) {
  const open = [];
  for (const token of tokens) {
    if (token.kind !== "stars") continue;
    Object.assign(token, { opens: [], closes: [], spare: token.end - token.at });
    if (token.spare > 3) continue;
    const sign = text[token.at];
    const { canOpen, canClose } = flanks(text, token, sign);
    if (canClose) close(open, token, sign);
    if (canOpen) opening(open, token, sign);
  }
}

function close(open, token, sign) {
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

// Three signs are emphasis around strong emphasis.
function opening(open, token, sign) {
  for (const size of { 1: [1], 2: [2], 3: [1, 2] }[token.spare] ?? []) {
    if (open.push({ sign, size, token }) > MOST_OPEN) open.shift();
  }
}

// Chinese and Japanese put no spaces around what they stress, and brackets often stand at its edge: any neighbour but
// a space will do. An underscore inside a word of letters is part of a name.
function flanks(text, token, sign) {
  const before = text[token.at - 1] ?? " ";
  const after = text[token.end] ?? " ";
  const isName = (neighbour) => sign === "_" && IN_WORD.test(neighbour) && !WIDE.test(neighbour);
  return { canOpen: /\S/.test(after) && !isName(before), canClose: /\S/.test(before) && !isName(after) };
}
