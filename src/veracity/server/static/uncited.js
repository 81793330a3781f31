// The sentences of a text that carry no mark such as [1]. A hint while somebody types: the server decides what counts.
import { language } from "./i18n.js";

const MARK = String.raw`[\[［【]\s*\d{1,3}(?:\s*[,，、;；–-]\s*\d{1,3})*\s*[\]］】]`;
const MARKED = new RegExp(MARK);
const BEHIND = new RegExp(String.raw`([.!?。！？…]+["'”’»)）」』]*)((?:\s*${MARK})+)`, "g"); // a mark behind the stop
const NO_STATEMENT = /^#{1,6}\s|[:：]$|[?？]$/; // a heading, what announces a list, a question
const ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)、])\s+/;
const WORD = /\p{L}{2}/u;

export function uncited(text) {
  const segmenter = new Intl.Segmenter(language(), { granularity: "sentence" });
  const lines = text.split(/\n+/).map((line) => line.replace(ITEM, "").replace(BEHIND, "$2$1"));
  return lines.flatMap((line) => [...segmenter.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => WORD.test(sentence) && !MARKED.test(sentence) && !NO_STATEMENT.test(sentence));
}
