"""Forgetting a document takes what it says out of every run, every file and every byte of them (SPEC X3)."""

import random
from pathlib import Path

import pytest
from sqlalchemy import null, update

from tests.ledger.material import USED, begin, bytes_of, make_answer, make_evidence, make_step
from tests.ledger.test_observations import keys
from veracity.ledger import Ledger, Observations
from veracity.ledger.rows import runs
from veracity.ledger.tables import runs as run_rows
from veracity.models import Evidence

RARE = "zanzibarquartz"


def passage(name: str = "secret", document: str = "d1") -> Evidence:
    """Everything it can say holds the rare word."""
    return make_evidence(
        name, document, f"{RARE} 天数 有給", title=RARE, location=f"{RARE}.md", headings=[RARE], team=RARE
    )


def run_with(ledger: Ledger, run_id: str, *, given: bool, language: str = "en") -> None:
    begin(ledger, run_id, "How many days?")
    ledger.record(run_id, make_step("retrieve", found="nothing special"), token=1)
    ledger.record(run_id, make_step("rewrite_query", query=f"days {RARE}"), token=1)
    other = make_evidence("plain", "d2", "Another document.")
    ledger.keep_evidence(run_id, [passage(), other], given=False)
    ledger.keep_evidence(run_id, [passage()] if given else [other], given=True)
    text = f"It says {RARE} [1]." if given else "It says another thing [1]."
    ledger.record(run_id, make_step("generate_answer", draft=text), token=1)
    answer = make_answer(run_id, [passage()] if given else [other], text, language)
    observation = {"output": text, "input": [passage().text]}
    ledger.finish(
        run_id,
        "answered",
        token=1,
        answer=answer,
        usage=USED,
        seconds=1.0,
        weak_point="low_score",
        observation=observation,
    )


def test_a_run_whose_writer_had_it_loses_all_its_texts(ledger: Ledger, observations: Observations) -> None:
    run_with(ledger, "r1", given=True)
    before = ledger.answer("r1")
    ledger.forget_documents(["d1"], observations)
    after, evidence = ledger.answer("r1"), ledger.evidence("r1")
    assert before is not None
    assert after is not None
    assert [step.texts for step in ledger.steps("r1")] == [None, None, None]
    assert [step.facts for step in ledger.steps("r1")] == [{"count": 3}] * 3
    assert (after.text, after.sentences, after.evidence, after.missing) == ("", [], [], [])
    assert (after.status, after.question, after.quality) == (before.status, before.question, before.quality)
    assert [notice.code for notice in after.notices] == ["revised", "forgotten"]
    assert after.review is not None
    assert (after.review.passed, after.review.outcome, after.review.suggestions) == (False, "doubtful", [])
    assert RARE not in after.model_dump_json()
    assert evidence["plain"].text == "Another document."
    kept = evidence["secret"]
    assert (kept.text, kept.title, kept.location, kept.headings) == ("", "", "", [])
    assert kept.metadata.model_dump() == {"relevance_score": 0.8, "found_by": ["knowledge"]}
    assert ledger.summary("r1").status == "answered"


def test_a_run_that_only_found_it_keeps_its_answer(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    run_with(ledger, "r1", given=False)
    before = ledger.answer("r1")
    ledger.deliver(observations)
    ledger.forget_documents(["d1"], observations)
    assert ledger.answer("r1") == before
    assert ledger.evidence("r1")["secret"].text == ""
    texts = {step.name: step.texts for step in ledger.steps("r1")}
    assert texts["rewrite_query"] is None
    assert texts["retrieve"] == {"found": "nothing special"}
    assert texts["generate_answer"] == {"draft": "It says another thing [1]."}
    assert keys(tmp_path / "observational_data.json") == []  # its input held what was found


def test_an_answer_that_shows_a_passage_had_it(ledger: Ledger) -> None:
    begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=False)
    ledger.finish("r1", "answered", token=1, answer=make_answer("r1", [passage()], RARE), usage=USED, seconds=1.0)
    ledger.forget_documents(["d1"])
    answer = ledger.answer("r1")
    assert answer is not None
    assert RARE not in answer.model_dump_json()


@pytest.mark.parametrize(
    ("language", "told"), [("en", "forgotten"), ("zh", "遗忘"), ("ja", "削除"), ("fr", "forgotten")]
)
def test_it_is_said_in_the_language_of_the_question(ledger: Ledger, language: str, told: str) -> None:
    run_with(ledger, "r1", given=True, language=language)
    ledger.forget_documents(["d1"])
    ledger.forget_documents(["d1", "d2"])
    answer = ledger.answer("r1")
    assert answer is not None
    assert [notice.code for notice in answer.notices] == ["revised", "forgotten"]
    assert told in answer.notices[-1].text


def test_weak_points_keep_the_question_and_lose_the_passages(ledger: Ledger) -> None:
    run_with(ledger, "r1", given=True)
    assert ledger.weak_points("ann", "How many days?")[0].passage_ids[0] == "secret"
    ledger.forget_documents(["d1"])
    (found,) = ledger.weak_points("ann", "How many days?")
    assert found.question == "How many days?"
    assert "secret" not in found.passage_ids


