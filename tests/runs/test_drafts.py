"""Drafts are streamed while they are written, and their links are as inert as in the answer (SPEC A3, X2)."""

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, RETRY_DEADLINES, WRONG, fail
from veracity.errors import ModelAccessError, ModelUnreachableError
from veracity.graph.answer import MAX_HELD_LENGTH, DraftStream
from veracity.llm import Piece
from veracity.models import RunEvent
from veracity.models.steps import DraftStep
from veracity.testing import Pieces, ScriptedLLM

LEAVE = "https://handbook.example/leave"


def drafts(events: list[RunEvent]) -> list[RunEvent]:
    return [event for event in events if event.kind == "draft"]


def shown(events: list[RunEvent] | list[Piece]) -> list[str]:
    """The texts that a page would show, in order."""
    texts: list[str] = []
    for event in events:
        if event.begins or not texts:
            texts.append("")
        texts[-1] += event.text
    return texts


def test_a_draft_is_streamed_while_it_is_written(engine_with: MakeEngine) -> None:
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


def test_a_redraft_starts_a_new_text(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=[fail("Say 25."), PASS])
    events = list(engine_with(llm).stream(QUESTION, drafts=True))
    assert shown(drafts(events)) == [WRONG, GOOD]


def test_a_retried_call_starts_a_new_text(engine_with: MakeEngine) -> None:
    broken = Pieces(
        "Full-time staff have 40 days of leave, as I ", "recall.", ModelUnreachableError("Gone."), pause=0.06
    )
    events = list(engine_with(ScriptedLLM.by_role(writer=[broken, GOOD], reviewer=PASS)).stream(QUESTION, drafts=True))
    begun, whole = shown(drafts(events))
    assert begun.startswith("Full-time staff have 40 days") and whole == GOOD


def test_an_extractive_draft_is_one_piece(engine_with: MakeEngine) -> None:
    events = list(engine_with().stream(QUESTION, drafts=True))
    (draft,) = drafts(events)
    assert draft.begins and "25 days" in draft.text
    step = next(event.step for event in events if event.kind == "finished" and event.name == "generate_answer")
    assert isinstance(step, DraftStep) and step.texts and step.texts.draft == draft.text


def test_an_extractive_fallback_starts_a_new_text(engine_with: MakeEngine) -> None:
    """The deadline passes before the draft is complete."""
    endless = Pieces(
        "Full-time staff have 40 days of leave, ", *(f"and {number**2} more, " for number in range(2000)), pause=0.05
    )
    for deadline in RETRY_DEADLINES:
        engine = engine_with(ScriptedLLM.by_role(writer=endless))
        events = list(engine.stream(QUESTION, deadline=deadline, drafts=True))
        if len(drafts(events)) > 2:
            break
    begun, extract = shown(drafts(events))
    assert begun.startswith("Full-time staff have 40 days of leave, and 0 more, ")
    assert "25 days" in extract and events[-1].answer and events[-1].answer.text == extract


@pytest.mark.parametrize(
    "reply", ["NO ANSWER: the salary of the board", "**NO ANSWER:** the salary", "无答案：工资", "回答なし：給与"]
)
def test_x2_an_abstention_is_not_streamed(reply: str, engine_with: MakeEngine) -> None:
    events = list(engine_with(ScriptedLLM.by_role(writer=reply, reviewer=PASS)).stream(QUESTION, drafts=True))
    assert events[-1].answer and events[-1].answer.status == "abstained"
    assert drafts(events) == []


def test_pieces_are_not_stored(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=Pieces("Staff have a pony. ", GOOD), reviewer=PASS))
    answer = engine.ask(QUESTION)
    receipt = engine.receipt(answer.run_id)
    names: list[str] = [step.name for step in receipt.steps]
    assert names.count("generate_answer") == len(receipt.drafts) and "draft" not in names


def test_a_failing_run_streams_what_was_written_before(engine_with: MakeEngine) -> None:
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
def test_no_link_is_streamed_however_the_text_is_split(text: str, size: int) -> None:
    pieces: list[Piece] = []
    stream = DraftStream(pieces.append, ["What about leave?"])
    for start in range(0, len(text), size):
        stream.add(Piece(text[start : start + size], begins=start == 0))
        (so_far,) = shown(pieces) or [""]
        assert not any(part in so_far for part in DANGEROUS), so_far
    stream.finish()
    (whole,) = shown(pieces)
    assert not any(part in whole for part in DANGEROUS), whole


def test_no_link_is_streamed_at_any_split() -> None:
    for text in HOSTILE:
        for cut in range(len(text)):
            pieces: list[Piece] = []
            stream = DraftStream(pieces.append, [])
            stream.add(Piece(text[:cut], begins=True))
            stream.add(Piece(text[cut:]))
            stream.finish()
            assert not any(part in "".join(shown(pieces)) for part in DANGEROUS), (text, cut)


def test_a_url_from_the_evidence_is_streamed() -> None:
    pieces: list[Piece] = []
    stream = DraftStream(pieces.append, [f"Leave is at {LEAVE}."])
    for character in f"Look at {LEAVE}. It says so [1]. 休暇は{LEAVE}にあります。":
        stream.add(Piece(character))
    stream.finish()
    assert shown(pieces) == [f"Look at {LEAVE}. It says so [1]. 休暇は{LEAVE}にあります。"]


def test_plain_text_is_hardly_delayed() -> None:
    pieces: list[Piece] = []
    stream = DraftStream(pieces.append, [])
    for text, seen in (
        ("Cats pu", "Cats "),
        ("rr [1", "Cats purr "),
        ("]. Dogs", "Cats purr [1]. "),
        ("吠える", "Cats purr [1]. Dogs吠える"),
    ):
        stream.add(Piece(text))
        assert shown(pieces) == [seen]


def test_unclosed_markup_is_streamed_after_a_limit() -> None:
    pieces: list[Piece] = []
    stream = DraftStream(pieces.append, [])
    for _ in range(MAX_HELD_LENGTH):
        stream.add(Piece("[a b <c "))
    assert len(shown(pieces)[0]) > MAX_HELD_LENGTH and "<c" not in shown(pieces)[0]


def test_control_characters_are_replaced() -> None:
    pieces: list[Piece] = []
    stream = DraftStream(pieces.append, [])
    stream.add(Piece("a\x1b[2J b\r\nc\u202ed e\x00 "))
    stream.finish()
    assert shown(pieces) == ["a\ufffd[2J b\nc\ufffdd e\ufffd "]


def test_drafts_are_streamed_only_on_request(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    assert not [event for event in engine_with(llm).stream(QUESTION) if event.kind == "draft"]
