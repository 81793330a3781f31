"""Recall: earlier answers are found by words in three languages and by meaning, but not failed ones (SPEC D4)."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from tests.ledger.material import answer_run, begin, make_answer, make_evidence, suspend_run
from veracity.embedding.bundled import BundledEmbedder
from veracity.errors import InputError
from veracity.ledger import Ledger, RunRecords
from veracity.ledger.rows import recall

TURNS = {
    "refund": ("How long do refunds take?", "Refunds are paid within 14 days after the goods arrive."),
    "park": ("Where can I park?", "Visitors park in front of building B, where it is free."),
    "leave": ("How many days of annual leave do I get in Dublin?", "Staff in Dublin receive 24 days of annual leave."),
    "corvus": ("What is the warranty period of the Corvus 210?", "The Corvus 210 is covered for three years."),
    "laptop": ("How do I report a lost laptop?", "Call the service desk at once and tell your manager."),
    "travel": ("Who approves travel expenses above 500 euros?", "The head of department approves them."),
    "退款": ("退款需要多长时间？", "收到货物后十四天内退款。"),
    "停车": ("停车场在哪里？", "访客可以把车停在B楼前面。"),
    "年休": ("上海员工每年有多少天年休假？", "上海员工每年有十天年休假。"),
    "返金": ("返金にはどのくらいかかりますか？", "商品が届いてから十四日以内に返金されます。"),
    "駐車": ("駐車場はどこですか？", "来客用の駐車場はB棟の前にあります。"),
    "有給": ("有給休暇は年に何日もらえますか？", "有給休暇は年に二十日です。"),
}
BY_WORDS = {
    "refunds": ["refund"],
    "refund": ["refund"],
    "what did you tell me about refunds?": ["refund"],
    "parking": ["park"],
    "building B": ["park"],
    "the service desk": ["laptop"],
    "Remind me what you said about annual leave in Dublin.": ["leave"],
    "annual leave in Osaka": [],
    "Corvus 210": ["corvus"],
    "the Corvus": ["corvus"],
    "Corvus 300": [],
    "dress code": [],
    "the pension": [],
    "退款": ["退款"],
    "你刚才关于退款说了什么？": ["退款"],
    "停车场": ["停车"],
    "年休假": ["年休"],
    "工资": [],
    "返金": ["返金"],
    "さっき返金について何と言いましたか？": ["返金"],
    "駐車場": ["駐車"],
    "有給休暇": ["有給"],
    "給料": [],
    "": [],
    "???": [],
    "what?": [],
    "\0 half \ud83d % _ ' \"": [],
}
BY_MEANING = {
    "refund policy": ["refund"],
    "getting my money returned": ["refund"],
    "where to leave my car": ["park"],
    "stolen computer": ["laptop"],
    "business trip costs": ["travel"],
    "annual leave in Osaka": [],
    "sick leave": [],
    "dress code": [],
    "the pension": [],
    "coffee machine": [],
}


def fill(ledger: Ledger, conversation: str = "c", user: str = "ann") -> None:
    for name, (question, answer) in TURNS.items():
        answer_run(ledger, f"{name}{conversation}{user}", question, answer, conversation, user)


def find_names(ledger: Ledger, query: str, **more: object) -> list[str]:
    return [turn.run_id.removesuffix("cann") for turn in ledger.past_turns("ann", "c", query, None, 5, **more)]  # type: ignore[arg-type]


def as_bytes(vector: object) -> bytes:
    return np.asarray(vector, np.float32).tobytes()


def test_turns_are_found_by_words(ledger: Ledger) -> None:
    fill(ledger)
    assert {query: find_names(ledger, query) for query in BY_WORDS} == BY_WORDS


@pytest.mark.parametrize("whole", [False, True])
def test_turns_are_found_by_meaning(ledger: Ledger, whole: bool) -> None:
    """Vectors of the question alone find more than those of question and answer; neither finds wrong turns."""
    embedder = BundledEmbedder()
    for name in ("refund", "park", "leave", "corvus", "laptop", "travel"):
        question, answer = TURNS[name]
        (vector,) = embedder.embed_passages([f"{question}\n{answer}" if whole else question])
        answer_run(ledger, name, question, answer, "c", vector=as_bytes(vector))

    def by_meaning(query: str) -> list[str]:
        vector = as_bytes(embedder.embed_query(query))
        return [turn.run_id for turn in ledger.past_turns("ann", "c", query, vector, 5)]

    missed = {query for query, wanted in BY_MEANING.items() if by_meaning(query) != wanted}
    assert missed <= ({"where to leave my car", "getting my money returned"} if whole else set())
    assert not any(by_meaning(query) for query in missed)


def test_turns_are_scored_and_sorted(ledger: Ledger) -> None:
    answer_run(ledger, "r1", "Are parcels insured?", "Yes; refunds are paid if one is lost.", "c")
    answer_run(ledger, "r2", "How long do refunds take?", "14 days.", "c")
    answer_run(ledger, "r3", "Who pays refunds?", "The bank.", "c")
    turns = ledger.past_turns("ann", "c", "refunds", None, 5)
    assert [(turn.run_id, turn.similarity) for turn in turns] == [("r3", 1.0), ("r2", 1.0), ("r1", 0.7)]
    assert (turns[1].number, turns[1].question, turns[1].answer) == (2, "How long do refunds take?", "14 days.")
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", "refunds", None, 1)] == ["r3"]
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", "refunds", None, 5, exclude_run="r3")] == ["r2", "r1"]


def test_a_search_covers_one_conversation_or_all_of_the_user(ledger: Ledger) -> None:
    for user in ("ann", "bob"):
        for conversation in ("c", "d"):
            fill(ledger, conversation, user)
    answer_run(ledger, "single", "Do refunds cost anything?", "No.")
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", "refunds", None, 9)] == ["refundcann"]
    of_all = {turn.run_id for turn in ledger.past_turns("ann", None, "refunds", None, 9)}
    assert of_all == {"refundcann", "refunddann", "single"}
    assert (
        ledger.past_turns("carl", None, "refunds", None, 9) == ledger.past_turns("ann", "e", "refunds", None, 9) == []
    )


def test_failed_rejected_pending_and_unrecallable_runs_are_not_found(ledger: Ledger) -> None:
    question, text_ = TURNS["refund"]
    answer_run(ledger, "rejected", question, text_, "c", status="rejected")
    answer_run(ledger, "failed", question, text_, "c", status="failed")
    answer_run(ledger, "private", question, text_, "c", recallable=False, vector=as_bytes([1, 0]))
    begin(ledger, "running", question, conversation="c")
    suspend_run(ledger, "pending", question=question, conversation="c")
    assert ledger.past_turns("ann", "c", "refunds", as_bytes([1, 0]), 9) == []


def test_a_forgotten_turn_is_not_found(ledger: Ledger) -> None:
    vector = as_bytes([1, 0])
    for name, given in (("given", True), ("found", False)):
        token = begin(ledger, name, "How long do refunds take?", conversation=name)
        ledger.keep_evidence(name, [make_evidence()], given=given)
        ledger.finish(make_answer(name, []), RunRecords(recallable=True, vector=vector), token=token)
    answer_run(ledger, "other", "How long do refunds take?", "14 days.", "c", vector=vector)
    before = ledger.past_turns("ann", None, "refunds", vector, 9)
    assert {turn.run_id for turn in before} == {"given", "found", "other"}
    ledger.forget_documents(["d1"])
    assert [turn.run_id for turn in ledger.past_turns("ann", None, "refunds", vector, 9)] == ["other"]


def test_invalid_vectors_are_skipped(ledger: Ledger) -> None:
    answer_run(ledger, "two", "How?", "So.", "c", vector=as_bytes([1, 0]))
    answer_run(ledger, "three", "How?", "So.", "c", vector=as_bytes([1, 0, 0]))
    answer_run(ledger, "zero", "How?", "So.", "c", vector=as_bytes([0, 0]))
    answer_run(ledger, "none", "How?", "So.", "c", vector=as_bytes([float("nan"), 1]))
    turns = ledger.past_turns("ann", "c", "???", as_bytes([5, 0]), 9)
    assert [(turn.run_id, turn.similarity) for turn in turns] == [("two", 1.0)]
    assert ledger.past_turns("ann", "c", "???", as_bytes([float("inf"), 0]), 9) == []
    for vector in (b"", b"abc"):
        with pytest.raises(InputError, match="bytes of one or more float32 numbers"):
            ledger.past_turns("ann", "c", "refunds", vector, 9)


@pytest.mark.only_sqlite
def test_a_search_compares_a_bounded_number_of_turns(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        answer_run(ledger, f"r{number}", f"annual leave topic{number}", "It depends.", "c" if number % 2 else "d")
    compared: list[str] = []
    word_share = recall._word_share

    def count(words: object, row: object) -> float:
        compared.append(row.run_id)  # type: ignore[attr-defined]
        return word_share(words, row)  # type: ignore[arg-type]

    monkeypatch.setattr(recall, "_word_share", count)
    assert [turn.run_id for turn in ledger.past_turns("ann", None, "topic7", None, 5)] == ["r7"]
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", "annual leave topic7", None, 1)] == ["r7"]
    assert len(compared) <= 1 + 50
    for scope in ("", "AND conversation='c'"):
        lookup = f"SELECT run FROM recall_terms WHERE user_name='a' {scope} AND term='t' ORDER BY run DESC LIMIT 50"
        with ledger._database.reading() as connection:
            plan = connection.execute(text(f"EXPLAIN QUERY PLAN {lookup}")).all()
        assert len(plan) == 1
        assert "USING COVERING INDEX" in plan[0][3]


def test_an_empty_ledger_has_no_turns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none")
    assert ledger.past_turns("ann", None, "refunds", as_bytes([1]), 5) == []
    assert ledger.conversations("ann") == []
    assert ledger.remembered("ann", "c").turns == []
    assert not (tmp_path / "none").exists()
