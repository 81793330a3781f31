"""Windows that search finds for each question, besides its own. The language model judges the nearest two.

    python -m training.neighbours generated DATA OUT --language-model LM
    python -m training.neighbours written DATA OUT

LM is the packed language model, OUT contains the embedder. `generated` reads DATA/gen.jsonl and writes
DATA/near.jsonl, a line for each question: its window, its number, and [window, margin of yes over no or null] of eight
near windows and a random one. On one NVIDIA H200 it takes 4 minutes for 100,000 questions. `written` writes
DATA/near_written.jsonl for written and generated questions (training.written): the number of each, its near windows
and a random one. No model judges them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from training.batches import Item, all_batches, collate, log
from training.corpus import Window, read_questions, read_windows
from training.language_model import Continuations, LanguageModel
from training.network import Network, autocast, load_network, to_device
from training.questions import judge_questions, prefix
from training.reader_lists import is_usable
from training.sources import LANGUAGES
from training.tokens import Tokens, enclose, tokenize_all
from training.written import read_all

NEAR = 8
JUDGED = 2  # of the near windows
RANDOM_JUDGED_EVERY = 10  # questions; the random windows calibrate the margins
WORD_WEIGHT = 0.6  # of shared words, besides the similarity of vectors
LONGEST_WINDOW = 1600  # characters
PER_CALL, WINDOWS_PER_BATCH, MOST_PER_WINDOW, LONGEST_PREFIX = 8, 128, 64, 600
SEED = 5


class Asked(NamedTuple):
    window: int
    number: int
    text: str


@torch.no_grad()
def embed(network: Network, texts: Sequence[Sequence[int]], device: str) -> Tensor:
    items = [Item(enclose(text, 256)) for text in texts]
    found = torch.zeros((len(items), 384), device=device)
    for batch in all_batches([len(item.ids) for item in items], 200_000 if device != "cpu" else 8000):
        ids, _, attended = to_device(collate([items[index] for index in batch]), device)
        with autocast(device):
            found[batch] = network.vectors(ids, attended).float()
    return found


class Searchable:
    """Windows of one language: the similarity of vectors, and the share of a question's tokens, weighted by rarity."""

    def __init__(self, vectors: Tensor, tokens: Sequence[Sequence[int]], words: int) -> None:
        self.vectors = vectors
        self.words = torch.zeros((words, len(tokens)), device=vectors.device)
        self.words[_places(tokens, vectors.device).flip(0).unbind()] = 1
        counts = self.words.sum(1)
        self.rarity = torch.log(1 + (len(tokens) - counts + 0.5) / (counts + 0.5))

    def best(self, vectors: Tensor, tokens: Sequence[Sequence[int]], count: int) -> list[list[int]]:
        """Columns of the best windows for each question."""
        places = _places(tokens, vectors.device)
        weights = self.rarity[places[1]]
        questions = torch.sparse_coo_tensor(places, weights, (len(tokens), len(self.words)))
        totals = torch.zeros(len(tokens), device=vectors.device).index_add(0, places[0], weights)
        shares = torch.sparse.mm(questions, self.words) / (totals[:, None] + 1e-6)
        scores = vectors @ self.vectors.T + WORD_WEIGHT * shares
        columns: list[list[int]] = scores.topk(min(count, scores.shape[1])).indices.tolist()
        return columns


