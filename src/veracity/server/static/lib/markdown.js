// Renders Markdown. Text becomes text nodes, never HTML; links, addresses and images appear as text and lead nowhere.
//
// The style sheet sets the direction of paragraphs: dir="auto" rescans an element's whole text whenever a child is added,
// which is quadratic for a text of digits.
import { html, useMemo } from "./preact.js";
import { parseBlocks } from "./markdown-blocks.js";
import { parseInlines } from "./markdown-inlines.js";
import { printable } from "./text.js";
/** @import { ComponentChildren } from "./preact.js" */
/** @import { Block, Line } from "./markdown-blocks.js" */
/** @import { Inline } from "./markdown-inlines.js" */
/** @import { Mark } from "./types.d.ts" */

/**
 * @typedef {(number: number, at: number) => ComponentChildren} Cite renders a number of a citation mark at an offset
 * @typedef {[from: number, to: number, mark: Mark | null, isFirst: boolean]} Piece
 * @typedef {{ source: string, split: (from: number, to: number) => Piece[], cite?: Cite }} Context
 */

const HEADINGS = ["h3", "h4", "h5", "h6", "h6", "h6"]; // below the headings of the page

/**
 * Without `cite`, citation marks stay text. `marks` must be sorted and must not overlap. `isPart`: the text may begin
 * within a table.
 * @param {{ text: string, marks?: Mark[], cite?: Cite, isPart?: boolean }} props
 */
export function Markdown({ text, marks = [], cite, isPart = false }) {
  const tree = useMemo(() => parseBlocks(text, isPart), [text, isPart]);
  const context = { source: text, split: markSplitter(marks), cite };
  return html`<div class="md">${tree.map((block) => renderBlock(block, context))}</div>`;
}

/** Text that is not Markdown, with marks. @param {{ text: string, marks?: Mark[] }} props */
export function PlainText({ text, marks = [] }) {
  return html`${renderText(0, text.length, { source: text, split: markSplitter(marks) })}`;
}

/** @param {Block} block @param {Context} context @returns {ComponentChildren} */
function renderBlock(block, context) {
  switch (block.kind) {
    case "paragraph": return html`<p>${renderLines(block.lines, context)}</p>`;
    case "heading": return html`<${HEADINGS[block.level - 1]}>${renderLines(block.lines, context)}<//>`;
    case "rule": return html`<hr />`;
    case "quote": return html`<blockquote>${block.blocks.map((inner) => renderBlock(inner, context))}</blockquote>`;
    case "list": {
      const items = block.items.map((item) => html`<li>${item.map((inner) => renderBlock(inner, context))}</li>`);
      return block.isOrdered ? html`<ol start=${block.start}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "code": {
      const lines = block.lines.map(([from, to], index) => [index ? "\n" : "", renderText(from, to, context)]);
      return html`<pre tabindex="0"><code dir="ltr">${lines}</code></pre>`;
    }
    case "table": {
      const head = block.head.map((cell) => html`<th scope="col">${renderLines([cell], context)}</th>`);
      const rows = block.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${renderLines([cell], context)}</td>`)}</tr>`);
      return html`<div class="md-scroll" tabindex="0">
        <table>${head.length ? html`<thead><tr>${head}</tr></thead>` : null}<tbody>${rows}</tbody></table>
      </div>`;
    }
  }
}

/** @param {Line[]} lines @param {Context} context */
function renderLines(lines, context) {
  return renderInlines(parseInlines(context.source, lines), context);
}

/** @param {Inline[]} nodes @param {Context} context @returns {ComponentChildren} */
function renderInlines(nodes, context) {
  return nodes.map((node, index) => renderInline(node, context, Boolean(context.cite) && nodes[index + 1]?.kind === "cite"));
}

/** @param {Inline} node @param {Context} context @param {boolean} isCited @returns {ComponentChildren} */
function renderInline(node, context, isCited) {
  switch (node.kind) {
    case "text": return renderText(node.from, node.to, context, isCited);
    case "break": return html`<br />`;
    case "strong": return html`<strong>${renderInlines(node.children, context)}</strong>`;
    case "em": return html`<em>${renderInlines(node.children, context)}</em>`;
    case "code":
      return html`<code dir="ltr">${node.pieces.map(({ from, to }, index) => [index ? " " : "", renderText(from, to, context)])}</code>`;
    case "address": return html`<span class="md-address"> (${renderText(node.from, node.to, context)})</span>`;
    case "cite": return renderCitation(node.from, node.to, context);
  }
}

/**
 * Renders each number of a mark with `cite`, without the brackets.
 * @param {number} from
 * @param {number} to
 * @param {Context} context
 */
function renderCitation(from, to, context) {
  const { cite, source } = context;
  if (!cite) return renderText(from, to, context);
  const pieces = source.slice(from + 1, to - 1).split(/(\d+)/);
  return html`<span class="md-cite">${pieces.map((piece) => (/\d/.test(piece) ? cite(parseInt(piece, 10), from) : printable(piece)))}</span>`;
}

/**
 * A space before a citation does not break the line: the citation stays with its word.
 * @param {number} from @param {number} to @param {Context} context @param {boolean} [isCited]
 * @returns {ComponentChildren}
 */
function renderText(from, to, context, isCited = false) {
  return context.split(from, to).map(([start, end, mark, isFirst]) => {
    const text = printable(isCited && end === to ? context.source.slice(start, end).replace(/[ \t]$/, "\u00a0") : context.source.slice(start, end));
    if (!mark) return text;
    const label = isFirst && mark.label ? html`<span class="visually-hidden">${mark.label}</span>` : null;
    return html`<${mark.tag ?? "span"} class=${mark.className} title=${mark.title}>${label}${text}<//>`;
  });
}

