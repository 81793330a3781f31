"""`veracity experiment` as a user types it: exit codes, messages and files (SPEC X6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Run

CASES: list[dict[str, Any]] = [
    {"id": "leave", "question": "How many days of annual leave do full-time staff in Dublin get?"},
    {"id": "moon", "question": "What does a taxi to the moon cost?", "expect": "abstain"},
]


@pytest.fixture
def suite(filled: Path) -> Path:
    (filled / "evals").mkdir()
    file = filled / "evals" / "team.jsonl"
    file.write_text("\n".join(map(json.dumps, CASES)))
    return file


def test_run_show_compare_and_report(run: Run, filled: Path, suite: Path) -> None:
    where = ("--workspace", str(filled))
    assert run("experiment", "list", *where).out == "No experiments yet: veracity experiment run SUITE.\n"
    assert run("experiment", "check", "team", *where).out.endswith("team.jsonl: 2 cases, valid.\n")
    first = run("experiment", "run", "team", "--name", "base", *where)
    assert (first.code, "base: 2 cases; 2 to run." in first.err) == (0, True)
    assert first.out.startswith("base: ")
    again = run("experiment", "run", "team", "--name", "base", *where)
    assert "2 finished" in again.err
    other = run("experiment", "run", "team", "--name", "new", "--set", "answering.evidence=3", "--json", *where)
    assert json.loads(other.out)["summary"]["manifest"]["overrides"] == ["answering.evidence=3"]
    compared = run("experiment", "compare", "base", "new", "--gate", *where)
    assert (compared.code, compared.out.startswith("Cannot tell whether new is better than base")) == (6, True)
    assert "What differs: settings" in compared.out
    listed = json.loads(run("experiment", "list", "--json", *where).out)
    assert [item["name"] for item in listed] == ["new", "base"]
    assert "base" in run("experiment", "show", "base", *where).out
    report = run("experiment", "report", "last", "--against", "base", "-o", str(filled / "out"), *where)
    assert report.code == 0
    assert {file.name for file in (filled / "out").iterdir()} == {
        "report.html",
        "summary.json",
        "summary.md",
        "junit.xml",
    }


@pytest.mark.parametrize(
    ("gate", "code"),
    [("pass_rate = 0", 0), ("pass_rate = 1", 6), ("baseline = 'missing'", 2), ("baseline = 'last'", 2)],
)
def test_the_gate_decides_the_exit_code(run: Run, filled: Path, suite: Path, gate: str, code: int) -> None:
    suite.with_suffix(".toml").write_text(f"[gate]\n{gate}\n")
    assert run("experiment", "run", "team", "--gate", "--workspace", str(filled)).code == code


def test_a_gate_needs_requirements(run: Run, filled: Path, suite: Path) -> None:
    ran = run("experiment", "run", "team", "--gate", "--workspace", str(filled))
    assert ran.code == 2
    assert '--gate has nothing to check: the suite "team" has no [gate]' in ran.err
    assert not any(filled.glob("**/results*"))  # before any case ran


def test_a_failed_gate_exits_with_1(run: Run, filled: Path, suite: Path) -> None:
    cases = [{**CASES[0], "id": f"c{number}", "answers": ["nothing like that"]} for number in range(5)]
    suite.write_text("\n".join(map(json.dumps, cases)))
    suite.with_suffix(".toml").write_text("[gate]\npass_rate = 0.9\n")
    ran = run("experiment", "run", "team", "--gate", "--workspace", str(filled))
    assert ran.code == 1
    assert "Gate: failed" in ran.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "taem"), 'There is no suite "taem": suites are: team.'),
        (("run", "team", "--set", "models.wrtier=x"), 'did you mean "writer"?'),
        (("run", "team", "--set", "answering.evidence=many"), "must be a whole number"),
        (("run", "team", "--set", "store.ledger=x"), 'there is no section "store"'),
        (("run", "team", "--set", "nonsense"), "write --set SECTION.KEY=VALUE"),
        (("run", "team", "--set", "models.judge=sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF0123456789abcdef"), "not shown"),
        (("run", "team", "--repeat", "0"), "--repeat must be at least 1"),
        (("run", "team", "--name", "../x"), "cannot name an experiment"),
        (("run", "team", "--budget-usd", "-1"), "--budget-usd must be more than 0"),
        (("show", "missing"), 'There is no experiment "missing".'),
        (("run", "team", "--language", "fr"), "--language must be en, zh or ja, not fr."),
        (("show", "last"), "There is no experiment yet"),
        (("compare", "a", "b"), 'There is no experiment "a".'),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run, filled: Path, suite: Path, arguments: tuple[str, ...], problem: str
) -> None:
    ran = run("experiment", *arguments, "--workspace", str(filled))
    assert ran.code == 2
    assert problem in ran.err
    assert ran.err.count("\n") == 1
    assert "0123456789abcdef" not in ran.err


def test_forgetting_removes_reports(run: Run, filled: Path, suite: Path) -> None:
    """They quote documents. The results stay: they hold no text."""
    where = ("--workspace", str(filled))
    run("experiment", "run", "team", "--name", "base", *where)
    folder = filled / "experiments" / "base"
    assert (folder / "report.html").exists()
    document = json.loads(run("documents", "--json", *where).out)[0]["id"]
    assert run("forget", document, *where).code == 0
    assert not (folder / "report.html").exists()
    assert (folder / "results.jsonl").exists()
    assert run("experiment", "report", "base", *where).code == 0


def test_the_page_of_a_report_is_in_the_readers_language(
    filled: Path, suite: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, page = ("--workspace", str(filled)), filled / "experiments" / "base" / "report.html"
    run("experiment", "run", "team", "--name", "base", "--language", "ja", *where)
    assert '<html lang="ja">' in page.read_text()
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run("experiment", "report", "base", *where).code == 0
    assert "费用与时间" in page.read_text()
    assert run("experiment", "report", "base", "--language", "en", *where).code == 0
    assert "Cost and time" in page.read_text()
