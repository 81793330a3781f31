"""Drafts are told while they are written, and are as inert as what goes out (SPEC A3, X2)."""

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, MORE_AND_MORE, PASS, QUESTION, WRONG, fail
from veracity.errors import ModelAccessError, ModelUnreachableError
from veracity.graph.answer import LONGEST_HELD, Showing
from veracity.llm import Piece
from veracity.models import RunEvent
from veracity.testing import Pieces, ScriptedLLM

LEAVE = "https://handbook.example/leave"


def drafts(events: list[RunEvent]) -> list[RunEvent]:
    return [event for event in events if event.kind == "draft"]


def shown(events: list[RunEvent] | list[Piece]) -> list[str]:
    """The texts that a page showed, one after another, each as it stood when the next began."""
    texts: list[str] = []
    for event in events:
        if event.begins or not texts:
            texts.append("")
        texts[-1] += event.text
    return texts


def test_a_draft_is_told_while_it_is_written(engine_with: MakeEngine) -> None:
    words = [f"{word} " for word in GOOD.split()]
    engine = engine_with(ScriptedLLM.by_role(writer=Pieces(*words, pause=0.06), reviewer=PASS))
    events = list(engine.stream(QUESTION, drafts=True))
    pieces = drafts(events)
    assert len(pieces) > 3 and "".join(piece.text for piece in pieces).strip() == GOOD
    assert [piece.begins for piece in pieces] == [True] + [False] * (len(pieces) - 1)
    assert {(piece.name, piece.run_id) for piece in pieces} == {("generate_answer", events[-1].run_id)}
    kinds = [(event.kind, event.name) for event in events]
    step = kinds[kinds.index(("started", "generate_answer")) : kinds.index(("finished", "generate_answer"))]
    assert step[1:] == [("draft", "generate_answer")] * len(pieces)


def test_a_redraft_begins_anew(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("Say 25."), PASS])
    events = list(engine_with(llm).stream(QUESTION, drafts=True))
    assert shown(drafts(events)) == [WRONG, GOOD]


def test_a_call_that_breaks_off_begins_anew(engine_with: MakeEngine) -> None:
    broken = Pieces(
        "Full-time staff have 40 days of leave, as I ", "recall.", ModelUnreachableError("Gone."), pause=0.06
    )
    events = list(engine_with(ScriptedLLM.by_role(writer=[broken, GOOD], reviewer=PASS)).stream(QUESTION, drafts=True))
    begun, whole = shown(drafts(events))
    assert begun.startswith("Full-time staff have 40 days") and whole == GOOD


def test_an_extract_is_told_at_once(engine_with: MakeEngine) -> None:
    events = list(engine_with().stream(QUESTION, drafts=True))
    (draft,) = drafts(events)
    assert draft.begins and "25 days" in draft.text
    step = next(event.step for event in events if event.kind == "finished" and event.name == "generate_answer")
    assert step and step.texts and step.texts["draft"] == draft.text


def test_an_extract_in_place_of_a_draft_begins_anew(engine_with: MakeEngine) -> None:
    """The time for the run is up before the draft is done."""
    endless = Pieces("Full-time staff have 40 days of leave, ", *["and more, "] * 2000, pause=0.05)
    for deadline in MORE_AND_MORE:
        engine = engine_with(ScriptedLLM.by_role(writer=endless))
        events = list(engine.stream(QUESTION, deadline=deadline, drafts=True))
        if len(drafts(events)) > 2:
            break
    begun, extract = shown(drafts(events))
    assert begun.startswith("Full-time staff have 40 days of leave, and more, ")
    assert "25 days" in extract and events[-1].answer and events[-1].answer.text == extract


@pytest.mark.parametrize(
    "reply", ["NO ANSWER: the salary of the board", "**NO ANSWER:** the salary", "无答案：工资", "回答なし：給与"]
)
def test_an_abstention_is_no_draft(reply: str, engine_with: MakeEngine) -> None:
    """SPEC X2."""
    events = list(engine_with(ScriptedLLM.by_role(writer=reply, reviewer=PASS)).stream(QUESTION, drafts=True))
    assert events[-1].answer and events[-1].answer.status == "abstained"
    assert drafts(events) == []


