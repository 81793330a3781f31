"""What a model makes of the same questions: right, wrong, abstained or held, with its calls and tokens.

    python -m benchmarks.with_model CLONES DIRECTORY --model openai-chat:local --results FILE.jsonl [--keep FOLDER]

CLONES are the repositories of `benchmarks.real_documents`, DIRECTORY the data sets of `benchmarks.answers`. Per
language five questions are asked about real documents (the development part; one has no answer there) and three of a
data set (one without an answer), through `Veracity.ask`. The model plays every role in `--roles`; without `--model` the
local parts answer, and `--guide` lets them help the model. Results are appended to the file as they come: a question
that is in it is not asked again. The table has every question; a run is "good" if the answer is right, or if there is
none and it abstains.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from benchmarks.answers.asking import Asked, asker
from benchmarks.answers.asking import ask as ask_engine
from benchmarks.answers.cases import Case, load_cases
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.outcome import make_outcome
from benchmarks.real_documents.__main__ import LANGUAGES, Row, is_right, library, load_questions
from veracity.agents.base import WriterOutput
from veracity.embedding import make_embedder
from veracity.language import content_tokens, normalized
from veracity.language.citations import without_marks
from veracity.settings import AnsweringSettings, LLMSettings, ModelSettings, OutputMode, Settings

SETS = {"en": "clapnq", "zh": "rgb", "ja": "jsquad"}
ANSWERABLE_DOCUMENTS, OTHER_DOCUMENTS = 4, 1  # questions about real documents, with and without an answer
ANSWERABLE_ITEMS, OTHER_ITEMS = 2, 1  # of a data set
STRIDE = 7  # questions of one document follow each other


@dataclass(frozen=True)
class Result:
    id: str
    question: str
    answerable: bool
    outcome: str  # right, wrong or abstained
    released: bool
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    text: str
    notices: list[str]

    @property
    def is_good(self) -> bool:
        return self.outcome == ("right" if self.answerable else "abstained")


def make_result(name: str, question: str, answerable: bool, asked: Asked, right: bool) -> Result:
    draft = asked.draft
    outcome = "abstained" if asked.abstains else "right" if right and answerable else "wrong"
    usage, notices = draft.usage, [str(notice.code) for notice in draft.notices]
    tokens = usage.input_tokens, usage.output_tokens
    return Result(
        name, question, answerable, outcome, asked.is_released, usage.calls, *tokens, asked.seconds, draft.text, notices
    )


def is_right_in_own_words(row: Row, asked: Asked) -> bool:
    """Whether the answer holds every content word and number of an expected one. A model need not quote."""
    text = normalized(without_marks(asked.draft.text)).casefold()
    return not asked.abstains and any(
        all(token.casefold() in text for token in content_tokens(answer)) for answer in row["answers"]
    )


def choose_rows(language: str) -> list[Row]:
    rows = load_questions("dev", language)
    answerable = [row for row in rows if row["expect"] == "answer"]
    others = [row for row in rows if row["expect"] != "answer"]
    return [*answerable[::STRIDE][:ANSWERABLE_DOCUMENTS], *others[::STRIDE][:OTHER_DOCUMENTS]]


def choose_cases(folder: Path, language: str, embedder: CachingEmbedder) -> list[Case]:
    cases = load_cases(folder, SETS[language], embedder)
    answerable = [case for case in cases if case[0].answerable]
    others = [case for case in cases if not case[0].answerable]
    return [*answerable[:: 3 * STRIDE][:ANSWERABLE_ITEMS], *others[:: 3 * STRIDE][:OTHER_ITEMS]]


def ask_documents(chosen: argparse.Namespace, language: str, settings: Settings, done: set[str]) -> Iterator[Result]:
    rows = [row for row in choose_rows(language) if row["id"] not in done]
    if not rows:
        return
    with library(chosen.clones, language, chosen.keep, settings) as engine:
        for row in rows:
            asked = ask_engine(engine, row["question"], f"model-{row['id']}")
            right = is_right(row, asked) or is_right_in_own_words(row, asked)
            yield make_result(row["id"], row["question"], row["expect"] == "answer", asked, right)


def ask_items(chosen: argparse.Namespace, language: str, settings: Settings, done: set[str]) -> Iterator[Result]:
    embedder = CachingEmbedder(make_embedder("bundled"), None)
    with asker(embedder, settings) as asks:
        for item, store in choose_cases(chosen.directory, language, embedder):
            name = f"{item.set}-{item.id}{'' if item.answerable else '-none'}"
            if name in done:
                continue
            asked = asks.ask(item.question, store)
            written = WriterOutput(asked.draft.text, asked.abstains)
            outcome = make_outcome(item, asked.draft.evidence, written, asked.seconds)
            yield make_result(name, item.question, item.answerable, asked, outcome.holds_gold is not False)


def load_results(file: Path) -> list[Result]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def print_table(results: list[Result]) -> None:
    widths = {"answerable": 11, "outcome": 11, "released": 10, "calls": 7, "in": 8, "out": 7, "s": 7}
    print(f"{'question':16}" + "".join(f"{name:>{width}}" for name, width in widths.items()) + "  notices")
    for found in results:
        print(
            f"{found.id[:15]:16}{found.answerable!s:>11}{found.outcome:>11}{found.released!s:>10}{found.calls:>7}"
            f"{found.input_tokens:>8,}{found.output_tokens:>7,}{found.seconds:>7.0f}  {', '.join(found.notices)}"
        )
    good = sum(found.is_good for found in results)
    bad = sum(found.released and not found.is_good and found.outcome == "wrong" for found in results)
    print(f"\n{good} of {len(results)} answered right or rightly abstained; {bad} wrong and released")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", default="", help="none: the local parts answer")
    parser.add_argument("--roles", nargs="+", default=["writer", "reviewer", "judge"])
    parser.add_argument("--evidence", type=int, default=AnsweringSettings().evidence, help="passages for the writer")
    parser.add_argument("--redrafts", type=int, default=AnsweringSettings().gener_epoch)
    parser.add_argument("--guide", action="store_true", help="as answering.guide")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--output-mode", choices=get_args(OutputMode), default="auto", help="as llm.output_mode")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    chosen = parser.parse_args()
    settings = Settings(
        models=ModelSettings(**dict.fromkeys(chosen.roles if chosen.model else [], chosen.model)),
        llm=LLMSettings(workers=1, call_timeout=600, deadline=1800, output_mode=chosen.output_mode),
        answering=AnsweringSettings(
            evidence=chosen.evidence, gener_epoch=chosen.redrafts, run_deadline=3600, guide=chosen.guide
        ),
    )
    results = load_results(chosen.results)
    done = {found.id for found in results}
    for language in chosen.languages:
        for ask in (ask_documents, ask_items):
            for found in ask(chosen, language, settings, done):
                results.append(found)
                with chosen.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
                print(f"{found.id}: {found.outcome}, {found.calls} calls, {found.seconds:.0f} s", flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
