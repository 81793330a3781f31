"""Evidence on a page: where a passage comes from, and what of it was quoted. Knows nothing about questions.

Addresses are shown, never linked: they come from documents and from the web.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from veracity.models import Citation, Evidence
from veracity.pages.elements import Child, Safe, joined, tag
from veracity.pages.labels import Words
from veracity.pages.layout import facts, folded, prose

Span = tuple[int, int]


def numbered(evidence: Sequence[Evidence], cited: Iterable[Citation], attempt: int, words: Words) -> Iterator[Safe]:
    """Each with the number by which an answer names it. What was quoted is marked, what was not cited is folded."""
    quotes = list(cited)
    for number, one in enumerate(evidence, 1):
        own = [quote for quote in quotes if quote.number == number]
        text = _text(one, quoted_spans(one, own), words)
        yield tag(
            "article",
            tag("h3", tag("span", f"[{number}]", class_="number"), " ", title(one, words)),
            _origin(one, words),
            text if own or is_removed(one) else folded(words("uncited"), text),
            id=anchor(attempt, number),
            class_="card",
        )


def listed(evidence: Sequence[Evidence], words: Words) -> Safe | None:
    """The passages of a search, each to be unfolded."""
    if not evidence:
        return None
    items = [
        tag("li", folded(_line(one, words), _origin(one, words), _text(one, [], words)), class_="passage")
        for one in evidence
    ]
    return tag("ol", *items, class_="passages")


def anchor(attempt: int, number: int) -> str:
    return f"evidence-{attempt}-{number}"


def title(evidence: Evidence, words: Words) -> Child:
    if is_removed(evidence):
        return words("removed")
    return tag("span", evidence.title or evidence.document_id or words("untitled"), lang=evidence.language)


def is_removed(evidence: Evidence) -> bool:
    return not evidence.text


def quoted_spans(evidence: Evidence, cited: Iterable[Citation]) -> list[Span]:
    """Where the quotes stand in the passage, those that touch as one. A place that does not hold the quote is not
    believed: the quote is looked for."""
    spans: list[Span] = []
    for start, end in sorted(filter(None, (_span(evidence, citation) for citation in cited))):
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])  # noqa: PLW2901
        spans.append((start, end))
    return spans


def _span(evidence: Evidence, citation: Citation) -> Span | None:
    quote, start = citation.quote, citation.start - evidence.start
    if not quote:
        return None
    if start < 0 or not evidence.text.startswith(quote, start):
        start = evidence.text.find(quote)
    return None if start < 0 else (start, start + len(quote))


def _text(evidence: Evidence, spans: Iterable[Span], words: Words) -> Safe:
    if is_removed(evidence):
        return tag("p", words("removed"), class_="quiet")
    pieces: list[Child] = []
    at = 0
    for start, end in spans:
        pieces += [evidence.text[at:start], tag("mark", evidence.text[start:end])]
        at = end
    return prose(*pieces, evidence.text[at:], lang=evidence.language or None)


def _origin(evidence: Evidence, words: Words) -> Safe | None:
    headings = " › ".join(heading for heading in evidence.headings if heading != evidence.title)
    page = "" if evidence.page is None else words("page", number=evidence.page)
    found = evidence.metadata.found_by or [evidence.source]
    where = [part for part in (headings, page) if part]
    return joined(
        tag("p", " · ".join(where), class_="quiet", lang=evidence.language) if where else None,
        facts(
            (words("location"), tag("code", evidence.location) if evidence.location else None),
            (words("relevance"), f"{evidence.metadata.relevance_score:.2f}"),
            (words("found_by"), words("comma").join(words.named("source", source) for source in found)),
        ),
    )


def _line(evidence: Evidence, words: Words) -> Safe:
    score = tag("span", f"{evidence.metadata.relevance_score:.2f}", class_="score")
    return joined(score, " ", title(evidence, words))
