"""Where the words of one text stand in another. Knows nothing about why they are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veracity.language.scripts import Language, guess_language
from veracity.language.words import content_tokens, normalized, tokens_in_place

# A character and the marks that belong to it: accents, and the voiced marks of kana.
_CLUSTER = re.compile(".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL)


def matching_spans(text: str, query: str) -> list[tuple[int, int]]:
    """The stretches of the text that hold words of the query, in order; those that touch are one."""
    language = guess_language(text)
    wanted = frozenset(content_tokens(query, language))
    plain, places = _normalized_with_places(text)
    spans: list[tuple[int, int]] = []
    for first, last in _found(plain, language, wanted):
        start, end = places[first][0], places[last - 1][1]
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return spans


def _found(plain: str, language: Language, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """A Chinese word may stand within a longer one: 大学 in 北京大学."""
    for token in tokens_in_place(plain, language):
        if token.text in wanted:
            yield token.start, token.end
        elif language == "zh" and len(token.text) > 2:
            for at in range(len(token.text) - 1):
                for length in (2, 3):
                    if token.text[at : at + length] in wanted:
                        yield token.start + at, token.start + min(at + length, len(token.text))


def _normalized_with_places(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text in the form that is cut into tokens, and for each of its characters the stretch it came from."""
    if normalized(text) == text:
        return text, [(place, place + 1) for place in range(len(text))]
    pieces = [(normalized(found[0]), found.span()) for found in _CLUSTER.finditer(text)]
    return "".join(piece for piece, _ in pieces), [span for piece, span in pieces for _ in piece]
