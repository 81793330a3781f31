"""An answer on a page: its citations lead to the evidence, and what is not supported is marked.

Knows nothing about how the answer came about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from veracity.language.citations import MARK
from veracity.models import Answer, AnswerSentence, Citation
from veracity.pages.elements import Child, Safe, joined, tag
from veracity.pages.labels import Words
from veracity.pages.layout import bullets, prose
from veracity.pages.passages import anchor

_NUMBER = re.compile(r"(\d+)")


def answer_text(answer: Answer, words: Words) -> Safe:
    """With a legend, where something is marked."""
    if not answer.text:
        return tag("p", words("removed"), class_="quiet")
    has_doubts = any(_is_doubtful(sentence) for sentence in answer.sentences)
    legend = tag("p", words("legend", meaning=words("unsupported")), class_="quiet legend") if has_doubts else None
    return joined(prose(*_sentences(answer, words)), legend)


def remarks(answer: Answer, words: Words) -> Iterator[Safe]:
    """What is missing, and what a reader should know."""
    if missing := bullets(answer.missing):
        yield joined(tag("h3", words("missing")), missing)
    if answer.notices:
        notices = [tag("li", notice.text) for notice in answer.notices]
        yield tag("aside", tag("h3", words("notices")), tag("ul", *notices), class_="notices")


def citations_of(answer: Answer) -> list[Citation]:
    return [citation for sentence in answer.sentences for citation in sentence.citations]


def with_links(text: str, attempt: int, known: Collection[int], words: Words) -> Iterator[Child]:
    """The text with every number in its citation marks as a link to that evidence, where it is known."""
    at = 0
    for mark in MARK.finditer(text):
        yield text[at : mark.start()]
        pieces = [_number(piece, attempt, known, words) for piece in _NUMBER.split(mark[0])]
        yield tag("span", *pieces, class_="cite")
        at = mark.end()
    yield text[at:]


def _number(piece: str, attempt: int, known: Collection[int], words: Words) -> Child:
    if not _NUMBER.fullmatch(piece):
        return piece
    if int(piece) in known:
        return tag("a", piece, href=f"#{anchor(attempt, int(piece))}")
    return tag("span", piece, title=words("unresolved")) if known else piece


def _sentences(answer: Answer, words: Words) -> Iterator[Child]:
    """The text as it stands; sentences that cannot be found in it are not marked."""
    known = range(1, len(answer.evidence) + 1)
    at = 0
    for sentence in answer.sentences:
        start = answer.text.find(sentence.text, at)
        if start < 0 or not sentence.text:
            continue
        yield from with_links(answer.text[at:start], answer.attempt, known, words)
        at = start + len(sentence.text)
        linked = with_links(sentence.text, answer.attempt, known, words)
        if _is_doubtful(sentence):
            told = tag("span", f" ({words('unsupported')})", class_="spoken")
            yield tag("span", *linked, told, class_="unsupported")
        else:
            yield from linked
    yield from with_links(answer.text[at:], answer.attempt, known, words)


def _is_doubtful(sentence: AnswerSentence) -> bool:
    return sentence.states and not sentence.supported
