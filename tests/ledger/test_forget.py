"""Forgetting a document erases its texts from every run, notice, file and byte (SPEC X3)."""

import random
import stat
from pathlib import Path

import pytest
from prompt_toolkit.history import FileHistory
from sqlalchemy import null, update

from tests.ledger.material import answer_run, begin, bytes_of, fail, make_answer, make_evidence, make_step
from tests.ledger.test_observations import keys
from veracity.errors import LedgerError, NotFoundError
from veracity.ledger import Ledger, Observations, RunRecords
from veracity.ledger.forget import QUOTING_NOTICES, erase_notices
from veracity.ledger.rows import runs
from veracity.ledger.tables import runs as run_table
from veracity.locales import LANGUAGES, section_texts
from veracity.models import Evidence, Notice, RunParameters
from veracity.models.steps import ERASED_TEXT
from veracity.workspace import CHAT_HISTORY_FILE

RARE = "zanzibarquartz"
QUOTE = f"cannot parse: “{RARE}\n{RARE}：有給”"
TYPED_QUESTIONS = ["How long is leave?\nIn days,\n+ or weeks?", "年假有多少天？", "有給休暇は何日ですか？\r"]
OTHER_LINES = ["What may a hotel cost?", "# 年假", "/help", "+ how"]


def passage(name: str = "secret", document: str = "d1") -> Evidence:
    """The rare word is in every field."""
    return make_evidence(
        name, document, f"{RARE} 天数 有給", title=RARE, location=f"{RARE}.md", headings=[RARE], team=RARE
    )


def run_with_passage(ledger: Ledger, run_id: str, *, given: bool, language: str = "en") -> None:
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
    ledger.finish(answer, RunRecords(weak_point="low_score", observation=observation), token=1)


def test_a_run_whose_writer_had_the_document_loses_all_texts(ledger: Ledger, observations: Observations) -> None:
    run_with_passage(ledger, "r1", given=True)
    before = ledger.answer("r1")
    ledger.forget_documents(["d1"], observations)
    after, evidence = ledger.answer("r1"), ledger.evidence("r1")
    assert before is not None
    assert after is not None
    assert [step.texts for step in ledger.steps("r1")] == [None, None, None]
    assert [step.facts.model_dump() for step in ledger.steps("r1")] == [{"count": 3}] * 3
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


def test_a_run_that_only_retrieved_the_document_keeps_its_answer(
    ledger: Ledger, observations: Observations, tmp_path: Path
) -> None:
    run_with_passage(ledger, "r1", given=False)
    before = ledger.answer("r1")
    ledger.deliver(observations)
    ledger.forget_documents(["d1"], observations)
    assert ledger.answer("r1") == before
    assert ledger.evidence("r1")["secret"].text == ""
    texts = {step.name: step.texts and step.texts.model_dump() for step in ledger.steps("r1")}
    assert texts["rewrite_query"] is None
    assert texts["retrieve"] == {"found": "nothing special"}
    assert texts["generate_answer"] == {"draft": "It says another thing [1]."}
    assert keys(tmp_path / "observational_data.json") == []  # its input contained the passage


def test_an_answer_that_lists_a_passage_is_erased(ledger: Ledger) -> None:
    begin(ledger, "r1")
    ledger.keep_evidence("r1", [passage()], given=False)
    ledger.finish(make_answer("r1", [passage()], RARE), token=1)
    ledger.forget_documents(["d1"])
    answer = ledger.answer("r1")
    assert answer is not None
    assert RARE not in answer.model_dump_json()


@pytest.mark.parametrize(
    ("language", "expected"), [("en", "forgotten"), ("zh", "遗忘"), ("ja", "削除"), ("fr", "forgotten")]
)
def test_the_notice_is_in_the_language_of_the_question(ledger: Ledger, language: str, expected: str) -> None:
    run_with_passage(ledger, "r1", given=True, language=language)
    ledger.forget_documents(["d1"])
    ledger.forget_documents(["d1", "d2"])
    answer = ledger.answer("r1")
    assert answer is not None
    assert [notice.code for notice in answer.notices] == ["revised", "forgotten"]
    assert expected in answer.notices[-1].text


def test_a_weak_point_keeps_its_question_and_loses_the_passage(ledger: Ledger) -> None:
    run_with_passage(ledger, "r1", given=True)
    assert ledger.weak_points("ann", "How many days?")[0].passage_ids[0] == "secret"
    ledger.forget_documents(["d1"])
    (weak_point,) = ledger.weak_points("ann", "How many days?")
    assert weak_point.question == "How many days?"
    assert "secret" not in weak_point.passage_ids


