// Shows text in the page's own components and looks at what came of it. Loaded by a page with the server's own policy.
import { html, render } from "/static/vendor/preact.js";
import { Answer } from "/static/answer.js";
import { Excerpt } from "/static/reading.js";
import { Feedback } from "/static/feedback.js";
import { Markdown } from "/static/markdown.js";
import { Scores } from "/static/scores.js";
import * as citing from "/static/citing.js";
import * as excerpt from "/static/excerpt.js";
import * as visible from "/static/visible.js";

const ELEMENTS = new Set(
  ("article aside bdi blockquote br button code details div em h3 h4 h5 h6 header hr input label li mark ol p path pre " +
    "section span strong summary svg table tbody td th thead tr ul").split(" "),
);
const ATTRIBUTES = new Set(
  ("autocomplete class d dir disabled fill focusable for height id lang maxlength open placeholder role scope start stroke " +
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

// Everything that is written on the page by others holds the text.
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
  const held = { text: `${text}${text}`, start: 0, end: 99, characters: 99, passage: [0, 30], quote: [0, 20], more() {} };
  render(html`<div>
    <${Answer} answer=${whole} onCite=${onCite} />
    <${Scores} evaluation=${evaluation} score=${0.5} threshold=${0.75} />
    <${Feedback} runId="r" given=${{ thumb: "up", why: text }} />
    <${Excerpt} excerpt=${{ phase: "document", ...held }} language="en" />
    <${Excerpt} excerpt=${{ phase: "passage", ...held, problem: text }} language="en" />
  </div>`, root);
}

// What stands in the page that nobody of ours put there.
function foreign() {
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    if (!ELEMENTS.has(element.localName)) found.push(`<${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (!ATTRIBUTES.has(name) && !name.startsWith("aria-")) found.push(`${element.localName}[${name}]`);
      if (name === "style" && !/^(?:width|left): [\d.]+%;$/.test(value)) found.push(`style="${value}"`);
    }
  }
  return found;
}

// Each text as a draft that grows by one character at a time, then in every place of a finished answer.
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

// Whatever can be clicked leads nowhere.
function clickAll() {
  for (const element of root.querySelectorAll(".md *, .answer-sources button, summary")) element.click();
}

function timed(text) {
  render(null, root);
  const begun = performance.now();
  draft(text);
  return performance.now() - begun;
}

window.stage = { answer, citing, draft, everywhere, excerpt, foreign, markdown, root, seen, staged, timed, visible };
document.title = "ready";