def test_pieces_are_not_kept(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=Pieces("Staff have a pony. ", GOOD), reviewer=PASS))
    answer = engine.ask(QUESTION)
    receipt = engine.receipt(answer.run_id)
    assert [step.name for step in receipt.steps].count("generate_answer") == len(receipt.drafts)
    assert all(step.name != "draft" for step in receipt.steps)


def test_a_run_that_fails_tells_what_was_written_before(engine_with: MakeEngine) -> None:
    broken = Pieces("Full-time staff have 25 days of paid leave, ", ModelAccessError("No."), pause=0.1)
    events: list[RunEvent] = []
    with pytest.raises(ModelAccessError):
        for event in engine_with(ScriptedLLM.by_role(writer=broken, reviewer=PASS)).stream(QUESTION, drafts=True):
            events.append(event)
    assert shown(drafts(events))[0].startswith("Full-time staff have 25 days")


HOSTILE = [
    "See [here](https://evil.example/?q=25) now. ",
    "![x](https://evil.example/pixel.png) done. ",
    "See https://evil.example/25days, or www.evil.example/25. ",
    "[a [b](https://evil.example/b)](https://evil.example/a) end. ",
    "Run <script src=//evil.example/x.js></script> now. ",
    'An <img src="https://evil.example/p" onerror="alert(1)"> here. ',
    "<https://evil.example/auto> and javascript:alert(1) and data:text/html,<b>x</b> end. ",
    "[a]: https://evil.example/def\n[a] is shown. ",
    "年休は https://evil.example/25 です。<b>太字</b>と[リンク](https://evil.example/l)。",
    "详见 www.evil.example/a。![图](//evil.example/i.png)结束。",
]
DANGEROUS = ("evil.example/", "](", "<script", "<img", "<b>", "javascript:", "data:text")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_can_be_followed_is_shown_however_it_is_cut(text: str, size: int) -> None:
    told: list[Piece] = []
    showing = Showing(told.append, ["What about leave?"])
    for start in range(0, len(text), size):
        showing.hear(Piece(text[start : start + size], begins=start == 0))
        (so_far,) = shown(told) or [""]
        assert not any(one in so_far for one in DANGEROUS), so_far
    showing.end()
    (whole,) = shown(told)
    assert not any(one in whole for one in DANGEROUS), whole


def test_every_cut_in_two_is_as_inert_as_the_whole() -> None:
    for text in HOSTILE:
        for cut in range(len(text)):
            told: list[Piece] = []
            showing = Showing(told.append, [])
            showing.hear(Piece(text[:cut], begins=True))
            showing.hear(Piece(text[cut:]))
            showing.end()
            assert not any(one in "".join(shown(told)) for one in DANGEROUS), (text, cut)


def test_an_address_that_the_evidence_holds_is_shown() -> None:
    told: list[Piece] = []
    showing = Showing(told.append, [f"Leave is at {LEAVE}."])
    for character in f"Look at {LEAVE}. It says so [1]. 休暇は{LEAVE}にあります。":
        showing.hear(Piece(character))
    showing.end()
    assert shown(told) == [f"Look at {LEAVE}. It says so [1]. 休暇は{LEAVE}にあります。"]


def test_plain_text_is_hardly_held_back() -> None:
    told: list[Piece] = []
    showing = Showing(told.append, [])
    for text, seen in (
        ("Cats pu", "Cats "),
        ("rr [1", "Cats purr "),
        ("]. Dogs", "Cats purr [1]. "),
        ("吠える", "Cats purr [1]. Dogs吠える"),
    ):
        showing.hear(Piece(text))
        assert shown(told) == [seen]


def test_what_is_never_closed_is_shown_after_a_while() -> None:
    told: list[Piece] = []
    showing = Showing(told.append, [])
    for _ in range(LONGEST_HELD):
        showing.hear(Piece("[a b <c "))
    assert len(shown(told)[0]) > LONGEST_HELD and "<c" not in shown(told)[0]


def test_unseen_characters_are_not_passed_on() -> None:
    told: list[Piece] = []
    showing = Showing(told.append, [])
    showing.hear(Piece("a\x1b[2J b\r\nc\u202ed e\x00 "))
    showing.end()
    assert shown(told) == ["a\ufffd[2J b\nc\ufffdd e\ufffd "]


def test_drafts_are_told_only_to_who_wants_them(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    assert not [event for event in engine_with(llm).stream(QUESTION) if event.kind == "draft"]
