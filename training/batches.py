"""Batches of token lists of similar length, prepared while the GPU works."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
LONGEST = 512  # positions of the encoder
NO_SECOND_SEGMENT = 10**6

_started = time.time()


def log(*words: object) -> None:
    """Prints with the seconds since the start."""
    print(f"[{time.time() - _started:6.1f}]", *words, flush=True)


class Item(NamedTuple):
    ids: list[int]
    second_segment: int = NO_SECOND_SEGMENT  # where the second segment starts


class Arrays(NamedTuple):
    ids: np.ndarray
    segments: np.ndarray
    attended: np.ndarray  # False for padding


def collate(items: Sequence[Item], multiple: int = 16) -> Arrays:
    """Pads to a multiple of 16 tokens, so that few shapes occur."""
    longest = max(len(item.ids) for item in items)
    width = min(LONGEST, -(-longest // multiple) * multiple)
    ids = np.zeros((len(items), width), np.int64)
    segments = np.zeros_like(ids)
    attended = np.zeros((len(items), width), bool)
    for row, item in enumerate(items):
        length = len(item.ids)
        ids[row, :length] = item.ids
        attended[row, :length] = True
        segments[row, item.second_segment : length] = 1
    return Arrays(ids, segments, attended)


def batches(
    lengths: Sequence[int],
    tokens: int,
    chance: random.Random | None,
    *,
    most_items: int = 512,
    sorted_together: int = 20_000,
) -> list[list[int]]:
    """Indexes in batches of at most `tokens` tokens with padding. Without `chance` in order of length."""
    order = list(range(len(lengths)))
    if chance:
        chance.shuffle(order)
    found: list[list[int]] = []
    for start in range(0, len(order), sorted_together):
        current: list[int] = []
        for index in sorted(order[start : start + sorted_together], key=lengths.__getitem__):
            if current and (lengths[index] * (len(current) + 1) > tokens or len(current) >= most_items):
                found.append(current)
                current = []
            current.append(index)
        if current:
            found.append(current)
    if chance:
        chance.shuffle(found)
    return found


def all_batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """For reading once, without gradients: everything in order of length."""
    return batches(lengths, tokens, None, most_items=4096, sorted_together=max(1, len(lengths)))


def prefetch(source: Iterator[T], ahead: int) -> Iterator[T]:
    """Runs `source` in a thread, at most `ahead` items in advance. Its exceptions are raised here."""
    items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(ahead)

    def work() -> None:
        try:
            for item in source:
                items.put((item, None))
        except BaseException as error:  # noqa: BLE001 - raised in the other thread
            items.put((None, error))
        else:
            items.put((None, None))

    threading.Thread(target=work, daemon=True).start()
    while True:
        item, error = items.get()
        if error is not None:
            raise error
        if item is None:
            return
        yield item
