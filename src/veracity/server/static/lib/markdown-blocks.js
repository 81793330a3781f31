// Parses Markdown into blocks: paragraphs, headings, lists, quotes, code, tables and rules. Anything else, HTML included,
// is a paragraph. Lines are [from, to] ranges of the source, and markdown-inlines.js parses what they contain.
//
// Each line is read once per list or quote around it, and their nesting is capped, so the time is linear.

/**
 * @typedef {[from: number, to: number]} Line
 * @typedef {{ kind: "paragraph", lines: Line[] } | { kind: "heading", level: number, lines: Line[] } | { kind: "rule" }
 *   | { kind: "code", lines: Line[] } | { kind: "quote", blocks: Block[] }
 *   | { kind: "list", isOrdered: boolean, start: number, items: Block[][] }
 *   | { kind: "table", head: Line[], rows: Line[][] }} Block
 * @typedef {(source: string, lines: Line[], at: number, depth: number) => [Block, number]} BlockParser
 *   which returns the block and the index of the line after it
 */

const MAX_DEPTH = 8;
const MAX_COLUMNS = 60;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)/;
const DELIMITER = /^\s*:?-+:?\s*$/;

/** `isPart`: rows at the beginning belong to a table whose names were cut off. @param {string} source */
export function parseBlocks(source, isPart = false) {
  /** @type {Line[]} */
  const lines = [];
  for (let from = 0; from <= source.length; ) {
    const end = source.indexOf("\n", from);
    const to = end < 0 ? source.length : end;
    lines.push([from, to > from && source[to - 1] === "\r" ? to - 1 : to]);
    from = to + 1;
  }
  const rows = isPart ? leadingRows(source, lines) : [];
  const rest = parseLines(source, rows.length ? lines.slice(lines.indexOf(rows[rows.length - 1]) + 1) : lines, 0);
  return rows.length ? [toTable(source, [], rows), ...rest] : rest;
}

/** The rows at the beginning of the text, unless they are a whole table. @param {string} source @param {Line[]} lines */
function leadingRows(source, lines) {
  const first = lines.findIndex((line) => source.slice(...line).trim());
  if (first < 0 || isTable(source, lines, first)) return [];
  const end = lines.findIndex((line, index) => index >= first && !/^\s*\|.*\|\s*$/.test(source.slice(...line)));
  return lines.slice(first, end < 0 ? lines.length : end);
}

/** @param {string} source @param {Line[]} lines @param {number} depth */
function parseLines(source, lines, depth) {
  /** @type {Block[]} */
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (!source.slice(...lines[at]).trim()) {
      at += 1;
      continue;
    }
    const [block, next] = chooseParser(source, lines, at, depth)(source, lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** @param {string} source @param {Line[]} lines @param {number} at @param {number} depth */
function chooseParser(source, lines, at, depth) {
  const line = source.slice(...lines[at]);
  if (FENCE.test(line)) return parseCode;
  if (HEADING.test(line)) return parseHeading;
  if (RULE.test(line)) return parseRule;
  if (depth < MAX_DEPTH && QUOTE.test(line)) return parseQuote;
  if (depth < MAX_DEPTH && ITEM.test(line)) return parseList;
  if (isTable(source, lines, at)) return parseTable;
  return parseParagraph;
}

/**
 * Whether a line ends a paragraph without an empty line. Only a list starting at 1 does: "2024. …" may continue a sentence.
 * @param {string} line
 * @param {number} depth
 */
function interrupts(line, depth) {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  if (depth >= MAX_DEPTH) return false;
  const item = ITEM.exec(line);
  return QUOTE.test(line) || (item !== null && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1));
}

/** @type {BlockParser} */
function parseParagraph(source, lines, at, depth) {
  let next = at + 1;
  while (next < lines.length) {
    const line = source.slice(...lines[next]);
    if (!line.trim() || interrupts(line, depth) || isTable(source, lines, next)) break;
    next += 1;
  }
  return [{ kind: "paragraph", lines: lines.slice(at, next).map((line) => trim(source, line)) }, next];
}

/** @type {BlockParser} */
function parseHeading(source, lines, at) {
  const line = source.slice(...lines[at]);
  const [opening, signs] = /** @type {RegExpExecArray} */ (HEADING.exec(line));
  const [from, to] = trim(source, [lines[at][0] + opening.length, lines[at][1]]);
  let end = to;
  while (end > from && source[end - 1] === "#") end -= 1;
  const isClosed = end < to && (end === from || /\s/.test(source[end - 1]));
  return [{ kind: "heading", level: signs.length, lines: [trim(source, [from, isClosed ? end : to])] }, at + 1];
}

/** @type {BlockParser} */
function parseRule(_source, _lines, at) {
  return [{ kind: "rule" }, at + 1];
}

/** @type {BlockParser} */
function parseCode(source, lines, at) {
  const [, fence] = /** @type {RegExpExecArray} */ (FENCE.exec(source.slice(...lines[at])));
  let next = at + 1;
  while (next < lines.length && !isClosingFence(source.slice(...lines[next]), fence)) next += 1;
  return [{ kind: "code", lines: lines.slice(at + 1, next) }, next + 1];
}

/** @param {string} line @param {string} fence */
function isClosingFence(line, fence) {
  const trimmed = line.trim();
  return trimmed.length >= fence.length && trimmed === fence[0].repeat(trimmed.length);
}

/** @type {BlockParser} */
function parseQuote(source, lines, at, depth) {
  /** @type {Line[]} */
  const inside = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const opening = QUOTE.exec(source.slice(...lines[next]));
    if (!opening) break;
    inside.push([lines[next][0] + opening[0].length, lines[next][1]]);
  }
  return [{ kind: "quote", blocks: parseLines(source, inside, depth + 1) }, next];
}

