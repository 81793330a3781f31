"""Does the writer that needs no model answer when it can, abstain when it cannot, and cite what it says?

    python -m benchmarks.answering DIRECTORY [--sets clapnq rgb jsquad mtrag_un handbook_zh …] [--keep FOLDER]

The directory holds `NAME.items.jsonl` and `NAME.corpus.jsonl`; VERACITY_DATA can name it as well. Evidence is made as
the product makes it, from the passages that come with each question. Of rgb each question is asked six times: with
three draws of five passages of which two hold the answer, and of five that do not. The questions of mtrag_un are
searched for in its whole corpus, as typed. The handbook that comes with Veracity is asked twelve questions a language,
each over all of it, and once more without the documents that answer it.

"balanced" is the mean of the two beside it: the share of answerable questions that it answers, and of others on which
it abstains. "gold in it" is the share of all answers given that hold the known answer, "gold cited" the share of
sentences, of answers to answerable questions, that cite a passage which holds it. "citations" are the sentences whose
one citation exists and has them word for word. The baseline answers every question with the best sentence of the first
passage. Milliseconds are those of writing alone; with an embedder they hold its work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.answering.evidence import ItemStore, RememberingEmbedder, evidence_of
from benchmarks.answering.handbook import NAMES as HANDBOOKS
from benchmarks.answering.handbook import handbook_cases
from benchmarks.answering.measuring import HEADINGS, Outcome, outcome, row
from benchmarks.answering.sets import NAMES, Item, load
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.extract.candidates import ranked_candidates
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.writer import WritingTask, Written
from veracity.embedding import make_embedder
from veracity.language import sentences
from veracity.language.citations import without_marks
from veracity.models import Evidence

Write = Callable[[str, Sequence[Evidence]], Written]
Case = tuple[Item, list[Evidence]]


def best_sentence(question: str, evidence: Sequence[Evidence]) -> Written:
    """The baseline: abstains only where there is no evidence at all."""
    _, ranked = ranked_candidates(question, evidence[:1])
    found = [one.sentence for one in ranked] or [one for item in evidence[:1] for one in sentences(item.text)]
    return Written(f"{without_marks(found[0].text)} [1]") if found else Written("", abstains=True)


def cases(folder: Path, name: str, embedder: RememberingEmbedder) -> list[Case]:
    if name in HANDBOOKS:
        found = list(handbook_cases(name, embedder))
    else:
        items, corpus = load(folder, name)
        whole = ItemStore(corpus.values(), embedder) if any(item.passages is None for item in items) else None
        found = [(item, evidence_of(item, embedder, whole)) for item in items]
    embedder.save()
    return found


def measured(given: Sequence[Case], write: Write) -> list[Outcome]:
    found = []
    for item, evidence in given:
        started = time.perf_counter()
        written = write(item.question, evidence)
        found.append(outcome(item, evidence, written, time.perf_counter() - started))
    return found


def show(title: str, outcomes: Sequence[Outcome]) -> None:
    print(f"  {title:28}", *(f"{cell:>10}" for cell in row(outcomes)), flush=True)


def report(name: str, given: Sequence[Case]) -> None:
    print(f"\n{name} ({given[0][0].language}), {len(given)} questions")
    print(f"  {'':28}", *(f"{heading:>10}" for heading in HEADINGS))
    ways: dict[str, Write] = {"best sentence, always": best_sentence}
    makers = {"extractive, words only": ExtractiveWriter()}
    if given[0][0].language == "en":
        makers["extractive, with meaning"] = ExtractiveWriter(make_embedder("bundled"))
    for title, writer in makers.items():
        ways[title] = lambda question, evidence, writer=writer: writer.write(  # type: ignore[misc]
            WritingTask(question, evidence, ())
        )
    for title, write in ways.items():
        outcomes = measured(given, write)
        show(title, outcomes)
        kinds = dict.fromkeys(item.kind for item, _ in given)
        for kind in kinds if len(kinds) > 1 and write is not best_sentence else ():
            show(f"  {kind}", [one for one, (item, _) in zip(outcomes, given, strict=True) if item.kind == kind])


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=5000)
    parser.add_argument("--sets", nargs="+", choices=(*NAMES, *HANDBOOKS), default=[*NAMES, *HANDBOOKS])
    given = parser.parse_args()
    folder = data_folder(given.directory)
    embedder = RememberingEmbedder(make_embedder("bundled"), given.keep / "vectors.pickle" if given.keep else None)
    for name in given.sets:
        report(name, cases(folder, name, embedder)[: given.queries])


if __name__ == "__main__":
    main()
