"""New tokens for Chinese and Japanese, and the word embeddings that they start with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, trainers

from training.tokens import WORD_PIECES, Tokens, normalize

RUN = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf\u3005\u3007]+|[\u3040-\u309f]+|[\u30a0-\u30ff]+")
LARGEST_VOCABULARY = 47_200
PUNCTUATION = "。、「」『』・〜…《》【】"


def build_vocabulary(tokenizer_file: Path, texts: Iterable[str]) -> dict[str, int]:
    """MiniLM's word pieces, every character that occurs twice, kana, and frequent strings up to 5 characters."""
    runs = Counter(run for text in texts for run in RUN.findall(normalize(text)))
    characters: Counter[str] = Counter()
    for run, count in runs.items():
        for character in dict.fromkeys(run):
            characters[character] += count
    strings = _frequent_strings(runs)
    vocabulary = dict(sorted(Tokens(tokenizer_file).vocabulary.items(), key=lambda piece: piece[1]))
    if len(vocabulary) != WORD_PIECES:
        raise SystemExit(f"{tokenizer_file} is not MiniLM's tokenizer: it has {len(vocabulary)} word pieces.")
    kana = [chr(code) for code in range(0x3041, 0x30FF)]
    frequent = [character for character, count in characters.items() if count >= 2]
    for token in [*frequent, *kana, *PUNCTUATION, *strings]:
        if token not in vocabulary and len(vocabulary) < LARGEST_VOCABULARY:
            vocabulary[token] = len(vocabulary)
    return vocabulary


def _frequent_strings(runs: Counter[str]) -> list[str]:
    """By byte pair encoding over runs of one script. A run counts 100 times at most."""
    encoding = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=16_500, max_token_length=5, show_progress=False)
    encoding.train_from_iterator((run for run, count in runs.items() for _ in range(min(count, 100))), trainer)
    numbers = encoding.get_vocab()
    return sorted(numbers, key=lambda string: (-runs.get(string, 0), numbers[string]))


def start_embeddings(
    original: np.ndarray, size: int, english: Sequence[Sequence[int]], other: Sequence[Sequence[int]], seed: int
) -> tuple[np.ndarray, int]:
    """A table for `size` tokens, and how many new tokens got their start from translations.

    A new token starts as the weighted mean of the four word pieces that it co-occurs with most in aligned paragraphs
    (Dice coefficient). The others start near the mean of all word pieces.
    """
    chosen = [index for index in range(len(english)) if len(english[index]) < 48 and len(other[index]) < 60][:120_000]
    in_other = _occurrences([other[index] for index in chosen], size)
    in_english = _occurrences([english[index] for index in chosen], WORD_PIECES)
    other_counts, english_counts = (np.asarray(matrix.sum(0)).ravel() for matrix in (in_other, in_english))
    together = (in_other[:, WORD_PIECES:].T @ in_english).tocsr()
    mean, deviation = original[1000:].mean(0), original[1000:].std(0, ddof=1)
    noise = np.random.default_rng(seed).standard_normal((size - WORD_PIECES, original.shape[1]))
    table = np.concatenate([original, mean + 0.3 * deviation * noise]).astype(np.float32)
    found = 0
    for row in range(size - WORD_PIECES):
        start, end = together.indptr[row], together.indptr[row + 1]
        count = other_counts[WORD_PIECES + row]
        if start == end or count < 3:
            continue
        pieces = together.indices[start:end]
        dice = 2 * together.data[start:end] / (count + english_counts[pieces])
        best = np.argsort(-dice)[:4]
        if dice[best[0]] > 0.08:
            weight = dice[best] ** 2
            table[WORD_PIECES + row] = (original[pieces[best]] * weight[:, None]).sum(0) / weight.sum()
            found += 1
    return table, found


def _occurrences(texts: Sequence[Sequence[int]], tokens: int) -> Any:
    """A sparse matrix: 1 where a text contains a token."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only training needs scipy

    rows: list[int] = []
    columns: list[int] = []
    for row, text in enumerate(texts):
        contained = sorted({token for token in text if token < tokens})
        rows += [row] * len(contained)
        columns += contained
    ones = np.ones(len(columns), np.float32)
    return csr_matrix((ones, (rows, columns)), shape=(len(texts), tokens))