/**
 * Returns a function that splits text where marks start and end. Must be called in the order of the source.
 * @param {Mark[]} marks
 */
function markSplitter(marks) {
  let next = 0;
  let started = -1;
  return (/** @type {number} */ from, /** @type {number} */ to) => {
    /** @type {Piece[]} */
    const pieces = [];
    while (from < to) {
      while (next < marks.length && marks[next].end <= from) next += 1;
      const mark = marks[next];
      if (!mark || mark.start >= to) {
        pieces.push([from, to, null, false]);
        break;
      }
      if (mark.start > from) pieces.push([from, mark.start, null, false]);
      const end = Math.min(to, mark.end);
      pieces.push([Math.max(from, mark.start), end, mark, started !== next]);
      started = next;
      from = end;
    }
    return pieces;
  };
}

/** The text as it reads when it is rendered, for the clipboard and for excerpts. @param {string} source */
export function readableText(source) {
  return parseBlocks(source).map((block) => blockText(block, source, "")).filter(Boolean).join("\n\n");
}

/** @param {Block} block @param {string} source @param {string} indent @returns {string} */
function blockText(block, source, indent) {
  const inner = (/** @type {Block[]} */ blocks) => blocks.map((one) => blockText(one, source, `${indent}  `)).join("\n");
  const line = (/** @type {Line[]} */ lines) => parseInlines(source, lines).map((node) => inlineText(node, source)).join("");
  switch (block.kind) {
    case "rule": return "";
    case "quote": return inner(block.blocks);
    case "code": return block.lines.map(([from, to]) => source.slice(from, to)).join("\n");
    case "table": return [block.head, ...block.rows].map((row) => row.map((cell) => line([cell])).join(" · ")).join("\n");
    case "list":
      return block.items.map((item, index) => `${indent}${block.isOrdered ? `${block.start + index}.` : "•"} ${inner(item)}`).join("\n");
    default: return line(block.lines);
  }
}

/** @param {Inline} node @param {string} source @returns {string} */
function inlineText(node, source) {
  switch (node.kind) {
    case "break": return "\n";
    case "code": return node.pieces.map(({ from, to }) => source.slice(from, to)).join(" ");
    case "address": return ` (${source.slice(node.from, node.to)})`;
    case "strong": case "em": return node.children.map((child) => inlineText(child, source)).join("");
    default: return source.slice(node.from, node.to);
  }
}
