"""What the answer reader adds to the rules: which unit is chosen, and whether a question has an answer.

    python -m benchmarks.answers.reading DIRECTORY [--others FOLDER] [--keep FOLDER] [--limit 120]

FOLDER contains the sets of `benchmarks.answers.other_sources`. "choice" is how often the best unit contains a gold
answer, of the answerable questions whose answer is in the evidence; "AUC" the probability that an answerable question
scores higher than one without an answer. Each by the rules, by the reader alone, and by both as the product does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.answers.calibration import OTHER_SETS, SETS
from benchmarks.answers.cases import CaseWithEvidence, load_cases_with_evidence
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.answers.outcome import bare
from benchmarks.local_metrics import auc
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.extract.answerability import answer_probability, compute_signals, keep_right_subject
from veracity.agents.extract.candidates import Candidate, detect_language, rank_candidates
from veracity.answer_reader import UNREAD, AnswerReader, make_answer_reader
from veracity.embedding import make_embedder


class Chosen(NamedTuple):
    """The best unit by one method: whether it has the answer, and the score that some unit has."""

    is_right: bool
    score: float


class Row(NamedTuple):
    is_answerable: bool
    is_there: bool  # the gold answer is in the evidence
    by_method: tuple[Chosen, Chosen, Chosen]


def measure(case: CaseWithEvidence, embedder: CachingEmbedder, reader: AnswerReader) -> Row:
    item, evidence = case
    gold = [plain for text in (*item.answers, *item.support) if (plain := bare(text))]

    def has_answer(candidate: Candidate) -> bool:
        return any(answer in bare(candidate.text) for answer in gold)

    def choose(used: AnswerReader | None) -> tuple[list[Candidate], Chosen]:
        wanted, ranked = rank_candidates(item.question, evidence, embedder, used)
        kept = keep_right_subject(item.question, ranked, evidence)
        if not kept:
            return ranked, Chosen(False, 0.0)
        signals = compute_signals(wanted, ranked, evidence, embedder, kept)
        language = detect_language(item.question, evidence)
        return ranked, Chosen(has_answer(kept[0]), answer_probability(signals, language))

    _, rules = choose(None)
    read, both = choose(reader)
    best = max(read, key=_reading, default=None)
    alone = Chosen(has_answer(best), _reading(best)) if best else Chosen(False, UNREAD)
    return Row(item.answerable, any(map(has_answer, read)), (rules, alone, both))


def _reading(candidate: Candidate) -> float:
    return UNREAD if candidate.reading is None else candidate.reading


def format_row(name: str, rows: Sequence[Row]) -> str:
    there = [row for row in rows if row.is_answerable and row.is_there]
    choices = [sum(row.by_method[method].is_right for row in there) / max(1, len(there)) for method in range(3)]
    numbers = [_auc(rows, method) for method in range(3)]
    shown = ["" if value is None else f"{value:.3f}" for value in (*(choices if there else [None] * 3), *numbers)]
    return f"{name:16}{len(rows):5}" + "".join(f"{text:>8}" for text in shown)


def _auc(rows: Sequence[Row], method: int) -> float | None:
    positive = [row.by_method[method].score for row in rows if row.is_answerable]
    negative = [row.by_method[method].score for row in rows if not row.is_answerable]
    return auc(positive, negative) if positive and negative else None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--others", type=Path)
    parser.add_argument("--limit", type=int, default=120, help="questions of a set (default 120)")
    chosen = parser.parse_args()
    folder, keep = data_folder(chosen.directory), chosen.keep
    embedder = CachingEmbedder(make_embedder("bundled"), keep / "vectors.pickle" if keep else None)
    reader = make_answer_reader("bundled")
    assert reader is not None
    sets = [(folder, name) for names in SETS.values() for name in names]
    if chosen.others:
        sets += [(chosen.others, name) for names in OTHER_SETS.values() for name in names]
    print(f"{'':21}{'choice of the unit':>24}{'AUC, has an answer':>24}")
    print(f"{'':16}{'n':>5}" + 2 * f"{'rules':>8}{'reader':>8}{'both':>8}", flush=True)
    for where, name in sets:
        cases = list(load_cases_with_evidence(where, name, embedder))[: chosen.limit]
        print(format_row(name, [measure(case, embedder, reader) for case in cases]), flush=True)
        embedder.save()


if __name__ == "__main__":
    main()
