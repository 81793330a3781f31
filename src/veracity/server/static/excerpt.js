// A stretch of a document around a quote, loaded from the server, and more of it before and after on request. Places are
// counted in characters (code points), as the server counts them. Knows nothing about how it is shown.
import { useCallback, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { charactersIn, unitsAt } from "./visible.js";

const AROUND = 1500;
const MORE = 4000;
const NOT_KEPT = new Set(["web", "history"]); // what was read there is not kept beyond the passage

// {phase: "loading" | "document" | "passage", text, start, end, characters, passage: [from, to], quote: [from, to] or null,
//  why, problem, isBusy, more(direction)}
export function useExcerpt(citation, passage) {
  const [held, setHeld] = useState({ phase: "loading" });
  useEffect(() => {
    let isWanted = true;
    if (held.phase === "document" && held.id === citation.document_id && holds(held, citation)) {
      setHeld((now) => ({ ...now, ...marked(now, citation, passage) }));
      return undefined;
    }
    setHeld({ phase: "loading" });
    load(citation, passage).then((loaded) => isWanted && setHeld(loaded));
    return () => { isWanted = false; };
  }, [citation, passage]);

  const more = useCallback(async (direction) => {
    setHeld((now) => ({ ...now, isBusy: true, problem: "" }));
    const added = await piece(held, direction);
    setHeld((now) => ({ ...now, ...(now.text === held.text ? added : {}), isBusy: false }));
  }, [held]);
  return { ...held, more };
}

function holds(held, citation) {
  return held.start <= citation.start && citation.end <= held.end;
}

async function load(citation, passage) {
  if (!citation.document_id || NOT_KEPT.has(passage?.source)) return own(citation, passage, passage?.source);
  const start = Math.max(0, citation.start - AROUND);
  try {
    const found = await textOf(citation.document_id, start, citation.end + AROUND);
    const held = { phase: "document", ...found };
    const marks = marked(held, citation, passage);
    return marks.quote || !citation.quote ? { ...held, ...marks } : own(citation, passage, "changed");
  } catch (problem) {
    return problem.status === 404 ? own(citation, passage, "forgotten") : own(citation, passage, "", problem.message);
  }
}

function textOf(id, start, end) {
  return get(`/api/document/text?id=${encodeURIComponent(id)}&start=${start}&end=${end}`);
}

// The passage as it was when the answer was written.
function own(citation, passage, why, problem = "") {
  const text = passage?.text ?? "";
  const start = passage?.start ?? 0;
  const held = { phase: "passage", why, problem, text, start, end: start + charactersIn(text), characters: 0 };
  return { ...held, ...marked(held, citation, null) };
}

// Where the quote stands. A place that does not hold the quote is not believed: it is looked for.
export function marked({ text, start }, citation, passage) {
  const from = unitsAt(text, citation.start - start);
  const isThere = citation.start >= start && text.startsWith(citation.quote, from);
  const at = isThere ? from : text.indexOf(citation.quote);
  const quote = citation.quote && at >= 0 ? placeIn(text, start, at, citation.quote) : null;
  return { quote, passage: passage ? [passage.start, passage.end] : null };
}

function placeIn(text, start, at, quote) {
  const from = start + charactersIn(text.slice(0, at));
  return [from, from + charactersIn(quote)];
}

async function piece(held, direction) {
  const isEarlier = direction === "earlier";
  const [from, to] = isEarlier ? [Math.max(0, held.start - MORE), held.start] : [held.end, held.end + MORE];
  try {
    const { text, start, end } = await textOf(held.id, from, to);
    return isEarlier ? { text: text + held.text, start } : { text: held.text + text, end };
  } catch (problem) {
    return { problem: problem.message };
  }
}

// The text cut where the passage and the quote begin and end: [{text, isPassage, isQuote}].
export function cut({ text, start, passage, quote }) {
  const places = [...(passage ?? []), ...(quote ?? [])].map((at) => unitsAt(text, at - start));
  const edges = [...new Set([0, ...places, text.length])].sort((one, other) => one - other);
  const inside = (range, at) => range !== null && range !== undefined &&
    unitsAt(text, range[0] - start) <= at && at < unitsAt(text, range[1] - start);
  return edges.slice(0, -1).map((from, index) => ({
    text: text.slice(from, edges[index + 1]),
    isPassage: inside(passage, from),
    isQuote: inside(quote, from),
  }));
}
