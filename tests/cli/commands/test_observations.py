"""`veracity observations export`: the records of reviewed answers (SPEC A12)."""

import json
from pathlib import Path

from tests.commands import Run
from tests.runs.scripts import QUESTION
from veracity.engine import Veracity


def test_a12_records_are_exported_one_per_line_or_as_one_array(run: Run, filled: Path) -> None:
    assert run("observations", "export", "-w", filled).out == ""
    assert json.loads(run("observations", "export", "--json", "-w", filled).out) == []
    with Veracity(filled) as engine:
        answers = [engine.ask(question) for question in (QUESTION, "正式员工每年有多少天年假？")]
    assert [answer.status for answer in answers] == ["answered", "answered"]
    array = json.loads(run("observations", "export", "--json", "-w", filled).out)
    assert [record["instruction"] for record in array] == [answer.standalone for answer in answers]
    assert array[0]["input"][0]["questions"] == [QUESTION]
    lines = run("observations", "export", "-w", filled).out.splitlines()
    assert [json.loads(line) for line in lines] == array


def test_forgotten_documents_are_not_exported(run: Run, filled: Path) -> None:
    with Veracity(filled) as engine:
        engine.ask(QUESTION)
        engine.forget("leave")
    assert json.loads(run("observations", "export", "--json", "-w", filled).out) == []
