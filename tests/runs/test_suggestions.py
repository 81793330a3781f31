"""Example questions and follow-ups are tried by the local parts: whoever asks them gets an answer."""

from pathlib import Path

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from veracity.engine import Veracity
from veracity.models import Document
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

HANDBOOK = Path(__file__).parents[2] / "src/veracity/handbook"
LOCAL = Settings.model_validate({"models": {"embedder": "none"}})


def test_examples_of_the_handbook_are_answered_in_three_languages(tmp_path: Path) -> None:
    with Veracity(tmp_path) as engine:
        engine.ingest([HANDBOOK / place / "leave.md" for place in ("dublin", "osaka", "shanghai")])
        assert engine.suggestions.examples() == []
        assert engine.suggestions.find_examples()
        examples = engine.suggestions.examples()
        assert [example.language for example in examples] == ["en", "zh", "ja"]
        assert len({example.document_id for example in examples}) == 3
        assert engine.runs() == [], "no run is stored"
        for example in examples:
            answer = engine.ask(example.question)
            assert answer.status == "answered"
            assert example.document_id in {evidence.document_id for evidence in answer.evidence}


def test_examples_call_no_model(gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90))
    engine = gated(llm)
    assert engine.suggestions.find_examples()
    assert engine.suggestions.examples()
    assert llm.calls == []


def test_examples_are_found_once_for_the_same_documents(engine_with: MakeEngine, root: Path) -> None:
    engine = engine_with()
    assert engine.suggestions.find_examples()
    assert not engine.suggestions.find_examples()
    with Veracity(root, settings=engine.settings) as other:
        assert not other.suggestions.find_examples(), "another process has found them"
        assert other.suggestions.examples() == engine.suggestions.examples()
    engine.add(Document(id="new", title="Parking", text="Visitors receive 3 parking permits a day."))
    assert engine.suggestions.find_examples()


def test_examples_vanish_with_their_document_and_its_changes(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.suggestions.find_examples()
    first, *others = engine.suggestions.examples()
    engine.forget(first.document_id)
    assert engine.suggestions.examples() == others
    assert first.question not in [example.question for example in engine._parts.ledger.examples.list_all()]
    engine.add(Document(id=others[0].document_id, text="Nothing of that is true any more."))
    assert engine.suggestions.examples() == others[1:]


def test_a_failed_search_for_examples_can_be_repeated(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with()
    with monkeypatch.context() as patched:
        patched.setattr(type(engine._parts.suggester), "find_examples", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.suggestions.find_examples()
    assert engine.suggestions.find_examples()


def test_documents_without_an_answerable_question_have_no_examples(tmp_path: Path) -> None:
    with Veracity(tmp_path, settings=LOCAL) as engine:
        assert not engine.suggestions.find_examples(), "there is no document"
        engine.add(Document(id="prices", title="price-list", text="A-1, 20, 3\nB-2, 30, 4\n"))
        assert engine.suggestions.find_examples()
        assert engine.suggestions.examples() == []


def test_follow_ups_are_about_what_is_nearby_and_answered(tmp_path: Path) -> None:
    with Veracity(tmp_path) as engine:
        engine.ingest(HANDBOOK / "dublin" / "leave.md")
        answer = engine.ask("How many days of paid annual leave do full-time staff receive?")
        found = engine.suggestions.follow_ups(answer.run_id)
        assert 1 <= len(found) <= 3
        assert answer.question not in found
        assert [run.question for run in engine.runs()] == [answer.question], "no run is stored"
        assert engine.ask(found[0]).status == "answered"
        assert engine.suggestions.follow_ups(answer.run_id) == found


def test_an_abstention_has_no_follow_ups(engine_with: MakeEngine) -> None:
    engine = engine_with()
    answer = engine.ask("What does a taxi to the moon cost?")
    assert answer.status == "abstained"
    assert engine.suggestions.follow_ups(answer.run_id) == []
    assert engine.ask(QUESTION).status == "answered"
