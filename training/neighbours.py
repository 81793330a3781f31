"""Windows that search finds for each written and generated question, besides its own.

    python -m training.neighbours DATA OUT

OUT contains the embedder. Writes DATA/near_written.jsonl: the number of each question (training.written), its near
windows and a random one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from training.batches import Item, all_batches, collate, log
from training.corpus import Window, read_windows
from training.network import Network, autocast, load_network, to_device
from training.sources import LANGUAGES
from training.tokens import Tokens, enclose, tokenize_all
from training.written import Written, read_all

NEAR = 8
WORD_WEIGHT = 0.6  # of shared words, besides the similarity of vectors
LONGEST_WINDOW = 1600  # characters
SEED = 5


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


def find_near(
    asked: Sequence[Written], windows: Sequence[Window], numbers: Sequence[int], work: Path, device: str, processes: int
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


def write_near(data: Path, work: Path, device: str, processes: int) -> None:
    windows = read_windows(data)
    asked = read_all(windows)
    numbers = [number for number, window in enumerate(windows) if window.use != "excluded"]
    found = find_near(asked, windows, numbers, work, device, processes)
    with (data / "near_written.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps([row, neighbours]) + "\n" for row, neighbours in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path, help="folder of the embedder")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    parser.add_argument("--processes", type=int, default=8, help="for tokenizing (default 8)")
    arguments = parser.parse_args()
    write_near(arguments.data, arguments.work, arguments.device, arguments.processes)


if __name__ == "__main__":
    main()
