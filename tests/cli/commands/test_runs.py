"""`rate`: what somebody says of an answer, and where it is shown."""

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.pages.material import at, bare, full
from tests.pages.reading import Page
from tests.runs.scripts import QUESTION
from veracity.cli.ui.approval_prompt import login_name
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.pages import receipt_page


@pytest.fixture
def answered(asked: Path) -> Path:
    with Veracity(asked) as engine:
        assert engine.ask(QUESTION, conversation="leave").status == "answered"
    return asked


def test_an_answer_is_rated(run: Run, answered: Path) -> None:
    """In the name of whoever is logged in, as decisions are: several people may sit at one machine."""
    down = run("rate", "last", "down", "--why", "It changed in May.", "-w", answered)
    assert down.code == 0 and "weak point" in down.out
    with Veracity(answered) as engine:
        (given,) = engine.feedback("last")
        assert (given.by, given.thumb, given.why) == (login_name(), "down", "It changed in May.")
        assert engine.receipt("last").feedback == [given]
        assert [turn.answer != "" for turn in engine.turns("leave")] == [True], "people still see what they dislike"
    up = json.loads(run("rate", given.run_id[:-2], "up", "--json", "-w", answered).out)
    assert (up["run_id"], up["thumb"], up["why"]) == (given.run_id, "up", "")
    run("rate", "last", "down", "--by", "佐藤", "--why", "5月に変わりました。", "-w", answered)
    shown = run("show", "last", "-w", answered).out
    for told in (f"Thumb up by {login_name()} at ", "Thumb down by 佐藤 at ", "5月に変わりました。"):
        assert told in shown


def test_the_next_time_it_is_searched_with_more_care_c3(answered: Path) -> None:
    """The question is a weak point of the asker: the passages of then are a source of their own."""
    with Veracity(answered) as engine:
        engine.rate("last", "down", by="bob")
        sources = [set(found.sources) for found in engine.receipt(engine.ask(QUESTION).run_id).rounds]
        assert sources and all("temporal" in one for one in sources)
        engine.rate(engine.runs()[1].run_id, "up", by="bob")
        sources = [set(found.sources) for found in engine.receipt(engine.ask(QUESTION).run_id).rounds]
        assert sources and not any("temporal" in one for one in sources)


def test_what_is_disliked_is_not_recalled_d4(answered: Path) -> None:
    asked_back = "What did you tell me about annual leave?"
    with Veracity(answered) as engine:
        assert engine.ask(asked_back, conversation="leave").form == "recalled"
        engine.rate(engine.turns("leave")[0].run_id, "down")
        again = engine.ask(asked_back, conversation="leave")
        recalled_from = {item.document_id for item in again.evidence}
        assert f"run:{engine.turns('leave')[0].run_id}" not in recalled_from


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("last", "sideways"), 'An answer is rated "up" or "down", not "sideways".'),
        (("nothing", "up"), 'There is no run "nothing".'),
        (("last", "up", "--why", "x" * 2001), "at most 2,000 are kept"),
    ],
)
def test_bad_input_is_one_sentence_and_exits_with_2(
    run: Run, answered: Path, arguments: tuple[str, ...], told: str
) -> None:
    ran = run("rate", *arguments, "-w", answered)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err and len(ran.err.strip().splitlines()) == 1


def test_what_waits_for_a_person_is_decided_and_not_rated(run: Run, careful: Path) -> None:
    with Veracity(careful) as engine:
        assert engine.ask(QUESTION).status == "awaiting_approval"
    ran = run("rate", "last", "down", "-w", careful)
    assert ran.code == 2 and "still waits for a person" in ran.err


def test_the_engine_takes_text_only(answered: Path) -> None:
    with Veracity(answered) as engine:
        for given in ({"run_id": 7}, {"why": None}, {"by": b"ann"}):
            with pytest.raises(InputError, match="is named by text"):
                engine.rate(**{"run_id": "last", "thumb": "up", **given})  # type: ignore[arg-type]


def test_conversations_are_found_by_what_was_said(answered: Path) -> None:
    with Veracity(answered) as engine:
        engine.ask(QUESTION, conversation="another", user="bob")
        assert [one.conversation for one in engine.conversations(query="ANNUAL leave")] == ["leave"]
        assert engine.conversations(query="parking") == engine.conversations(query="leave", user="carl") == []
        assert [one.status for one in engine.turns("leave")] == ["answered"]


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("And in Osaka?", ("What people say of it", "Thumb down", "Thumb up")),
        ("大阪的员工有多少天年休假？", ("用户反馈", "踩", "赞")),
        ("大阪の有給休暇は何日ですか？", ("利用者の評価", "低評価", "高評価")),
    ],
    ids=["en", "zh", "ja"],
)
def test_the_page_of_a_receipt_shows_it_x3(question: str, labels: tuple[str, ...]) -> None:
    given = [
        {"run_id": "r1", "by": "佐藤", "thumb": "down", "why": "<b>5月</b>から\nneu", "at": at(10)},
        {"run_id": "r1", "by": "ann", "thumb": "up", "at": at(20)},
    ]
    page = Page(receipt_page(bare("answered", run={"question": question}, feedback=given)))
    shown = page.section("feedback")
    for text in (*labels, "佐藤", "<b>5月</b>から\nneu", "ann", "2026-11-13 09:30:10 UTC"):
        assert text in shown
    assert page.all("b") == []
    assert Page(receipt_page(full())).section("feedback") == ""