def test_other_runs_are_not_changed(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    for run_id in ("r1", "r2"):
        run_with_passage(ledger, run_id, given=True)
    begin(ledger, "r3")
    ledger.keep_evidence("r3", [make_evidence("p1", "d3")], given=True)
    answer = make_answer("r3", [make_evidence("p1", "d3")])
    ledger.finish(answer, RunRecords(observation={"output": "kept"}), token=1)
    ledger.deliver(observations)
    ledger.forget_documents(["d1", "d1", "unknown"], observations)
    assert ledger.answer("r3") == answer
    assert keys(tmp_path / "observational_data.json") == [("r3", 1)]


@pytest.mark.parametrize("delivered", [True, False])
def test_no_byte_remains(ledger: Ledger, observations: Observations, tmp_path: Path, delivered: bool) -> None:
    for number in range(20):
        run_with_passage(ledger, f"r{number}", given=number % 2 == 0)
    if delivered:
        ledger.deliver(observations)
    paths = (tmp_path / "ledger", tmp_path / "observational_data.json")
    assert bytes_of(*paths).count(RARE.encode()) > 100
    ledger.forget_documents(["d1"], observations)
    assert bytes_of(*paths).count(RARE.encode()) == 0
    assert ledger.deliver(observations) == 0
    assert len(ledger.runs(100)) == 20


def test_moved_rows_leave_no_copy_in_the_file(ledger: Ledger, tmp_path: Path) -> None:
    """Growing rows move to other pages, and `secure_delete` alone leaves copies behind."""
    chance, running = random.Random(0), ["r1"]
    begin(ledger, "r1")
    run = ledger.parameters("r1")
    with ledger._database.writing() as connection:
        for number in range(2, 1000):
            runs.add(connection, run.model_copy(update={"run_id": f"r{number}"}), 0, "en", {})
            running.append(f"r{number}")
            if chance.random() < 0.8:
                run_id = running.pop(chance.randrange(max(0, len(running) - 40), len(running)))
                grown = {"answer": {"text": RARE * chance.randrange(40)}}
                connection.execute(update(run_table).where(run_table.c.run_id == run_id), grown)
    with ledger._database.writing() as connection:
        connection.execute(update(run_table).values(answer=null()))
    ledger.forget_documents(["d1"])
    assert bytes_of(tmp_path / "ledger").count(RARE.encode()) == 0


def test_the_next_delivery_removes_the_record(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    """As after a kill between forgetting and delivering."""
    path = tmp_path / "observational_data.json"
    run_with_passage(ledger, "r1", given=True)
    ledger.deliver(observations)
    ledger.forget_documents(["d1"])
    assert keys(path) == [("r1", 1)]
    ledger.deliver(observations)
    assert keys(path) == []
    assert RARE.encode() not in bytes_of(path)


def test_a_torn_record_is_removed(ledger: Ledger, observations: Observations, tmp_path: Path) -> None:
    path = tmp_path / "observational_data.json"
    run_with_passage(ledger, "r1", given=True)
    ledger.deliver(observations)
    path.write_bytes(path.read_bytes()[:-5])
    ledger.forget_documents(["d1"], observations)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("given", [True, False])
def test_a_run_under_way_cannot_store_forgotten_texts(
    ledger: Ledger, observations: Observations, tmp_path: Path, given: bool
) -> None:
    """It read the document before, and stores its passages, drafts and observation afterwards."""
    begin(ledger, "r1")
    ledger.record("r1", make_step("rewrite_query", query=RARE), token=1)
    ledger.forget_documents(["d1"])
    ledger.keep_evidence("r1", [passage()], given=given)
    ledger.record("r1", make_step("rewrite_query", query=RARE), token=1)
    if given:
        ledger.record("r1", make_step("generate_answer", draft=RARE), token=1)
    text = RARE if given else "another"
    answer = make_answer("r1", [passage()] if given else [], text)
    ledger.finish(answer, RunRecords(observation={"input": RARE}), token=1)
    ledger.deliver(observations)
    kept = ledger.answer("r1")
    assert kept is not None
    assert kept.text == ("" if given else "another")
    assert bytes_of(tmp_path).count(RARE.encode()) == 0


def test_a_document_that_is_added_again_can_be_used(ledger: Ledger) -> None:
    run_with_passage(ledger, "r1", given=True)
    ledger.forget_documents(["d1"])
    run_with_passage(ledger, "r2", given=True)
    assert ledger.evidence("r2")["secret"] == passage()
    assert ledger.evidence("r1")["secret"].text == ""
    weak_points = ledger.weak_points("ann", "How many days?")
    assert ["secret" in point.passage_ids for point in weak_points] == [True, False]


def test_documents_are_forgotten_in_batches(ledger: Ledger) -> None:
    run_with_passage(ledger, "r1", given=True)
    ledger.forget_documents([*(f"x{number}" for number in range(3_000)), "d1"])
    assert ledger.evidence("r1")["secret"].text == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_quotes_are_cut_from_notices(language: str) -> None:
    texts = section_texts(language, "notices")
    quoting = {code for code, text in texts.items() if "{problem}" in text}
    assert quoting == {*QUOTING_NOTICES, "evaluator_warning", "budget"}  # the problem of "budget" is our own sentence
    for code in QUOTING_NOTICES:
        (erased,) = erase_notices([Notice(code=code, text=texts[code].format(problem=QUOTE))])
        assert erased.code == code
        assert erased.text[:-1] == texts[code].format(problem="").rstrip(" :：")
        assert erased.text[-1] in ".。"
        assert erase_notices([erased]) == [erased]
    assert erase_notices([Notice(code="evaluator_warning", text=QUOTE)]) == []
    revised = Notice(code="revised", text=texts["revised"].format(times=2))
    assert erase_notices([revised]) == [revised]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("is_late", [True, False])
def test_error_messages_are_erased_with_a_document(ledger: Ledger, tmp_path: Path, given: bool, is_late: bool) -> None:
    """Also in a run that only retrieved it, and in one that stores them after the forgetting."""
    begin(ledger, "r1")
    begin(ledger, "r2")
    for run_id in ("r1", "r2"):
        ledger.keep_evidence(run_id, [make_evidence()], given=given)
    if is_late:
        ledger.forget_documents(["d1"])
    quoting = {"evaluate": "failed", "rerank": "problem", "web_search": "outcome"}
    for name, fact in quoting.items():
        ledger.record("r1", make_step(name, {"attempt": 1, fact: QUOTE}), token=1)
    ledger.record("r1", make_step("eval_answer", {"outcome": "passed"}), token=1)
    notices = [Notice(code="not_scored", text=f"The answer was not scored: {QUOTE}")]
    answer = make_answer("r1", [make_evidence("p2", "d2")]).model_copy(update={"notices": notices})
    ledger.finish(answer, token=1)
    fail(ledger, "r2", QUOTE, 1)
    if not is_late:
        assert RARE.encode() in bytes_of(tmp_path / "ledger")
        ledger.forget_documents(["d1"])
    facts = {step.name: step.facts.model_dump() for step in ledger.steps("r1")}
    assert facts.pop("eval_answer") == {"outcome": "passed"}
    assert facts == {name: {"attempt": 1, fact: ERASED_TEXT} for name, fact in quoting.items()}
    kept = ledger.answer("r1")
    assert kept is not None
    assert kept.notices[0] == Notice(code="not_scored", text="The answer was not scored.")
    assert (ledger.summary("r2").status, ledger.summary("r2").problem) == ("failed", ERASED_TEXT)
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")


def test_error_messages_are_erased_with_a_conversation(ledger: Ledger, tmp_path: Path) -> None:
    begin(ledger, "r1", conversation="c")
    fail(ledger, "r1", QUOTE, 1)
    ledger.forget_conversation("ann", "c")
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")


def test_limits_to_documents_are_erased_with_a_conversation(ledger: Ledger, tmp_path: Path) -> None:
    """The user wrote them, like the question."""
    names = {"run_id": "r1", "question": "How long?", "user": "ann", "conversation": "c"}
    ledger.begin(RunParameters(**names, max_rewrites=0, deadline=120.0, only=(RARE,)), "en", {})
    assert RARE.encode() in bytes_of(tmp_path / "ledger")
    ledger.forget_conversation("ann", "c")
    assert ledger.parameters("r1").only == ()
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")


@pytest.fixture
def history(tmp_path: Path) -> FileHistory:
    (tmp_path / "ledger").mkdir()
    return FileHistory(str(tmp_path / "ledger" / CHAT_HISTORY_FILE))


def test_questions_are_erased_from_the_chat_history(ledger: Ledger, tmp_path: Path, history: FileHistory) -> None:
    for at, question in enumerate(TYPED_QUESTIONS):
        answer_run(ledger, f"r{at}", question.strip(), "24 days.", "c")
    for text in [OTHER_LINES[0], *TYPED_QUESTIONS, OTHER_LINES[1], f"  {TYPED_QUESTIONS[1]}", *OTHER_LINES[2:]]:
        history.store_string(text)
    assert ledger.forget_conversation("ann", "c") == 3
    assert list(history.load_history_strings())[::-1] == OTHER_LINES
    content = bytes_of(tmp_path / "ledger")
    assert not any(question.encode() in content for question in ("How long is leave?", *TYPED_QUESTIONS[1:]))
    assert stat.S_IMODE((tmp_path / "ledger" / CHAT_HISTORY_FILE).stat().st_mode) == 0o600


def test_an_undeletable_chat_history_is_reported_and_the_rest_is_erased(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "ledger" / CHAT_HISTORY_FILE).mkdir(parents=True)
    answer_run(ledger, "r1", TYPED_QUESTIONS[1], "24 days.", "c")
    with pytest.raises(LedgerError, match='chat_history" may still contain the conversation'):
        ledger.forget_conversation("ann", "c")
    with pytest.raises(NotFoundError):
        ledger.forget_conversation("ann", "c")