/** @type {BlockParser} */
function parseList(source, lines, at, depth) {
  const [, , marker] = /** @type {RegExpExecArray} */ (ITEM.exec(source.slice(...lines[at])));
  const isOrdered = /\d/.test(marker);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(source.slice(...lines[next]));
    if (!item || /\d/.test(item[2]) !== isOrdered || RULE.test(source.slice(...lines[next]))) break;
    const [inside, after] = itemLines(source, lines, next, item, depth);
    items.push(parseLines(source, inside, depth + 1));
    next = after;
  }
  return [{ kind: "list", isOrdered, start: isOrdered ? parseInt(marker, 10) : 1, items }, next];
}

/**
 * The lines of an item: those indented by two or more, and those that continue its text. Empty lines count if more follows.
 * @param {string} source @param {Line[]} lines @param {number} at @param {RegExpExecArray} match @param {number} depth
 * @returns {[Line[], number]}
 */
function itemLines(source, lines, at, [opening, indent], depth) {
  /** @type {Line[]} */
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

/** A row of names and, below it, a row of dashes. @param {string} source @param {Line[]} lines @param {number} at */
function isTable(source, lines, at) {
  if (at + 1 >= lines.length) return false;
  const [head, below] = [source.slice(...lines[at]), source.slice(...lines[at + 1])];
  if (!head.includes("|") || !below.includes("-") || !below.includes("|")) return false;
  return isDelimiter(below);
}

/** Whether a line is a row of dashes. @param {string} line */
function isDelimiter(line) {
  const columns = line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return columns.length <= MAX_COLUMNS && columns.every((column) => DELIMITER.test(column));
}

/** @type {BlockParser} */
function parseTable(source, lines, at) {
  let next = at + 2;
  while (next < lines.length && source.slice(...lines[next]).includes("|")) next += 1;
  return [toTable(source, [lines[at]], lines.slice(at + 2, next)), next];
}

/** @param {string} source @param {Line[]} head none or one @param {Line[]} lines @returns {Block} */
function toTable(source, head, lines) {
  const row = (/** @type {Line} */ line) => cells(source, line).slice(0, MAX_COLUMNS);
  return { kind: "table", head: head.flatMap(row), rows: lines.filter((line) => head.length || !isDelimiter(source.slice(...line))).map(row) };
}

/** @param {string} source @param {Line} line */
function cells(source, line) {
  let [from, to] = trim(source, line);
  if (source[from] === "|") from += 1;
  if (to > from && source[to - 1] === "|" && source[to - 2] !== "\\") to -= 1;
  const found = [];
  for (let at = from; at <= to; at += 1) {
    if (at < to && (source[at] !== "|" || source[at - 1] === "\\")) continue;
    found.push(trim(source, [from, at]));
    from = at + 1;
  }
  return found;
}

/** @param {string} source @param {Line} line @returns {Line} */
function trim(source, [from, to]) {
  const line = source.slice(from, to);
  const begin = from + line.length - line.trimStart().length;
  return [begin, Math.max(begin, from + line.trimEnd().length)];
}
