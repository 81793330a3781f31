// The blocks of a Markdown text: paragraphs, headings, lists, quotes, code, tables, rules; all else is a paragraph, HTML
// included. Gives a tree of plain objects; `lines` are [from, to] places in the source. Knows nothing about what stands
// inside a line, and nothing about pages.
//
// Every line is looked at once for each list or quote it stands in, and those are capped: the time is linear.

const DEEPEST = 8;
const MOST_COLUMNS = 60;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)/;
const DELIMITER = /^\s*:?-+:?\s*$/;

export function blocks(source) {
  const lines = [];
  for (let from = 0; from <= source.length; ) {
    const end = source.indexOf("\n", from);
    const to = end < 0 ? source.length : end;
    lines.push([from, to > from && source[to - 1] === "\r" ? to - 1 : to]);
    from = to + 1;
  }
  return parsed(source, lines, 0);
}

function parsed(source, lines, depth) {
  const found = [];
  for (let at = 0; at < lines.length; ) {
    if (!source.slice(...lines[at]).trim()) {
      at += 1;
      continue;
    }
    const [block, next] = readerOf(source, lines, at, depth)(source, lines, at, depth);
    found.push(block);
    at = next;
  }
  return found;
}

function readerOf(source, lines, at, depth) {
  const line = source.slice(...lines[at]);
  if (FENCE.test(line)) return readCode;
  if (HEADING.test(line)) return readHeading;
  if (RULE.test(line)) return readRule;
  if (depth < DEEPEST && QUOTE.test(line)) return readQuote;
  if (depth < DEEPEST && ITEM.test(line)) return readList;
  if (isTable(source, lines, at)) return readTable;
  return readParagraph;
}

// What ends a paragraph without an empty line. A number does so only where a list begins: "2024. …" may go on a line.
function interrupts(line, depth) {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  if (depth >= DEEPEST) return false;
  const item = ITEM.exec(line);
  return QUOTE.test(line) || (item !== null && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1));
}

function readParagraph(source, lines, at, depth) {
  let next = at + 1;
  while (next < lines.length) {
    const line = source.slice(...lines[next]);
    if (!line.trim() || interrupts(line, depth) || isTable(source, lines, next)) break;
    next += 1;
  }
  return [{ kind: "paragraph", lines: lines.slice(at, next).map((line) => trimmed(source, line)) }, next];
}

function readHeading(source, lines, at) {
  const line = source.slice(...lines[at]);
  const [opening, signs] = HEADING.exec(line);
  const [from, to] = trimmed(source, [lines[at][0] + opening.length, lines[at][1]]);
  let end = to;
  while (end > from && source[end - 1] === "#") end -= 1;
  const isClosed = end < to && (end === from || /\s/.test(source[end - 1]));
  return [{ kind: "heading", level: signs.length, lines: [trimmed(source, [from, isClosed ? end : to])] }, at + 1];
}

function readRule(source, lines, at) {
  return [{ kind: "rule" }, at + 1];
}

function readCode(source, lines, at) {
  const [, fence] = FENCE.exec(source.slice(...lines[at]));
  let next = at + 1;
  while (next < lines.length && !closes(source.slice(...lines[next]), fence)) next += 1;
  return [{ kind: "code", lines: lines.slice(at + 1, next) }, next + 1];
}

function closes(line, fence) {
  const bare = line.trim();
  return bare.length >= fence.length && bare === fence[0].repeat(bare.length);
}

function readQuote(source, lines, at, depth) {
  const inside = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const opening = QUOTE.exec(source.slice(...lines[next]));
    if (!opening) break;
    inside.push([lines[next][0] + opening[0].length, lines[next][1]]);
  }
  return [{ kind: "quote", blocks: parsed(source, inside, depth + 1) }, next];
}

function readList(source, lines, at, depth) {
  const [, , marker] = ITEM.exec(source.slice(...lines[at]));
  const isOrdered = /\d/.test(marker);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(source.slice(...lines[next]));
    if (!item || /\d/.test(item[2]) !== isOrdered || RULE.test(source.slice(...lines[next]))) break;
    const [inside, after] = itemLines(source, lines, next, item, depth);
    items.push(parsed(source, inside, depth + 1));
    next = after;
  }
  return [{ kind: "list", isOrdered, start: isOrdered ? parseInt(marker, 10) : 1, items }, next];
}

// The lines of an item: those set in by two or more, and those that simply go on. Empty lines count where more follows.
function itemLines(source, lines, at, [opening, indent], depth) {
  const inside = [[lines[at][0] + opening.length, lines[at][1]]];
  let next = at + 1;
  let hasEmpty = false;
  for (let ahead = next; ahead < lines.length; ahead += 1) {
    const line = source.slice(...lines[ahead]);
    if (!line.trim()) {
      hasEmpty = true;
      continue;
    }
    const inset = line.length - line.trimStart().length;
    const isInside = inset >= indent.length + 2;
    if (!isInside && (hasEmpty || ITEM.test(line) || interrupts(line, depth))) break;
    for (; next < ahead; next += 1) inside.push([lines[next][1], lines[next][1]]);
    inside.push([lines[ahead][0] + Math.min(inset, opening.length), lines[ahead][1]]);
    next = ahead + 1;
    hasEmpty = false;
  }
  while (hasEmpty && next < lines.length && !source.slice(...lines[next]).trim()) next += 1;
  return [inside, next];
}

// A row of names and, under it, a row of dashes.
function isTable(source, lines, at) {
  if (at + 1 >= lines.length) return false;
  const [head, below] = [source.slice(...lines[at]), source.slice(...lines[at + 1])];
  if (!head.includes("|") || !below.includes("-") || !below.includes("|")) return false;
  const columns = below.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return columns.length <= MOST_COLUMNS && columns.every((column) => DELIMITER.test(column));
}

function readTable(source, lines, at) {
  let next = at + 2;
  while (next < lines.length && source.slice(...lines[next]).includes("|")) next += 1;
  const head = cells(source, lines[at]).slice(0, MOST_COLUMNS);
  const rows = lines.slice(at + 2, next).map((line) => cells(source, line).slice(0, MOST_COLUMNS));
  return [{ kind: "table", head, rows }, next];
}

function cells(source, line) {
  let [from, to] = trimmed(source, line);
  if (source[from] === "|") from += 1;
  if (to > from && source[to - 1] === "|" && source[to - 2] !== "\\") to -= 1;
  const found = [];
  for (let at = from; at <= to; at += 1) {
    if (at < to && (source[at] !== "|" || source[at - 1] === "\\")) continue;
    found.push(trimmed(source, [from, at]));
    from = at + 1;
  }
  return found;
}

function trimmed(source, [from, to]) {
  const line = source.slice(from, to);
  const begin = from + line.length - line.trimStart().length;
  return [begin, Math.max(begin, from + line.trimEnd().length)];
}
