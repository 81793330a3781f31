"""Where the words of one text stand in another. Knows nothing about why they are looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from veracity.language.scripts import guess_language
from veracity.language.words import content_tokens, normalized, tokens_in_place

# A character and the marks that belong to it: accents, and the voiced marks of kana.
_CLUSTER = re.compile(".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL)


def matching_spans(text: str, query: str) -> list[tuple[int, int]]:
    """The stretches of the text that hold words of the query, in order; those that touch are one."""
    language = guess_language(text)
    wanted = frozenset(content_tokens(query, language))
    plain, places = _normalized_with_places(text)
    spans: list[tuple[int, int]] = []
    for token in tokens_in_place(plain, language):
        if token.text not in wanted:
            continue
        start, end = places[token.start][0], places[token.end - 1][1]
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _normalized_with_places(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text in the form that is cut into tokens, and for each of its characters the stretch it came from."""
    if normalized(text) == text:
        return text, [(place, place + 1) for place in range(len(text))]
    pieces = [(normalized(found[0]), found.span()) for found in _CLUSTER.finditer(text)]
    return "".join(piece for piece, _ in pieces), [span for piece, span in pieces for _ in piece]
