"""Where the words of one text stand in another. Knows nothing about why they are looked for."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.language.scripts import guess_language
from veracity.language.words import content_tokens, normalized, tokens_in_place


def matching_spans(text: str, query: str) -> list[tuple[int, int]]:
    """The stretches of the text that hold words of the query, in order; those that touch are one."""
    language = guess_language(text)
    wanted = frozenset(content_tokens(query, language))
    plain, places = _normalized_with_places(text)
    spans: list[tuple[int, int]] = []
    for token in tokens_in_place(plain, language):
        if token.text not in wanted:
            continue
        start, end = places[token.start], places[token.end - 1] + 1
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _normalized_with_places(text: str) -> tuple[str, Sequence[int]]:
    """The text in the form that is cut into tokens, and for each of its characters the place it came from."""
    if normalized(text) == text:
        return text, range(len(text))
    pieces = [normalized(character) for character in text]
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]