def _places(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """[2, number]: each text with each of its tokens."""
    return torch.tensor([(row, token) for row, text in enumerate(texts) for token in set(text)], device=device).T


Pair = tuple[int, int]  # the question, and the place among its neighbours


def to_judge(found: dict[int, list[int]]) -> dict[int, list[Pair]]:
    """By window, so that each is read once for all its questions."""
    wanted: defaultdict[int, list[Pair]] = defaultdict(list)
    for question, neighbours in found.items():
        for place, window in enumerate(neighbours):
            is_random = place == len(neighbours) - 1 and question % RANDOM_JUDGED_EVERY == 0
            if place < JUDGED or is_random:
                wanted[window].append((question, place))
    return {window: pairs[:MOST_PER_WINDOW] for window, pairs in wanted.items()}


def judge(
    model: LanguageModel, asked: Sequence[Asked], windows: Sequence[Window], wanted: dict[int, list[Pair]]
) -> Iterator[tuple[Pair, float]]:
    """Yields the margin for each pair. Windows with about as many questions share a batch."""
    order = sorted(wanted, key=lambda window: -len(wanted[window]))
    for start in range(0, len(order), WINDOWS_PER_BATCH):
        batch = order[start : start + WINDOWS_PER_BATCH]
        prefixes = [ids[:LONGEST_PREFIX] for ids in model.ids([prefix(windows[window]) for window in batch])]
        passages = Continuations(model, prefixes, PER_CALL * 160)
        for first in range(0, max(len(wanted[window]) for window in batch), PER_CALL):
            groups = [wanted[window][first : first + PER_CALL] for window in batch]
            texts = [[asked[question].text for question, _ in group] for group in groups]
            margins = judge_questions(model, passages, [[*text, *["?"] * (PER_CALL - len(text))] for text in texts])
            for row, group in enumerate(groups):
                for column, pair in enumerate(group):
                    yield pair, round(float(margins[row, column]), 2)
        if start % (20 * WINDOWS_PER_BATCH) == 0:
            log("windows", start, "of", len(order))


def find_near(
    asked: Sequence[Asked], windows: Sequence[Window], numbers: Sequence[int], work: Path, device: str, processes: int
) -> dict[int, list[int]]:
    """For each question near windows among `numbers`, in the language of its own window, and a random one."""
    vocabulary = json.loads((work / "vocab.json").read_text(encoding="utf-8"))
    tokens = Tokens(work / "tokenizer.json", vocabulary)
    window_tokens = tokenize_all(tokens, [windows[number].text[:LONGEST_WINDOW] for number in numbers], processes)
    question_tokens = tokenize_all(tokens, [question.text for question in asked], processes)
    log("questions", len(asked), "windows", len(numbers))
    network = load_network(work / "embedder").to(device).eval()
    chance = random.Random(SEED)
    found: dict[int, list[int]] = {}
    for language in LANGUAGES:
        places = [place for place, number in enumerate(numbers) if windows[number].language == language]
        texts = [window_tokens[place] for place in places]
        data = Searchable(embed(network, texts, device), texts, max(vocabulary.values()) + 1)
        rows = [row for row, question in enumerate(asked) if windows[question.window].language == language]
        for start in range(0, len(rows), 1000):
            group = rows[start : start + 1000]
            questions = [question_tokens[row] for row in group]
            best = data.best(embed(network, questions, device), questions, NEAR + 1)
            for row, columns in zip(group, best, strict=True):
                near = [numbers[places[column]] for column in (*columns, chance.randrange(len(places)))]
                found[row] = [number for number in near if number != asked[row].window]
    log("neighbours", sum(map(len, found.values())))
    return found


def find_for_generated(language_model: Path, data: Path, work: Path, device: str, processes: int) -> None:
    windows = read_windows(data)
    generated = read_questions(data)
    asked = [
        Asked(row.window, number, question.text)
        for row in generated
        for number, question in enumerate(row.questions)
        if is_usable(question.text)
    ]
    found = find_near(asked, windows, [row.window for row in generated], work, device, processes)
    margins = dict(judge(LanguageModel(language_model, device), asked, windows, to_judge(found)))
    with (data / "near.jsonl").open("w", encoding="utf-8") as file:
        for row, neighbours in found.items():
            judged = [[window, margins.get((row, place))] for place, window in enumerate(neighbours)]
            file.write(json.dumps([asked[row].window, asked[row].number, judged]) + "\n")
    log("judged", len(margins))


def find_for_written(data: Path, work: Path, device: str, processes: int) -> None:
    windows = read_windows(data)
    asked = [Asked(one.window, number, one.text) for number, one in enumerate(read_all(windows))]
    numbers = [number for number, window in enumerate(windows) if window.use != "excluded"]
    found = find_near(asked, windows, numbers, work, device, processes)
    with (data / "near_written.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps([row, neighbours]) + "\n" for row, neighbours in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", choices=("generated", "written"))
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path, help="folder of the embedder")
    parser.add_argument("--language-model", type=Path, help="folder of the packed language model, for `generated`")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    parser.add_argument("--processes", type=int, default=8, help="for tokenizing (default 8)")
    arguments = parser.parse_args()
    places = (arguments.data, arguments.work, arguments.device, arguments.processes)
    if arguments.questions == "written":
        find_for_written(*places)
    elif arguments.language_model:
        find_for_generated(arguments.language_model, *places)
    else:
        parser.error("--language-model is needed to judge the neighbours of generated questions.")


if __name__ == "__main__":
    main()
