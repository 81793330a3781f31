// Renders text with the page's components and inspects the result, under the server's Content-Security-Policy.
import { html, render } from "/static/lib/preact.js";
import { Answer } from "/static/answer/answer.js";
import { Excerpt, locateQuote, markExcerpt } from "/static/answer/excerpt.js";
import { Preview } from "/static/answer/cite.js";
import { Feedback } from "/static/answer/feedback.js";
import { Markdown } from "/static/lib/markdown.js";
import { Scores } from "/static/answer/scores.js";
import { SourceText } from "/static/answer/source-text.js";

const ELEMENTS = new Set(
  ("article aside bdi blockquote br button code details div em h3 h4 h5 h6 header hr input label li mark ol p path pre q " +
    "section span strong summary svg table tbody td th thead tr ul").split(" "),
);
const ATTRIBUTES = new Set(
  ("autocomplete class d data-tone dir disabled fill focusable for height id lang maxlength open placeholder popover role scope start stroke " +
    "stroke-linecap stroke-linejoin stroke-width style tabindex title type value viewBox width").split(" "),
);
const root = document.getElementById("root");
const seen = { ran: 0, violations: [], cited: [] };
window.canary = () => { seen.ran += 1; };
document.addEventListener("securitypolicyviolation", (event) => seen.violations.push(event.violatedDirective));

const onCite = (citation) => seen.cited.push(citation);

function draft(text) {
  render(html`<${Answer} answer=${{ text }} isDraft=${true} onCite=${onCite} />`, root);
}

function answer(value) {
  render(html`<${Answer} answer=${value} onCite=${onCite} />`, root);
}

function markdown(text, marks) {
  render(html`<${Markdown} text=${text} marks=${marks} />`, root);
  return root.firstElementChild.innerHTML;
}

// Puts the text in every place that others can write to.
function everywhere(text) {
  const evidence = {
    id: "1", text, source: text, document_id: "d", title: text, location: text, headings: [text], page: 3, start: 0,
    end: [...text].length, language: "en", metadata: { relevance_score: 0.5, found_by: [text] },
  };
  const citation = { number: 1, evidence_id: "1", document_id: "d", quote: text.slice(0, 20), start: 0, end: 20 };
  const sentence = { text, states: true, supported: false, support: 0, citations: [citation], unresolved: [] };
  const whole = {
    run_id: "r", status: "abstained", question: text, text: `${text} [1][2]`, form: text, language: "en", sentences: [sentence],
    evidence: [evidence], missing: [`${text}.`], notices: [{ code: "unsupported", text }, { code: text, text }],
  };
  const metric = { metric_name: text, score: 50, evaluator_comment: text, weight: 0.5, model: text, spread: 3 };
  const evaluation = { metrics: [metric], overall_score: 50, warnings: [text] };
  const held = { text: `${text}${text}`, start: 0, end: 99, characters: 99, passage: [0, 30], quote: [0, 20], loadMore() {} };
  render(html`<div>
    <${Answer} answer=${whole} onCite=${onCite} />
    <${Scores} evaluation=${evaluation} score=${0.5} threshold=${0.75} />
    <${Feedback} runId="r" given=${{ thumb: "up", why: text }} />
    <${Excerpt} excerpt=${{ phase: "document", ...held }} language="en" />
    <${Excerpt} excerpt=${{ phase: "document", markdown: true, ...held }} language="en" />
    <${Excerpt} excerpt=${{ phase: "document", markdown: false, ...held }} language="en" />
    <${SourceText} text=${`| a |\n${text}\n| ${text} |`} language=${text} isMarkdown=${true} />
    <${Preview} id="p" title=${text} citation=${citation} evidence=${evidence} anchor=${{ current: root }} />
    <${Excerpt} excerpt=${{ phase: "passage", ...held, problem: text }} language="en" />
  </div>`, root);
}

// Elements and attributes that the components do not create.
function foreign() {
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    if (!ELEMENTS.has(element.localName)) found.push(`<${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (!ATTRIBUTES.has(name) && !name.startsWith("aria-")) found.push(`${element.localName}[${name}]`);
      if (name === "style" && !/^(?:width|left): [\d.]+%;$|^left: [\d.]+px; top: [\d.]+px;$/.test(value)) found.push(`style="${value}"`);
    }
  }
  return found;
}

// Renders each text as a draft that grows by one character at a time, then in every place of a finished answer.
function staged(texts) {
  const problems = [];
  let renders = 0;
  const look = (text, at) => {
    renders += 1;
    for (const problem of foreign()) problems.push({ text, at, problem });
  };
  for (const text of texts) {
    render(null, root);
    for (let at = 1; at <= text.length; at += 1) {
      draft(text.slice(0, at));
      look(text, at);
    }
    everywhere(text);
    look(text, -1);
    clickAll();
    look(text, -2);
  }
  return { problems, renders };
}

// Clicks must lead nowhere.
function clickAll() {
  for (const element of root.querySelectorAll(".md *, .answer-sources button, summary")) element.click();
}

function timed(text) {
  render(null, root);
  const begun = performance.now();
  draft(text);
  const held = { text, start: 0, end: text.length, characters: text.length, passage: [9, 99], quote: [20, 40] };
  render(html`<${Excerpt} excerpt=${{ phase: "document", markdown: true, ...held }} />`, root);
  return performance.now() - begun;
}

window.stage = { answer, draft, everywhere, foreign, locateQuote, markdown, markExcerpt, root, seen, staged, timed };
document.title = "ready";
