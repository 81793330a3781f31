"""Does the product without a model answer when it can, abstain when it cannot, and hold what it should not release?

    python -m benchmarks.answers DIRECTORY [--sets clapnq rgb jsquad mtrag_un handbook_zh …] [--keep FOLDER]

The directory contains `NAME.items.jsonl` and `NAME.corpus.jsonl`; it can also be set as VERACITY_DATA. Questions are
asked through `Veracity.ask`, so that rewriting, review, scoring and the gate are in the figures. Each question of rgb
is asked six times: with three samples of five passages of which two contain the answer, and three of five that do not.
The questions of mtrag_un are searched in its whole corpus, as typed. The bundled handbook has twelve questions per
language, each asked over the whole handbook and again without the documents that answer it. Further sets, on which
nothing was tuned, come from `benchmarks.answers.other_sources`.

"balanced" is the mean of two shares: answerable questions that are answered, and others that are not; an answer that
waits for a person counts as answered. "right" answers contain the gold answer (where the set has one); "unfounded" ones
do not, or answer a question that the evidence does not answer. Both are split into released and held for a person.
"citations" is the share of sentences with a single citation that exists and contains them verbatim.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.answers.asking import Asker, asker
from benchmarks.answers.cases import HANDBOOKS, Case, load_cases
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.items import NAMES
from benchmarks.answers.other_sources import OTHER_NAMES
from benchmarks.answers.outcome import Outcome, make_outcome
from benchmarks.answers.releases import HEADINGS, Release, format_releases
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.base import WriterOutput
from veracity.embedding import make_embedder


def measure(case: Case, asker: Asker) -> tuple[Release, Outcome]:
    item, store = case
    asked = asker.ask(item.question, store)
    written = WriterOutput(asked.draft.text, asked.abstains)
    outcome = make_outcome(item, asked.draft.evidence, written, asked.seconds)
    release = Release(item.answerable, not asked.abstains, asked.is_released, outcome.holds_gold, asked.seconds)
    return release, outcome


def print_rows(title: str, measured: Sequence[tuple[Release, Outcome]]) -> None:
    sound = [sound for _, outcome in measured for sound in outcome.sound]
    cells = [*format_releases([release for release, _ in measured]), f"{fmean(sound):.1%}" if sound else "–"]
    print(f"  {title:28}", *(f"{cell:>10}" for cell in cells), flush=True)


def print_set(name: str, cases: Sequence[Case], asker: Asker) -> None:
    print(f"\n{name} ({cases[0][0].language}), {len(cases)} questions")
    print(f"  {'':28}", *(f"{heading:>10}" for heading in (*HEADINGS, "citations")))
    measured = [measure(case, asker) for case in cases]
    print_rows("all", measured)
    kinds = dict.fromkeys(item.kind for item, _ in cases)
    for kind in kinds if len(kinds) > 1 else ():
        print_rows(f"  {kind}", [row for row, (item, _) in zip(measured, cases, strict=True) if item.kind == kind])


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=5000)
    parser.add_argument("--sets", nargs="+", choices=(*NAMES, *HANDBOOKS, *OTHER_NAMES), default=[*NAMES, *HANDBOOKS])
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    keep: Path | None = chosen.keep
    embedder = CachingEmbedder(make_embedder("bundled"), keep / "vectors.pickle" if keep else None)
    for name in chosen.sets:
        cases = load_cases(folder, name, embedder)[: chosen.queries]
        with asker(embedder) as asks:
            print_set(name, cases, asks)
        embedder.save()


if __name__ == "__main__":
    main()