def test_other_runs_are_left_alone(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    for run_id in ("r1", "r2"):
        run_with(ledger, run_id, given=True)
    begin(ledger, "r3")
    ledger.keep_evidence("r3", [make_evidence("p1", "d3")], given=True)
    answer = make_answer("r3", [make_evidence("p1", "d3")])
    ledger.finish("r3", "answered", token=1, answer=answer, usage=USED, seconds=1.0, observation={"output": "kept"})
    ledger.deliver(observations)
    ledger.forget_documents(["d1", "d1", "unknown"], observations)
    assert ledger.answer("r3") == answer
    assert keys(tmp_path / "observational_data.json") == [("r3", 1)]


@pytest.mark.parametrize("delivered", [True, False])
def test_no_byte_is_left(ledger: Ledger, observations: Observations, tmp_path: Path, delivered: bool) -> None:
    for number in range(20):
        run_with(ledger, f"r{number}", given=number % 2 == 0)
    if delivered:
        ledger.deliver(observations)
    places = (tmp_path / "ledger", tmp_path / "observational_data.json")
    there = [place for place in places if place.exists()]
    assert bytes_of(*there).count(RARE.encode()) > 100
    ledger.forget_documents(["d1"], observations)
    assert bytes_of(*there).count(RARE.encode()) == 0
    assert ledger.deliver(observations) == 0
    assert len(ledger.runs(100)) == 20


def test_rows_that_moved_within_the_file_leave_no_copy(ledger: Ledger, tmp_path: Path) -> None:
    """Rows that grow are moved to other pages, and `secure_delete` alone leaves copies where they were."""
    chance, running = random.Random(0), ["r1"]
    begin(ledger, "r1")
    asked = ledger.parameters("r1")
    with ledger._database.writing() as connection:
        for number in range(2, 1000):
            runs.add(connection, asked.model_copy(update={"run_id": f"r{number}"}), 0, "en", {})
            running.append(f"r{number}")
            if chance.random() < 0.8:
                run_id = running.pop(chance.randrange(max(0, len(running) - 40), len(running)))
                grown = {"answer": {"text": RARE * chance.randrange(40)}}
                connection.execute(update(run_rows).where(run_rows.c.run_id == run_id), grown)
    with ledger._database.writing() as connection:
        connection.execute(update(run_rows).values(answer=null()))
    ledger.forget_documents(["d1"])
    assert bytes_of(tmp_path / "ledger").count(RARE.encode()) == 0


def test_a_record_goes_with_the_next_delivery_if_not_at_once(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    """As after a kill between the two."""
    path = tmp_path / "observational_data.json"
    run_with(ledger, "r1", given=True)
    ledger.deliver(observations)
    ledger.forget_documents(["d1"])
    assert keys(path) == [("r1", 1)]
    ledger.deliver(observations)
    assert keys(path) == []
    assert RARE.encode() not in bytes_of(path)


def test_half_a_record_goes_too(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    path = tmp_path / "observational_data.json"
    run_with(ledger, "r1", given=True)
    ledger.deliver(observations)
    path.write_bytes(path.read_bytes()[:-5])
    ledger.forget_documents(["d1"], observations)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("given", [True, False])
def test_a_run_under_way_cannot_bring_it_back(
    ledger: Ledger, observations: Observations, tmp_path: Path, given: bool
) -> None:
    """It read the document before, and hands in afterwards what it found, wrote and observed."""
    begin(ledger, "r1")
    ledger.record("r1", make_step("rewrite_query", query=RARE), token=1)
    ledger.forget_documents(["d1"])
    ledger.keep_evidence("r1", [passage()], given=given)
    ledger.record("r1", make_step("rewrite_query", query=RARE), token=1)
    if given:
        ledger.record("r1", make_step("generate_answer", draft=RARE), token=1)
    text = RARE if given else "another"
    answer = make_answer("r1", [passage()] if given else [], text)
    ledger.finish("r1", "answered", token=1, answer=answer, usage=USED, seconds=1.0, observation={"input": RARE})
    ledger.deliver(observations)
    kept = ledger.answer("r1")
    assert kept is not None
    assert kept.text == ("" if given else "another")
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_a_document_that_is_brought_in_again_can_be_used_again(ledger: Ledger) -> None:
    run_with(ledger, "r1", given=True)
    ledger.forget_documents(["d1"])
    run_with(ledger, "r2", given=True)
    assert ledger.evidence("r2")["secret"] == passage()
    assert ledger.evidence("r1")["secret"].text == ""
    found = ledger.weak_points("ann", "How many days?")
    assert ["secret" in point.passage_ids for point in found] == [True, False]


def test_more_documents_than_fit_one_statement(ledger: Ledger) -> None:
    run_with(ledger, "r1", given=True)
    ledger.forget_documents([*(f"x{number}" for number in range(3_000)), "d1"])
    assert ledger.evidence("r1")["secret"].text == ""
