"""Comparisons, gates and reports of experiments, from results that a test wrote (SPEC X6)."""

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from veracity import InputError
from veracity.experiments import records
from veracity.experiments.comparison import compare
from veracity.experiments.gate import check_gate
from veracity.experiments.records import CaseResult, Manifest, Records
from veracity.experiments.report import describe, make_report, render_html, render_junit, render_markdown, write_report
from veracity.experiments.suite import Gate, SuiteSettings
from veracity.experiments.summary import Summary, risk_coverage, summarize
from veracity.models import Receipt


def no_receipt(run_id: str) -> Receipt | None:
    return None


def experiment(folder: Path, name: str, outcomes: list[bool], **changes: Any) -> Records:
    settings = changes.pop("settings", SuiteSettings())
    manifest = Manifest(
        name=name,
        suite="team",
        suite_file="team.jsonl",
        created=records.now(),
        version="1",
        models={"writer": "test:writer"},
        hashes={"settings": name, "suite": "s"},
        cases=changes.pop("cases", len(outcomes)),
        settings=settings,
    )
    made = Records(folder / "experiments" / name, manifest)
    made.create()
    with made.open() as appender:
        for number, passed in enumerate(outcomes):
            values = {
                "case": f"c{number}",
                "digest": "d",
                "group": f"case c{number}",
                "language": "en" if number % 2 else "zh",
                "expect": "answer",
                "status": "answered",
                "passed": passed,
                "faults": [] if passed else ["does not say “<b>24</b>”"],
                "score": 0.9 if passed else 0.4,
                "metrics": {"Groundedness": 100.0 if passed else 50.0},
                "run_id": f"run-{number}",
                **changes,
            }
            appender.append(CaseResult.model_validate(values))
    return made


def test_a_clear_improvement_is_called_better(tmp_path: Path) -> None:
    a = experiment(tmp_path, "a", [True] * 60 + [False] * 40)
    b = experiment(tmp_path, "b", [True] * 90 + [False] * 10)
    found = compare(a, b)
    assert (found.verdict, found.cases, found.improvement_count, found.regression_count) == ("better", 100, 30, 0)
    assert found.sentence.startswith("b is better than a: 90.0 % of 100 cases passed, against 60.0 % (+30.0")
    assert found.differs == ["settings"]
    assert {test.measure for test in found.slices} == {"en", "zh"}
    assert [test.measure for test in found.metrics] == ["Groundedness"]
    assert compare(b, a).verdict == "worse"


def test_the_same_results_are_equivalent_or_too_few(tmp_path: Path) -> None:
    few = experiment(tmp_path, "few", [True] * 10)
    found = compare(few, experiment(tmp_path, "few2", [True] * 10))
    assert found.verdict == "cannot tell"
    assert "more cases" in found.sentence
    assert found.passed.more_cases
    many = experiment(tmp_path, "many", [True] * 100)
    assert compare(many, experiment(tmp_path, "many2", [True] * 100)).verdict == "equivalent"


def test_changed_cases_are_left_out(tmp_path: Path) -> None:
    a, b = experiment(tmp_path, "a", [True] * 5), experiment(tmp_path, "b", [True] * 7, digest="other")
    with pytest.raises(InputError, match="no finished case in common"):
        compare(a, b)
    c = experiment(tmp_path, "c", [True] * 3)
    found = compare(a, c)
    assert (found.cases, found.left_out) == (3, 2)


@pytest.mark.parametrize(
    ("passed", "least", "outcome"), [(98, 0.9, "passed"), (60, 0.9, "failed"), (90, 0.9, "cannot tell")]
)
def test_a_gate_is_met_by_the_whole_interval(tmp_path: Path, passed: int, least: float, outcome: str) -> None:
    made = experiment(tmp_path, "a", [True] * passed + [False] * (100 - passed))
    verdict = check_gate(Gate(pass_rate=least), summarize(made), None)
    assert verdict.outcome == outcome
    assert "95 % interval" in verdict.requirements[0].sentence


def test_a_gate_can_require_scores_and_a_baseline(tmp_path: Path) -> None:
    good, bad = experiment(tmp_path, "good", [True] * 100), experiment(tmp_path, "bad", [False] * 100)
    gate = Gate(baseline="good", metrics={"Groundedness": 80}, wrong_released=0.1)
    verdict = check_gate(gate, summarize(bad), compare(good, bad))
    assert [item.outcome for item in verdict.requirements] == ["failed", "failed", "failed"]
    same = experiment(tmp_path, "same", [True] * 100)
    assert check_gate(gate, summarize(same), compare(good, same)).outcome == "passed"
    missing = check_gate(Gate(metrics={"Clarity": 80}), summarize(same), None)
    assert (missing.outcome, missing.requirements[0].sentence) == ("cannot tell", "Clarity: nothing was measured.")


def test_an_unfinished_experiment_never_passes_its_gate(tmp_path: Path) -> None:
    made = experiment(tmp_path, "a", [True] * 100, cases=200)
    summary = summarize(made)
    assert (summary.not_run, summary.status) == (100, "incomplete")
    assert check_gate(Gate(), summary, None).outcome == "cannot tell"
    assert "100 of 200 were not run" in describe(summary)


