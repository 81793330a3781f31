// Which citation a number in an answer stands for, and where the sentences of an answer are. Knows nothing about pages.

// Every citation of an answer in the order of its text: what Source can step through.
export function citationsOf(answer) {
  return (answer.sentences ?? []).flatMap((sentence) => sentence.citations);
}

// Where each sentence stands in the text. One that cannot be found is left out.
export function placed(answer) {
  const found = [];
  let at = 0;
  for (const sentence of answer.sentences ?? []) {
    const start = sentence.text ? answer.text.indexOf(sentence.text, at) : -1;
    if (start < 0) continue;
    at = start + sentence.text.length;
    found.push({ start, end: at, sentence });
  }
  return found;
}

export function isDoubtful(sentence) {
  return sentence.states && !sentence.supported;
}

// The citation that a number stands for in the sentence around `at`. Where that sentence quotes nothing under the number,
// it is the whole passage; null where there is no such passage.
export function citationAt(answer, places, number, at) {
  const place = places.find(({ start, end }) => start <= at && at < end);
  const quoted = place?.sentence.citations.find((citation) => citation.number === number);
  return quoted ?? passageCitation(answer, number);
}

export function passageCitation(answer, number) {
  const evidence = answer.evidence?.[number - 1];
  if (!evidence) return null;
  const { id, document_id, start, end } = evidence;
  return { number, evidence_id: id, document_id, quote: "", start, end };
}

// What a source list shows: each passage with its number and the first quote of it, if any.
export function sourcesOf(answer) {
  const quoted = new Map();
  for (const citation of citationsOf(answer)) if (!quoted.has(citation.number)) quoted.set(citation.number, citation);
  const named = new Set([...quoted.keys(), ...(answer.sentences?.length ? [] : namedNumbers(answer.text))]);
  return (answer.evidence ?? []).map((evidence, index) => ({
    number: index + 1,
    evidence,
    isCited: named.has(index + 1),
    citation: quoted.get(index + 1) ?? passageCitation(answer, index + 1),
  }));
}

function namedNumbers(text) {
  return [...text.matchAll(/[[［【、，,;； ](\d{1,3})(?=[\]］】、，,;； ])/g)].map((found) => parseInt(found[1], 10));
}

// "Travel › Trains · page 3": where in its document a passage stands. The title is shown beside it.
export function placeOf(evidence, pageWords) {
  const headings = (evidence.headings ?? []).filter((heading) => heading && heading !== evidence.title);
  const page = evidence.page === null || evidence.page === undefined ? "" : pageWords(evidence.page);
  return [headings.join(" › "), page].filter(Boolean).join(" · ");
}

// Where its document is: an address whole, a path of the server by its end, which tells files apart.
export function locationOf({ location = "" }) {
  if (!/^(?:[/\\]|[a-z]:[/\\]|file:)/i.test(location)) return location;
  const parts = location.split(/[/\\]+/).filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : parts.join("/");
}

// The answer as text for elsewhere: with its marks, and what they stand for.
export function asText(answer, pageWords) {
  const cited = sourcesOf(answer).filter(({ isCited }) => isCited);
  const lines = cited.map(({ number, evidence }) => {
    const where = [evidence.title, placeOf(evidence, pageWords), locationOf(evidence)].filter(Boolean);
    return `[${number}] ${where.join(" · ")}`;
  });
  return [answer.text, lines.join("\n")].filter(Boolean).join("\n\n");
}
