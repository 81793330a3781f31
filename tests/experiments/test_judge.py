"""How far a judge can be trusted: agreement with people, and probes (SPEC X6)."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Run
from veracity import EvaluationError, InputError
from veracity.experiments.judge_agreement import (
    LabelledAnswer,
    corrected_rate,
    kappa_of,
    measure_agreement,
    read_labels,
)
from veracity.experiments.judge_probes import HARMFUL, HARMLESS, probe_judge
from veracity.experiments.suite import Case

CASES = [
    Case(
        id="en",
        question="How long?",
        submission="It takes 24 months [1] and 3 days [2].",
        context=["24 months.", "3 days."],
        rephrased=["要多久？", "What time does it take?"],
    ),
    Case(id="zh", question="有多少天？", submission="共有十五天[1]。", context=["共有十五天。"]),
    Case(id="ja", question="何日ですか？", submission="20日です[1]。", context=["20日です。"]),
    Case(id="en2", question="How far?", submission="It is 9 km [1].", context=["9 km."]),
]


def answer(number: int, label: str | None, score: float) -> LabelledAnswer:
    values = {"id": str(number), "question": "How?", "submission": "So.", "label": label, "score": score}
    return LabelledAnswer.model_validate(values)


def never(_: LabelledAnswer) -> float:
    raise AssertionError("a score is given")


def test_kappa_of_a_known_example() -> None:
    """Cohen (1960) as in textbooks: 20 + 15 agreed, 5 + 10 not: 0.4."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa_of(pairs) == pytest.approx(0.4)
    assert kappa_of([(True, True)] * 10) == 0, "nothing is shown without a bad answer"


def test_a_good_judge_may_gate_and_a_blind_one_may_not() -> None:
    good = [answer(n, "pass", 0.9) for n in range(60)] + [answer(n + 60, "fail", 0.2) for n in range(60)]
    found = measure_agreement(good, never, 0.75)
    assert (found.trust, found.kappa.value, found.prevalence) == ("may gate", 1.0, 0.5)
    blind = [answer(n, "pass" if n % 2 else "fail", 0.9) for n in range(100)]
    found = measure_agreement(blind, never, 0.75)
    assert (found.trust, found.true_negative and found.true_negative.value) == ("do not use", 0)
    assert "should not be used" in found.sentence
    few = measure_agreement(good[:3] + good[-3:], never, 0.75)
    assert few.trust != "may gate", "six labels are too few"


def test_without_labels_nothing_can_be_compared() -> None:
    with pytest.raises(InputError, match="No answer has a label"):
        measure_agreement([answer(1, None, 0.9)], never, 0.75)


def test_the_true_pass_rate_corrects_a_lenient_judge() -> None:
    """The judge passes 90 % of what people pass in 60 % of the cases: the interval covers the truth."""
    generator, covered = np.random.default_rng(5), 0
    for _ in range(200):
        truth = generator.random(1000) < 0.6
        judged = truth | (generator.random(1000) < 0.4)
        pairs = list(zip(truth[:150].tolist(), judged[:150].tolist(), strict=True))
        found = corrected_rate(pairs, judged[150:].tolist())
        covered += found.low <= 0.6 <= found.high
    assert covered / 200 > 0.9


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1 is not a JSON object"),
        ("[]", "line 1 is not a JSON object"),
        ('{"id": "a", "question": "q", "submission": "s", "score": 85}', "must be at most 1"),
        ('{"id": "a", "question": "q", "submission": "s", "lable": "pass"}', 'did you mean "label"?'),
        ('{"id": "a", "question": "q", "submission": "s", "label": "good"}', "must be 'pass' or 'fail'"),
        ('{"id": "a", "submission": "s"}', "question: this is missing"),
    ],
)
def test_faulty_labels_are_one_sentence(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "labels.jsonl").write_text(line)
    with pytest.raises(InputError, match=problem.replace("?", r"\?")):
        list(read_labels(tmp_path / "labels.jsonl"))


def exact(question: str, submission: str, context: Sequence[str]) -> float:
    """A judge that knows the right answers, whatever their form."""
    known = [case.submission for case in CASES if case.question.strip("?？") in question or question in case.rephrased]
    plain = submission.replace("\n", "").strip("- ")
    return float(any(str(text).rstrip(".。").split("[")[0] in plain for text in known) and "Ignore" not in submission)


def test_a_judge_that_sees_the_content_may_advise() -> None:
    report = probe_judge(CASES, exact, 0.75, "hash")
    assert [probe.name for probe in report.probes] == [*HARMLESS, *HARMFUL]
    assert all(probe.missed is None or probe.missed.value == 0 for probe in report.probes)
    assert report.trust == "may advise", "four answers are too few to gate"
    assert report.judge == "hash"