def test_a_few_clusters_pass_no_gate(tmp_path: Path) -> None:
    made = experiment(tmp_path, "a", [True] * 97 + [False] * 3, group="cluster a")
    rows = list(made.results())
    split = [row.model_copy(update={"group": f"cluster {index % 4}"}) for index, row in enumerate(rows)]
    (made.folder / "results.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in split))
    summary = summarize(made)
    assert summary.passed
    assert summary.passed.method == "cluster-robust bootstrap"
    assert check_gate(Gate(pass_rate=0.5), summary, None).outcome == "cannot tell"


def test_a_result_counts_once(tmp_path: Path) -> None:
    made = experiment(tmp_path, "a", [True, False])
    file = made.folder / "results.jsonl"
    file.write_bytes(file.read_bytes() * 2)
    summary = summarize(made)
    assert (summary.finished, summary.not_run, summary.missed_count) == (2, 0, 1)
    assert made.is_complete


def test_risk_and_coverage() -> None:
    points = risk_coverage([(0.9, True), (0.8, True), (0.8, False), (0.2, False)], 8)
    assert [(point.threshold, point.coverage, round(point.risk, 2)) for point in points] == [
        (0.9, 0.125, 0.0),
        (0.8, 0.375, 0.33),
        (0.2, 0.5, 0.5),
    ]
    assert len(risk_coverage([(number / 1000, True) for number in range(1000)], 1000)) <= 201


def test_reports_are_whole_and_escaped(tmp_path: Path) -> None:
    a = experiment(tmp_path, "a", [True] * 30)
    b = experiment(tmp_path, "b", [True] * 20 + [False] * 10)
    summary, comparison = summarize(b), compare(a, b)
    report = make_report(summary, comparison, check_gate(Gate(pass_rate=0.9), summary, comparison))
    page = render_html(report, no_receipt)
    assert "b is worse than a" in page
    assert "<b>24</b>" not in page
    assert "&lt;b&gt;24" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.index("Regressions (10)") < page.index("Cost and time")
    assert "\\<b\\>24" in render_markdown(report)
    suite = ElementTree.fromstring(render_junit(report))
    assert (suite.get("failures"), len(suite.findall("testcase/failure"))) == ("10", 10)
    files = write_report(b.folder, report, no_receipt)
    assert [file.name for file in files] == ["summary.json", "summary.md", "junit.xml", "report.html"]
    stored = json.loads(files[0].read_text())
    assert stored["verdict"] == report.verdict
    assert Summary.model_validate(stored["summary"]) == summary


def texts_of(page: str) -> str:
    """What a reader sees: without style sheet and tags."""
    shown = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return html.unescape(" ".join([*re.findall(r'aria-label="([^"]*)"', shown), re.sub(r"<[^>]*>", " ", shown)]))


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]{2,}", text))


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_the_page_is_in_the_language_of_its_reader(tmp_path: Path, language: str) -> None:
    """No English word is left, besides names, methods of statistics, and what was recorded."""
    a = experiment(tmp_path, "a", [True] * 30)
    b = experiment(tmp_path, "b", [True] * 20 + [False] * 10, cases=40)
    gate = Gate(pass_rate=0.9, wrong_released=0.1, metrics={"Groundedness": 80, "Clarity": 80}, baseline="a")
    alone, both = summarize(b), compare(a, b)
    reports = [
        make_report(alone, both, check_gate(gate, alone, both)),
        make_report(alone, None, check_gate(gate, alone, None)),
        make_report(summarize(experiment(tmp_path, "c", [], cases=5)), None, None),
    ]
    faults = {fault for case in alone.missed for fault in case.faults}
    intervals = [alone.passed, alone.released, alone.wrong_released, both.passed.difference, *alone.metrics.values()]
    methods = {both.passed.method, *(interval.method for interval in intervals if interval)}
    names = "Groundedness Clarity en zh team run-1 writer test:writer settings suite UTC Veracity Holm results.jsonl"
    allowed = words_of(f"{faults} {methods} {names}")
    for report in reports:
        page = render_html(report, no_receipt, language)
        assert f'<html lang="{language}">' in page
        assert words_of(texts_of(page)) - allowed == set()


def test_an_experiment_without_results_has_a_report(tmp_path: Path) -> None:
    made = experiment(tmp_path, "a", [], cases=5)
    report = make_report(summarize(made), None, None)
    assert report.verdict == "a: no case was finished."
    assert "Not run (5)" in render_html(report, no_receipt)


def test_names_of_experiments_are_file_names(tmp_path: Path) -> None:
    for name in ("../x", "", "a/b", ".hidden", "x" * 101, "a\nb", "last", "実" * 90):
        with pytest.raises(InputError, match="cannot name an experiment"):
            records.experiment_folder(tmp_path, name)
    assert records.experiment_folder(tmp_path, "実験-1.2").name == "実験-1.2"
    assert records.next_name(tmp_path, "team") == "team-1"
    experiment(tmp_path, "team-1", [True])
    assert records.next_name(tmp_path, "team") == "team-2"


def test_a_damaged_manifest_is_reported(tmp_path: Path) -> None:
    made = experiment(tmp_path, "a", [True])
    (made.folder / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="it is not a manifest"):
        Records.load(made.folder)
    assert records.list_experiments(tmp_path) == []
