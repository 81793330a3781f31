// The text of a document, or a part of it: Markdown is rendered, other text is shown line by line.
import { html } from "../lib/preact.js";
import { Markdown, PlainText } from "../lib/markdown.js";
/** @import { Mark } from "../lib/types.d.ts" */

// A heading, a row of a table, an item of a list, a quote or bold text.
const SYNTAX = /^ {0,3}(?:#{1,6} \S|\|.*\|\s*$|[-*+] \S|> \S)|\*\*\S/m;

/**
 * `isMarkdown` is what the server says about a document. Of a passage without its document only the text is known.
 * @param {{ text: string, isMarkdown?: boolean, language?: string | null, marks?: Mark[], className?: string }} props
 */
export function SourceText({ text, isMarkdown = SYNTAX.test(text), language, marks, className = "" }) {
  return html`<div class=${`source-text ${className}`} lang=${language || undefined}>${isMarkdown
    ? html`<${Markdown} text=${text} marks=${marks} isPart=${true} />`
    : html`<div class="source-plain" dir="auto"><${PlainText} text=${text} marks=${marks} /></div>`}</div>`;
}
