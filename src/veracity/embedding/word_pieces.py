"""Turns English, Chinese and Japanese text into the tokens of the bundled model.

Latin text becomes the word pieces of BERT. Chinese and Japanese have no spaces: their text is cut into the longest
known tokens, from left to right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from veracity.printable import encodable

FIRST, LAST, UNKNOWN = 101, 102, 100  # [CLS], [SEP], [UNK]
MAX_TEXT_LENGTH = 50_000  # characters, far more than the tokens a model reads
MAX_TOKEN_LENGTH = 6  # characters of a Chinese or Japanese token
CHINESE_OR_JAPANESE = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef…]+")


class WordPieces:
    """Thread-safe."""

    def __init__(self, tokenizer: Path, tokens: Path) -> None:
        self._latin = Tokenizer.from_file(str(tokenizer))
        self._latin.no_padding()
        self._latin.no_truncation()
        self._ids = self._latin.get_vocab()
        first = len(self._ids)
        for number, token in enumerate(tokens.read_text(encoding="utf-8").splitlines()):
            self._ids[token] = first + number

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """At most `max_tokens`, of which the first and the last mark the ends of the text."""
        return [FIRST, *self.tokens(text, max_tokens - 2), LAST]

    def tokens(self, text: str, max_tokens: int) -> list[int]:
        """At most `max_tokens`, without marks."""
        ids: list[int] = []
        for piece in self._pieces(unicodedata.normalize("NFKC", encodable(text[:MAX_TEXT_LENGTH]))):
            ids += piece
            if len(ids) >= max_tokens:
                break
        return ids[:max_tokens]

    def _pieces(self, text: str) -> Iterator[list[int]]:
        end = 0
        for match in CHINESE_OR_JAPANESE.finditer(text):
            yield self._latin_ids(text[end : match.start()])
            for run in match.group().split():
                yield self._longest_tokens(run)
            end = match.end()
        yield self._latin_ids(text[end:])

    def _latin_ids(self, text: str) -> list[int]:
        return self._latin.encode(text, add_special_tokens=False).ids if text else []

    def _longest_tokens(self, text: str) -> list[int]:
        ids, start = [], 0
        while start < len(text):
            lengths = range(min(MAX_TOKEN_LENGTH, len(text) - start), 0, -1)
            known = (length for length in lengths if text[start : start + length] in self._ids)
            length = next(known, 1)
            ids.append(self._ids.get(text[start : start + length], UNKNOWN))
            start += length
        return ids
