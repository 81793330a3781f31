"""Suites: what a case may say, and one sentence for every fault (SPEC X6)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity import InputError, VeracityError
from veracity.experiments.suite import Case, find_suite, open_suite

CASE = {"id": "leave", "question": "How many days of leave?"}


def write(folder: Path, *cases: Any, name: str = "team.jsonl") -> Path:
    path = folder / name
    lines = (case if isinstance(case, str) else json.dumps(case, ensure_ascii=False) for case in cases)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_suite_is_read_twice_with_the_same_result(tmp_path: Path) -> None:
    suite = open_suite(write(tmp_path, CASE, "", {**CASE, "id": "b", "tags": ["hr"], "cluster": "c"}))
    assert suite.ids == ("leave", "b")
    first, second = suite.cases()
    assert (first.expect, first.group, second.group) == ("answer", "case leave", "cluster c")
    assert list(suite.cases()) == [first, second]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("{", "line 2 is not a JSON object"),
        ("[1]", "line 2 is not a JSON object"),
        ({**CASE, "id": "b", "questoin": "x"}, 'there is no key "questoin" (did you mean "question"?)'),
        ({"id": "b"}, "line 2, question: this is missing"),
        ({**CASE, "id": " "}, "line 2, id = ' ': must not be empty"),
        ({**CASE, "id": "b", "expect": "maybe"}, "expect = 'maybe': must be 'answer' or 'abstain'"),
        ({**CASE, "id": "b", "expect": "abstain", "answers": ["x"]}, "remove answers and must_cite"),
        ({**CASE, "id": "b", "context": ["x"]}, "add submission, or remove context"),
        ({**CASE, "id": "b", "submission": "x", "answers": ["y"]}, "a submission is only scored"),
        ({**CASE, "id": "b", "language": "ja"}, 'language is "ja", but the question is not written in it'),
        ({**CASE, "id": "b", "answers": "x"}, "line 2, answers"),
        (CASE, 'cases 1 and 2 have the same id "leave": rename one'),
    ],
)
def test_a_fault_is_one_sentence_with_its_place(tmp_path: Path, case: Any, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        open_suite(write(tmp_path, CASE, case))
    assert problem in str(raised.value)
    assert "team.jsonl" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_empty_suite_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no cases"):
        open_suite(write(tmp_path, ""))
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é"}'.encode("latin-1"))
    with pytest.raises(InputError, match="line 1 is not UTF-8"):
        open_suite(tmp_path / "latin.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        open_suite(tmp_path / "missing.jsonl")


def test_a_table_is_a_suite_too(tmp_path: Path) -> None:
    path = write(tmp_path, "id,question,answers,tags", 'a,"Leave, how long?",24|25 days,hr', name="team.csv")
    (case,) = open_suite(path).cases()
    assert (case.question, case.answers, case.tags) == ("Leave, how long?", ["24", "25 days"], ["hr"])
    with pytest.raises(InputError, match="line 2 has another number of columns"):
        open_suite(write(tmp_path, "id,question", "a,b,c", name="wide.csv"))


def test_settings_lie_beside_the_suite(tmp_path: Path) -> None:
    path = write(tmp_path, CASE)
    (tmp_path / "team.toml").write_text("repeats = 3\nmargin = 0.1\n[gate]\npass_rate = 0.9\n")
    suite = open_suite(path)
    assert (suite.settings.repeats, suite.settings.gate.pass_rate) == (3, 0.9)
    (tmp_path / "team.toml").write_text("repeat = 3\n")
    with pytest.raises(InputError, match='did you mean "repeats"'):
        open_suite(path)


def test_an_edited_suite_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, CASE)
    suite = open_suite(path)
    write(tmp_path, {**CASE, "question": "Another question?"})
    with pytest.raises(InputError, match="has changed meanwhile"):
        list(suite.cases())
    write(tmp_path, CASE)
    (tmp_path / "team.toml").write_text("repeats = 2\n")
    with pytest.raises(InputError, match="has changed meanwhile"):
        list(suite.cases())


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    suite = open_suite(write(tmp_path, *({**CASE, "id": str(number)} for number in range(50))))
    assert suite.sample(10, 1) == suite.sample(10, 1) != suite.sample(10, 2)
    assert list(suite.sample(10, 1)) == sorted(suite.sample(10, 1), key=int)
    assert suite.sample(80, 1) == suite.ids


def test_a_suite_is_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    path = write(tmp_path / "evals", CASE)
    assert find_suite("team", tmp_path) == find_suite(str(path), Path("elsewhere")) == path
    with pytest.raises(InputError, match="suites are: team"):
        find_suite("taem", tmp_path)


@given(st.text(max_size=200))
def test_any_line_is_a_case_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, line: str) -> None:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "any.jsonl").write_text(line, encoding="utf-8", errors="replace")
    try:
        open_suite(folder / "any.jsonl")
    except VeracityError as problem:
        assert "\n" not in str(problem)


TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=30).filter(str.strip)


@given(st.builds(dict, id=TEXTS, question=TEXTS, answers=st.lists(TEXTS, max_size=3), tags=st.lists(TEXTS, max_size=3)))
def test_a_case_survives_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, case: dict[str, Any]) -> None:
    path = write(tmp_path_factory.mktemp("suite"), case)
    (found,) = open_suite(path).cases()
    assert found == Case.model_validate(case)
    assert found.digest == Case.model_validate(case).digest
