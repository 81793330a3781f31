// Markdown as elements of the page: `<${Markdown} text=${…} marks=${…} cite=${…} />`. Text goes in as text, never as
// HTML; links, addresses and images are shown as what they say, and lead nowhere. Knows nothing about answers.
//
// The direction of each paragraph is left to the style sheet: dir="auto" looks at all of an element's text again whenever a
// child is added, which is quadratic for a text of digits alone.
//
// `marks` are stretches of the text, sorted and apart: {start, end, className, title, label}. `cite(number, at)` gives the
// element for a number of a citation mark that stands at that place; without it the mark stays text.
import { html, useMemo } from "./vendor/preact.js";
import { blocks } from "./blocks.js";
import { inlines } from "./inlines.js";
import { visible } from "./visible.js";

const HEADINGS = ["h3", "h4", "h5", "h6", "h6", "h6"]; // the page's own headings stand above those of a text

export function Markdown({ text, marks = [], cite }) {
  const tree = useMemo(() => blocks(text), [text]);
  const context = { source: text, marking: marking(marks), cite };
  return html`<div class="md">${tree.map((block) => blockElement(block, context))}</div>`;
}

const BLOCKS = {
  paragraph: (block, context) => html`<p>${lines(block.lines, context)}</p>`,
  heading: (block, context) => html`<${HEADINGS[block.level - 1]}>${lines(block.lines, context)}<//>`,
  rule: () => html`<hr />`,
  quote: (block, context) =>
    html`<blockquote>${block.blocks.map((inner) => blockElement(inner, context))}</blockquote>`,
  list: listElement,
  code: codeElement,
  table: tableElement,
};

function blockElement(block, context) {
  return BLOCKS[block.kind](block, context);
}

function listElement({ isOrdered, start, items }, context) {
  const inside = items.map((item) => html`<li>${item.map((block) => blockElement(block, context))}</li>`);
  return isOrdered ? html`<ol start=${start}>${inside}</ol>` : html`<ul>${inside}</ul>`;
}

function codeElement(block, context) {
  const inside = block.lines.map(([from, to], index) => [index ? "\n" : "", leaf(from, to, context)]);
  return html`<pre tabindex="0"><code dir="ltr">${inside}</code></pre>`;
}

function tableElement({ head, rows }, context) {
  const names = head.map((cell) => html`<th scope="col">${lines([cell], context)}</th>`);
  const body = rows.map((row) => html`<tr>${row.map((cell) => html`<td>${lines([cell], context)}</td>`)}</tr>`);
  return html`<div class="md-scroll" tabindex="0">
    <table><thead><tr>${names}</tr></thead><tbody>${body}</tbody></table>
  </div>`;
}

function lines(slices, context) {
  return inlines(context.source, slices).map((node) => inlineElement(node, context));
}

const INLINES = {
  text: ({ from, to }, context) => leaf(from, to, context),
  break: () => html`<br />`,
  strong: ({ children }, context) => html`<strong>${children.map((node) => inlineElement(node, context))}</strong>`,
  em: ({ children }, context) => html`<em>${children.map((node) => inlineElement(node, context))}</em>`,
  code: ({ pieces }, context) =>
    html`<code dir="ltr">${pieces.map(({ from, to }, index) => [index ? " " : "", leaf(from, to, context)])}</code>`,
  address: ({ from, to }, context) => html`<span class="md-address"> (${leaf(from, to, context)})</span>`,
  cite: citeElement,
};

function inlineElement(node, context) {
  return INLINES[node.kind](node, context);
}

// Each number of a mark is for the caller to show; brackets go with it, other signs between numbers stay.
function citeElement({ from, to }, context) {
  if (!context.cite) return leaf(from, to, context);
  const pieces = context.source.slice(from + 1, to - 1).split(/(\d+)/);
  const shown = pieces.map((piece) => (/\d/.test(piece) ? context.cite(parseInt(piece, 10), from) : visible(piece)));
  return html`<span class="md-cite">${shown}</span>`;
}

// A stretch of text, split where marks begin and end. Leaves come in the order of the source.
function leaf(from, to, context) {
  return context.marking(from, to).map(([start, end, mark, isFirst]) => {
    const said = visible(context.source.slice(start, end));
    if (!mark) return said;
    const label = isFirst ? html`<span class="visually-hidden">${mark.label}</span>` : null;
    return html`<span class=${mark.className} title=${mark.title}>${label}${said}</span>`;
  });
}

function marking(marks) {
  let next = 0;
  let begun = -1;
  return (from, to) => {
    const pieces = [];
    while (from < to) {
      while (next < marks.length && marks[next].end <= from) next += 1;
      const mark = marks[next];
      if (!mark || mark.start >= to) return [...pieces, [from, to, null, false]];
      if (mark.start > from) pieces.push([from, mark.start, null, false]);
      const start = Math.max(from, mark.start);
      const end = Math.min(to, mark.end);
      pieces.push([start, end, mark, begun !== next]);
      begun = next;
      from = end;
    }
    return pieces;
  };
}
