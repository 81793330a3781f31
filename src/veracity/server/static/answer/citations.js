// The citations of an answer: which passage a number refers to, where the sentences are, and how sources are described.
import { t } from "../lib/i18n.js";
import { readableText } from "../lib/markdown.js";
/** @import { Answer, AnswerSentence, Citation, Evidence, SourceEntry } from "../lib/types.d.ts" */

/** @typedef {{ start: number, end: number, sentence: AnswerSentence }} LocatedSentence */

/** All citations in the order of the text. @param {Answer} answer */
export function listCitations(answer) {
  return (answer.sentences ?? []).flatMap((sentence) => sentence.citations);
}

/** Where each sentence is in the text. Sentences that cannot be found are left out. @param {Answer} answer */
export function locateSentences(answer) {
  /** @type {LocatedSentence[]} */
  const located = [];
  let end = 0;
  for (const sentence of answer.sentences ?? []) {
    const start = sentence.text ? answer.text.indexOf(sentence.text, end) : -1;
    if (start < 0) continue;
    end = start + sentence.text.length;
    located.push({ start, end, sentence });
  }
  return located;
}

/** @param {AnswerSentence} sentence */
export function isUnsupported(sentence) {
  return sentence.states && !sentence.supported;
}

/**
 * The citation for a number in the sentence at an offset: its quote, else the whole passage, or null without a passage.
 * @param {Answer} answer @param {LocatedSentence[]} sentences @param {number} number @param {number} at
 */
export function findCitation(answer, sentences, number, at) {
  const located = sentences.find(({ start, end }) => start <= at && at < end);
  const evidence = answer.evidence?.[number - 1];
  return located?.sentence.citations.find((citation) => citation.number === number)
    ?? (evidence ? citePassage(evidence, number) : null);
}

/** @param {Evidence} evidence @param {number} number @returns {Citation} */
function citePassage(evidence, number) {
  const { id, document_id, start, end } = evidence;
  return { number, evidence_id: id, document_id, quote: "", start, end };
}

/** Each passage with its number and its first citation. @param {Answer} answer @returns {SourceEntry[]} */
export function listSources(answer) {
  /** @type {Map<number, Citation>} */
  const quoted = new Map();
  for (const citation of listCitations(answer)) if (!quoted.has(citation.number)) quoted.set(citation.number, citation);
  /** @param {number} number */
  const quotesOf = (number) => [...new Set(listCitations(answer).flatMap((citation) => (citation.number === number && citation.quote ? [citation.quote] : [])))];
  const cited = new Set([...quoted.keys(), ...(answer.sentences?.length ? [] : numbersIn(answer.text))]);
  return (answer.evidence ?? []).map((evidence, index) => ({
    number: index + 1,
    evidence,
    isCited: cited.has(index + 1),
    quotes: quotesOf(index + 1),
    citation: quoted.get(index + 1) ?? citePassage(evidence, index + 1),
  }));
}

/** @param {string} text */
function numbersIn(text) {
  const marks = [...text.matchAll(/[[［【]([\d\s,，、;；–-]{1,40})[\]］】]/g)];
  return marks.flatMap(([, inside]) => inside.match(/\d{1,3}/g) ?? []).map(Number);
}

/** "Travel › Trains · page 3": where a passage is in its document. @param {Evidence} evidence */
export function describePlace(evidence) {
  const headings = (evidence.headings ?? []).filter((heading) => heading && heading !== evidence.title);
  const page = evidence.page == null ? "" : t("answer.page", { number: evidence.page });
  return [headings.join(" › "), page].filter(Boolean).join(" · ");
}

/** A document's web address, or the end of its path on the server. @param {{ location?: string }} source */
export function shortLocation({ location = "" }) {
  if (!/^(?:[/\\]|[a-z]:[/\\]|file:)/i.test(location)) return location;
  const parts = location.split(/[/\\]+/).filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : parts.join("/");
}

/**
 * Lays the page out anew, and scrolls so that an element stays where it is on the screen and nothing covers it.
 * @param {HTMLElement | null} element
 * @param {() => void} act
 */
export function keepInPlace(element, act) {
  const top = element?.getBoundingClientRect().top ?? 0;
  act();
  requestAnimationFrame(() => { // Preact has rendered
    if (!element?.isConnected) return;
    window.scrollBy({ top: element.getBoundingClientRect().top - top, behavior: "instant" });
    element.scrollIntoView({ block: "nearest", behavior: "instant" });
  });
}

/** The answer as it reads, with a list of its sources, for the clipboard. @param {Answer} answer */
export function toPlainText(answer) {
  const lines = listSources(answer).filter(({ isCited }) => isCited).map(({ number, evidence }) => {
    const parts = [evidence.title, describePlace(evidence), shortLocation(evidence)].filter(Boolean);
    return `[${number}] ${parts.join(" · ")}`;
  });
  return [readableText(answer.text), lines.join("\n")].filter(Boolean).join("\n\n");
}
