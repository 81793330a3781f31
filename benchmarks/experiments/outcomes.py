"""What the product makes of real questions, under two settings: the material of the simulations in this package.

    python -m benchmarks.experiments.outcomes DIRECTORY --results FILE.jsonl [--per-set 200] [--keep FOLDER]

The data sets are those of `benchmarks.answers`. Every question is asked through `Veracity.ask`, as shipped and with a
single passage for the writer. Results are appended to the file; a question that is in it is not asked again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.answers.asking import Asked, Asker, asker
from benchmarks.answers.cases import Case, load_cases
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.outcome import make_outcome
from veracity.agents.base import WriterOutput
from veracity.embedding import make_embedder
from veracity.settings import AnsweringSettings, Settings

SETS = ("clapnq", "rgb", "jsquad")
VARIANTS = {"shipped": Settings(), "one passage": Settings(answering=AnsweringSettings(evidence=1))}


@dataclass(frozen=True)
class CaseOutcome:
    """`right`: the answer holds the gold answer, or there is none and it abstains. `score` is None if it abstains."""

    id: str
    set: str
    language: str
    variant: str
    answerable: bool
    answered: bool
    right: bool
    released: bool
    score: float | None


def ask(asks: Asker, case: Case, variant: str) -> CaseOutcome:
    item, store = case
    asked: Asked = asks.ask(item.question, store)
    outcome = make_outcome(item, asked.draft.evidence, WriterOutput(asked.draft.text, asked.abstains), 0.0)
    holds_gold = item.answerable and outcome.holds_gold is not False
    return CaseOutcome(
        id=f"{item.id}{'' if item.answerable else '-none'}",
        set=item.set,
        language=item.language,
        variant=variant,
        answerable=item.answerable,
        answered=not asked.abstains,
        right=not item.answerable if asked.abstains else holds_gold,
        released=asked.is_released,
        score=None if asked.abstains else asked.draft.score,
    )


def load_outcomes(file: Path) -> list[CaseOutcome]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [CaseOutcome(**json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--per-set", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="keeps vectors")
    chosen = parser.parse_args()
    done = {(found.set, found.id, found.variant) for found in load_outcomes(chosen.results)}
    embedder = CachingEmbedder(make_embedder("bundled"), chosen.keep)
    for name in SETS:
        cases = load_cases(chosen.directory, name, embedder)
        cases = cases[:: max(1, len(cases) // chosen.per_set)][: chosen.per_set]
        for variant, settings in VARIANTS.items():
            with asker(embedder, settings) as asks, chosen.results.open("a", encoding="utf-8") as file:
                for case in cases:
                    key = (name, f"{case[0].id}{'' if case[0].answerable else '-none'}", variant)
                    if key not in done:
                        file.write(json.dumps(asdict(ask(asks, case, variant)), ensure_ascii=False) + "\n")
                        file.flush()
    print_table(load_outcomes(chosen.results))


def print_table(outcomes: list[CaseOutcome]) -> None:
    print(f"{'set':10}{'variant':14}{'n':>6}{'right':>8}{'released':>10}{'wrong, of released':>20}")
    for name, variant in dict.fromkeys((found.set, found.variant) for found in outcomes):
        some = [found for found in outcomes if (found.set, found.variant) == (name, variant)]
        released = [found for found in some if found.released]
        wrong = sum(not found.right for found in released) / max(1, len(released))
        right = sum(found.right for found in some) / len(some)
        print(f"{name:10}{variant:14}{len(some):6}{right:8.3f}{len(released) / len(some):10.3f}{wrong:20.3f}")


if __name__ == "__main__":
    main()
