"""The answer reader that comes with the installation: for English, Chinese and Japanese, on the CPU.

Its input is the question, the path of headings, and the units of a passage, each after a marker. The model gives a
score for each marker. multilingual/README.md describes the model and how it was made.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from veracity.answer_reader.base import UNREAD, Passage
from veracity.embedding.bundled import FOLDER as EMBEDDER_FOLDER
from veracity.embedding.bundled import require_intact
from veracity.embedding.word_pieces import FIRST, LAST, WordPieces
from veracity.providers.onnx import load_session, run_each

FOLDER = Path(__file__).parent / "multilingual"
FILES = ("model.onnx",)
# Word pieces without a meaning of their own, which mark the parts of the input. As in training/reader_lists.py.
UNIT_MARK, HEADING_MARK, CODE_MARK, PATH_MARK = 1, 2, 3, 4
MAX_TOKENS, MAX_QUESTION_TOKENS, MAX_HEAD_TOKENS, MAX_UNIT_TOKENS = 448, 64, 32, 160
MAX_UNIT_LENGTH = 600  # characters
CACHED_PASSAGES = 256  # a redraft reads the same passages again

_loading = threading.Lock()


class BundledReader:
    """Loads the model with the first question. All instances in a process share it."""

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        keys = [(question, passage.head, tuple(passage.units)) for passage in passages]
        return [list(scores) for scores in run_each(keys, lambda key: _read(*key), "veracity-reader")]


@lru_cache(maxsize=CACHED_PASSAGES)
def _read(question: str, head: str, units: tuple[tuple[str, str], ...]) -> tuple[float, ...]:
    with _loading:
        pieces, session = _load(FOLDER)
    ids, places = _pack(pieces, question, head, units)
    second = ids.index(LAST) + 1
    inputs = {
        "input_ids": np.array([ids]),
        "token_type_ids": np.array([[0] * second + [1] * (len(ids) - second)]),
        "attention_mask": np.ones((1, len(ids)), np.int64),
    }
    [scores] = session.run(["unit"], inputs)[0]
    return tuple(float(scores[place]) if place else UNREAD for place in places)


def _pack(
    pieces: WordPieces, question: str, head: str, units: Sequence[tuple[str, str]]
) -> tuple[list[int], list[int]]:
    """The tokens, and the place of each unit's marker, or 0 if it is cut off."""
    ids = [FIRST, *pieces.tokens(question, MAX_QUESTION_TOKENS), LAST]
    if head:
        ids += [PATH_MARK, *pieces.tokens(head, MAX_HEAD_TOKENS)]
    places = []
    for kind, text in units:
        room = MAX_TOKENS - len(ids) - 2
        if room <= 0:
            places.append(0)
            continue
        places.append(len(ids))
        ids.append({"heading": HEADING_MARK, "code": CODE_MARK}.get(kind, UNIT_MARK))
        ids += pieces.tokens(text[:MAX_UNIT_LENGTH], min(MAX_UNIT_TOKENS, room))
    return [*ids, LAST], places


@lru_cache(maxsize=1)
def _load(folder: Path) -> tuple[WordPieces, Any]:
    """Its tokens are those of the bundled embedder."""
    require_intact(folder, FILES, "reader", "reader")
    pieces = WordPieces(EMBEDDER_FOLDER / "tokenizer.json", EMBEDDER_FOLDER / "tokens.txt")
    return pieces, load_session(folder / "model.onnx")
