"""Does the extractive writer answer when it can, abstain when it cannot, and cite correctly?

    python -m benchmarks.answers DIRECTORY [--sets clapnq rgb jsquad mtrag_un handbook_zh …] [--keep FOLDER]

The directory contains `NAME.items.jsonl` and `NAME.corpus.jsonl`; it can also be set as VERACITY_DATA. Evidence is
retrieved as in the product, from the passages of each question. Each question of rgb is asked six times: with three
samples of five passages of which two contain the answer, and three of five that do not. The questions of mtrag_un are
searched in its whole corpus, as typed. The bundled handbook has twelve questions per language, each asked over the
whole handbook and again without the documents that answer it.

"balanced" is the mean of the next two columns: the share of answerable questions that are answered, and of other
questions that are not. "gold in it" is the share of all answers that contain the gold answer, "gold cited" the share of
sentences, in answers to answerable questions, that cite a passage which contains it. "citations" is the share of
sentences with a single citation that exists and contains them verbatim. The baseline always answers with the best
sentence of the first passage. Milliseconds measure writing only, including the embedder if used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks.answers.cases import HANDBOOKS, Case, load_cases
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.items import NAMES
from benchmarks.answers.outcome import HEADINGS, Outcome, format_row, make_outcome
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.base import WriterOutput, WritingTask
from veracity.agents.extract.candidates import rank_candidates
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.embedding import make_embedder
from veracity.language import sentences
from veracity.language.citations import without_marks
from veracity.models import Evidence

Write = Callable[[str, Sequence[Evidence]], WriterOutput]


def best_sentence(question: str, evidence: Sequence[Evidence]) -> WriterOutput:
    """The baseline. Abstains only without evidence."""
    first = evidence[:1]
    _, ranked = rank_candidates(question, first)
    candidates = [candidate.sentence for candidate in ranked] or [
        s for passage in first for s in sentences(passage.text)
    ]
    return WriterOutput(f"{without_marks(candidates[0].text)} [1]") if candidates else WriterOutput("", abstains=True)


def measure(cases: Sequence[Case], write: Write) -> list[Outcome]:
    outcomes = []
    for item, evidence in cases:
        started = time.perf_counter()
        written = write(item.question, evidence)
        outcomes.append(make_outcome(item, evidence, written, time.perf_counter() - started))
    return outcomes


def print_row(title: str, outcomes: Sequence[Outcome]) -> None:
    print(f"  {title:28}", *(f"{cell:>10}" for cell in format_row(outcomes)), flush=True)


def print_set(name: str, cases: Sequence[Case]) -> None:
    print(f"\n{name} ({cases[0][0].language}), {len(cases)} questions")
    print(f"  {'':28}", *(f"{heading:>10}" for heading in HEADINGS))
    methods: dict[str, Write] = {"best sentence, always": best_sentence}
    writers = {"extractive, words only": ExtractiveWriter()}
    if cases[0][0].language == "en":
        writers["extractive, with meaning"] = ExtractiveWriter(make_embedder("bundled"))
    for title, writer in writers.items():
        methods[title] = lambda question, evidence, writer=writer: writer.write(  # type: ignore[misc]
            WritingTask(question, evidence, ())
        )
    for title, write in methods.items():
        outcomes = measure(cases, write)
        print_row(title, outcomes)
        kinds = dict.fromkeys(item.kind for item, _ in cases)
        for kind in kinds if len(kinds) > 1 and write is not best_sentence else ():
            of_kind = [outcome for outcome, (item, _) in zip(outcomes, cases, strict=True) if item.kind == kind]
            print_row(f"  {kind}", of_kind)


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=5000)
    parser.add_argument("--sets", nargs="+", choices=(*NAMES, *HANDBOOKS), default=[*NAMES, *HANDBOOKS])
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    embedder = CachingEmbedder(make_embedder("bundled"), chosen.keep / "vectors.pickle" if chosen.keep else None)
    for name in chosen.sets:
        print_set(name, load_cases(folder, name, embedder)[: chosen.queries])


if __name__ == "__main__":
    main()
