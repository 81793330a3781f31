"""The approval gate: right answers that are released, and wrong ones that are held.

The answers of `benchmarks.gate`: right answers of the extractive writer, the same made wrong, and those of people. They
are written once with all rules, so that a rule is judged by its effect on review and metrics alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.ablation.answering import load_evidence
from benchmarks.ablation.items import Context, Item
from benchmarks.gate import SETS, Submission, check, extractive_answers, human_answers, make_wrong
from veracity.evaluator import Evaluator

LANGUAGES = {"clapnq": "en", "rgb": "zh", "jsquad": "ja"}
RIGHT = ("right", "by people")
RIGHT_SHARE, WRONG_SHARE = 0.25, 0.125  # of the sample size, for each set and kind


def gate_answers(context: Context, _model: str) -> Iterator[Item]:
    evaluator = Evaluator(settings=context.settings, only_named_judges=True)
    for name in SETS:
        written = list(extractive_answers(load_evidence(context, name, "bundled"), context.writer_for("bundled")))
        groups = [[answer for answer in written if answer.kind == "right"]]
        if name == "clapnq":
            groups.append(list(human_answers(context.directory)))
        wrong = [answer for answer in written if answer.kind != "right"]
        for group in groups:
            wrong += make_wrong(group)
            for answer in context.sample(group, RIGHT_SHARE):
                yield _item(context, evaluator, answer, LANGUAGES[name])
        for kind in dict.fromkeys(answer.kind for answer in wrong):
            for answer in context.sample([answer for answer in wrong if answer.kind == kind], WRONG_SHARE):
                yield _item(context, evaluator, answer, LANGUAGES[name])


def _item(context: Context, evaluator: Evaluator, answer: Submission, language: str) -> Item:
    def score() -> Mapping[str, float]:
        held = check(answer, evaluator, context.settings).held
        if answer.kind in RIGHT:
            return {"gate, right released": float(not held)}
        return {"gate, wrong held": float(held)}

    return Item(language, answer.kind, score)
