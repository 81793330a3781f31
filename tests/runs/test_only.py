"""`only` limits the documents of a run in every round, in follow-ups and after a resume (SPEC C3–C5, D4, X3)."""

from collections.abc import Callable

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, QUESTION
from tests.runs.test_retrieval_loop import STRICT, rewrite
from veracity.engine import Veracity
from veracity.errors import InputError, ShutdownError
from veracity.models import Receipt
from veracity.testing import ScriptedLLM


def documents_of(receipt: Receipt) -> set[str]:
    found = {passage.document_id for search in receipt.rounds for passage in search.evidence}
    return found | {passage.document_id for passage in receipt.answer.evidence} if receipt.answer else found


def test_every_round_and_source_is_limited(engine_with: MakeEngine) -> None:
    """The rewrites ask for what only other documents hold, and for all sources."""
    queries = [rewrite("days of paid annual leave", "knowledge", "graph"), rewrite("Staff leave portal", "graph")]
    engine = engine_with(ScriptedLLM.by_role(rewriter=queries), quality=STRICT, retrieval={"sources": ["knowledge"]})
    answer = engine.ask("Annual leave of Staff?", only=["travel", "other*"])
    receipt = engine.receipt(answer.run_id)
    assert len(receipt.rounds) == 3 and receipt.only == ["travel", "other*"]
    assert "leave" not in documents_of(receipt) and "25 days" not in answer.text
    assert "other1" in documents_of(receipt)


def test_results_are_full_although_other_documents_rank_higher(engine_with: MakeEngine) -> None:
    engine = engine_with()
    found = engine.search("paid annual leave of full-time staff", 3, only="other*")
    assert len(found) == 3 and all(passage.document_id.startswith("other") for passage in found)
    assert engine.search("annual leave", 1, only=[])[0].document_id == "leave"


def test_the_temporal_source_is_limited(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.rate(engine.ask(QUESTION).run_id, "down")
    receipt = engine.receipt(engine.ask(QUESTION, only="other*").run_id)
    assert "temporal" in receipt.rounds[0].sources
    assert documents_of(receipt) and not documents_of(receipt) & {"leave", "travel", "laptops"}


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        (QUESTION, "What did you tell me about annual leave?"),
        ("正式员工每年享有多少天年假？", "你刚才说年假是多少天？"),
        ("正社員には年に何日の有給休暇がありますか。", "さっき有給休暇について何と言いましたか。"),
        (QUESTION, "And how many of them may be carried over?"),
    ],
)
def test_a_follow_up_is_limited(engine_with: MakeEngine, question: str, follow_up: str) -> None:
    """D4: an earlier answer is no evidence, because it may come from other documents."""
    engine = engine_with()
    engine.ask(question, conversation="c")
    answer = engine.ask(follow_up, conversation="c", only="travel")
    assert documents_of(engine.receipt(answer.run_id)) <= {"travel"}
    assert engine.receipt(engine.ask(QUESTION, conversation="c").run_id).only == []


@pytest.mark.parametrize("stop_at", ["select_sources", "grade_documents", "rewrite_query"])
def test_a_resumed_run_is_limited(engine_with: MakeEngine, stop_at: str) -> None:
    def make() -> Veracity:
        llm = ScriptedLLM.by_role(rewriter=[rewrite("paid annual leave"), rewrite("leave in the portal")])
        return engine_with(llm, quality=STRICT)

    first = make()
    events = first.stream(QUESTION, only=["travel"])
    run_id = next(event.run_id for event in events if event.kind == "finished" and event.name == stop_at)
    first.leave()
    with pytest.raises(ShutdownError):
        list(events)
    first.close()
    second = make()
    [answer] = second.recover()
    receipt = second.receipt(run_id)
    assert answer.run_id == run_id and receipt.only == ["travel"] and len(receipt.rounds) > 1
    assert documents_of(receipt) <= {"travel"} and "25 days" not in answer.text


def test_a_run_that_was_begun_is_limited_in_another_process(engine_with: MakeEngine) -> None:
    first = engine_with()
    run_id = first.begin(QUESTION, only="travel")
    first.close()
    second = engine_with()
    [answer] = second.recover()
    assert (answer.run_id, second.receipt(run_id).only) == (run_id, ["travel"])
    assert documents_of(second.receipt(run_id)) <= {"travel"}


def test_the_writer_gets_only_matching_evidence(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD)
    engine_with(llm).ask("How much may hotels cost a night?", only=["travel"])
    assert "150 euros" in str(llm.calls[0].messages) and "25 days" not in str(llm.calls[0].messages)


@pytest.mark.parametrize("only", ["handbook/*.pdf", ["leave", "nothing"], ["規程"]])
def test_a_pattern_that_matches_nothing_is_one_sentence(engine_with: MakeEngine, only: str | list[str]) -> None:
    engine = engine_with()
    calls: list[Callable[..., object]] = [engine.ask, engine.search, engine.begin]
    for call in calls:
        with pytest.raises(InputError, match=r'^No document matches "[^"]+": run "veracity documents" to list them\.$'):
            call(QUESTION, only=only)
    assert engine.runs() == []
    assert [document.id for document in engine.documents(only="休暇")] == ["休暇"]


@pytest.mark.parametrize("only", [5, [5], None, [""], ["x" * 501]])
def test_unusable_values_are_refused(engine_with: MakeEngine, only: object) -> None:
    with pytest.raises(InputError):
        engine_with().ask(QUESTION, only=only)  # type: ignore[arg-type]
