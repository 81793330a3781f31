"""Text to token numbers: MiniLM's word pieces for Latin script, the longest known token for Chinese and Japanese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from pathlib import Path

from tokenizers import Tokenizer

PADDING, UNKNOWN, START, SEPARATOR, MASK = 0, 100, 101, 102, 103
WORD_PIECES = 30_522  # MiniLM's vocabulary; new tokens are numbered from here
LONGEST_TOKEN = 6  # in characters; tokens of the vocabulary have 5 at most
CJK = re.compile(r"[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef…]+")


def normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


class Tokens:
    """Made of MiniLM's tokenizer.json and a vocabulary that contains its word pieces."""

    def __init__(self, tokenizer_file: Path, vocabulary: dict[str, int] | None = None) -> None:
        self.word_pieces = Tokenizer.from_file(str(tokenizer_file))
        self.word_pieces.no_truncation()
        self.word_pieces.no_padding()
        self.vocabulary = vocabulary or self.word_pieces.get_vocab()

    def ids(self, text: str) -> list[int]:
        """Without [CLS] and [SEP]."""
        text = normalize(text)
        found: list[int] = []
        end = 0
        for run in CJK.finditer(text):
            found += self._latin(text[end : run.start()])
            for word in run.group().split():
                found += self._longest_tokens(word)
            end = run.end()
        return found + self._latin(text[end:])

    def _latin(self, text: str) -> list[int]:
        return self.word_pieces.encode(text, add_special_tokens=False).ids if text else []

    def _longest_tokens(self, word: str) -> list[int]:
        found = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + LONGEST_TOKEN), start, -1):
                number = self.vocabulary.get(word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                found.append(UNKNOWN)
                start += 1
        return found


_shared: Tokens | None = None  # of a worker process


def tokenize_all(tokens: Tokens, texts: Iterable[str], processes: int) -> list[list[int]]:
    """In order. With more than one process by forking, before anything has used the GPU."""
    wanted = list(texts)
    if processes <= 1 or len(wanted) < 1000:
        return [tokens.ids(text) for text in wanted]
    with get_context("fork").Pool(processes, _share, (tokens,)) as pool:
        return pool.map(_ids, wanted, chunksize=max(1, min(2000, len(wanted) // processes // 4)))


def _share(tokens: Tokens) -> None:
    global _shared  # noqa: PLW0603 - set once in each worker process
    _shared = tokens


def _ids(text: str) -> list[int]:
    assert _shared is not None
    return _shared.ids(text)


def enclose(ids: Sequence[int], longest: int) -> list[int]:
    """[CLS] … [SEP], cut to `longest` tokens."""
    return [START, *ids[: longest - 2], SEPARATOR]