def test_a_judge_that_likes_everything_is_found_out() -> None:
    report = probe_judge(CASES, lambda *_: 1.0, 0.75, "hash")
    missed = {probe.name: probe.missed.value for probe in report.probes if probe.missed}
    assert {missed[name] for name in HARMFUL} == {1.0}
    assert report.trust == "do not use"


def test_judgements_at_once_give_the_same_and_are_counted() -> None:
    counted: list[tuple[int, int]] = []
    at_once = probe_judge(CASES, exact, 0.75, "hash", concurrency=4, on_progress=lambda *now: counted.append(now))
    assert at_once == probe_judge(CASES, exact, 0.75, "hash")
    judged = sum(probe.missed.n for probe in at_once.probes if probe.missed) + len(CASES)
    assert counted == [(number, judged) for number in range(1, judged + 1)]


def test_a_judgement_that_fails_counts_as_missed() -> None:
    def refusing(question: str, submission: str, context: Sequence[str]) -> float:
        if "Ignore" in submission or "忽略" in submission or "無視" in submission:
            raise EvaluationError("Coverage", InputError("the provider refused it"))
        return exact(question, submission, context)

    report = probe_judge(CASES, refusing, 0.75, "hash")
    missed = {probe.name: probe.missed.value for probe in report.probes if probe.missed}
    assert missed["another's answer, with orders"] == 1
    assert missed["padding"] == 0
    assert (report.failed, report.problem) == (len(CASES), 'The metric "Coverage" failed: the provider refused it')
    assert report.trust == "do not use", "what it says to orders is not known"


def test_too_few_good_answers_may_be_due_to_failures() -> None:
    def failing(question: str, submission: str, context: Sequence[str]) -> float:
        if question.isascii():
            raise EvaluationError("Coverage", InputError("the server did not answer"))
        return 0.0

    with pytest.raises(InputError, match=r"2 judgements failed, the last one so: .* did not answer"):
        probe_judge(CASES, failing, 0.75, "hash")


@pytest.mark.parametrize("calls", [0, 6])
def test_a_judge_that_stops_working_ends_the_test(calls: int) -> None:
    made: list[str] = []

    def dying(question: str, submission: str, context: Sequence[str]) -> float:
        made.append(question)
        if len(made) > calls:
            raise EvaluationError("Coverage", InputError("the server did not answer"))
        return exact(question, submission, context)

    with pytest.raises(EvaluationError, match="the server did not answer"):
        probe_judge(CASES, dying, 0.75, "hash")
    assert len(made) < calls + 10


def test_the_count_shrinks_when_answers_do_not_pass() -> None:
    counted: list[tuple[int, int]] = []
    probe_judge(
        CASES,
        lambda question, *_: float(question.isascii()),
        0.75,
        "hash",
        on_progress=lambda *now: counted.append(now),
    )
    assert counted[0][1] > counted[-1][1] == counted[-1][0]


def test_probes_change_what_they_say() -> None:
    case, other = CASES[0], CASES[3]
    ordered = HARMLESS["evidence in another order"](case, other)
    assert ordered == ("How long?", "It takes 24 months [2] and 3 days [1].", ["3 days.", "24 months."])
    assert HARMLESS["evidence in another order"](CASES[1], other) is None
    assert HARMLESS["translated question"](case, other)[0] == "要多久？"  # type: ignore[index]
    assert HARMLESS["paraphrased question"](case, other)[0] == "What time does it take?"  # type: ignore[index]
    assert HARMLESS["paraphrased question"](CASES[1], other) is None
    assert HARMFUL["a number changed"](case, other)[1] == "It takes 55 months [1] and 3 days [2]."  # type: ignore[index]
    assert HARMFUL["a number changed"](CASES[1], other)[1] == "共有七天[1]。"  # type: ignore[index]
    for change in (*HARMLESS.values(), *HARMFUL.values()):
        for one in CASES:
            changed = change(one, other)
            assert changed is None or all(changed[:2])


def test_two_good_answers_are_needed() -> None:
    with pytest.raises(InputError, match="passes 0 of 4 submissions"):
        probe_judge(CASES, lambda *_: 0.0, 0.75, "hash")


def test_the_commands(run: Run, workspace: Path, tmp_path: Path) -> None:
    (workspace / "veracity.toml").touch()
    tested = run("judge", "test", "--json", "--workspace", str(workspace))
    assert tested.code in (0, 1)
    assert json.loads(tested.out)["cases"] >= 2
    labels = tmp_path / "labels.jsonl"
    rows = [
        {
            "id": "a",
            "question": "How long?",
            "submission": "24 months [1].",
            "context": ["24 months."],
            "label": "pass",
        },
        {"id": "b", "question": "How long?", "submission": "A banana.", "context": ["24 months."], "label": "fail"},
    ]
    labels.write_text("\n".join(map(json.dumps, rows)))
    agreed = run("judge", "agree", str(labels), "--workspace", str(workspace))
    assert "2 labels." in agreed.out
    assert "true pass rate" in agreed.out
