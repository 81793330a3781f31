"""The writer is heard while it writes, unless it abstains (SPEC A10, X2)."""

import pytest

from tests.agents.passages import LEAVE, QUESTION, SOUND
from veracity.agents.writer import LLMWriter, WritingTask
from veracity.language import Language
from veracity.llm import Message, Piece
from veracity.testing import Pieces, ScriptedLLM


def heard(*replies: str | Pieces, language: Language = "en") -> list[Piece]:
    pieces: list[Piece] = []
    task = WritingTask(QUESTION[language], LEAVE[language], [Message("user", "Why?")], on_text=pieces.append)
    LLMWriter(ScriptedLLM.by_role(writer=list(replies)), "test:writer").write(task)
    return pieces


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_draft_is_heard_as_it_comes(language: Language) -> None:
    sound = SOUND[language]
    cut = len(sound) // 2
    pieces = heard(Pieces(sound[:cut], sound[cut:], pause=0.06), language=language)
    assert "".join(piece.text for piece in pieces) == sound
    assert [piece.begins for piece in pieces] == [True] + [False] * (len(pieces) - 1)


def test_the_first_words_wait_until_they_are_no_abstention() -> None:
    pieces = heard(Pieces("No ", "answer ", "came from the supplier in time [1]. ", "So it was said.", pause=0.06))
    assert pieces[0] == Piece("No answer came from the supplier in time [1]. ", begins=True)
    assert pieces[1:] == [Piece("So it was said.")]


def test_a_short_draft_is_heard_in_the_end() -> None:
    assert heard("25 days [1].") == [Piece("25 days [1].", begins=True)]


@pytest.mark.parametrize(
    "reply",
    [
        "NO ANSWER: the salary",
        "NO ANSWER",
        "**NO ANSWER:**\n\n- the salary of the board and all that it entails",
        "```\nNO ANSWER: the salary\n```",
        "无答案：工资是多少以及何时支付，资料里都没有提到，也没有其他说明",
        "回答なし：給与",
    ],
)
def test_an_abstention_is_not_heard(reply: str) -> None:
    assert heard(Pieces(*reply, pause=0.002)) == []


def test_an_abstention_after_a_draft_that_could_not_be_used() -> None:
    pieces = heard(Pieces(" ", pause=0.01), "NO ANSWER: the salary")
    assert pieces == []
