"""The writer sends what it is given and tells a draft from an abstention (SPEC A10, X2)."""

import time

import pytest

from tests.agents.passages import LEAVE, QUESTION, SOUND
from veracity.agents.writer import INSTRUCTIONS, LLMWriter, Writer, WritingTask, evidence_message, opening, read_reply
from veracity.deadlines import Deadline
from veracity.errors import BudgetError, ModelTimeoutError
from veracity.language import Language, guess_language
from veracity.llm import Budget, Message
from veracity.testing import ScriptedCall, ScriptedLLM

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja"])


def task(language: Language = "en", **more: object) -> WritingTask:
    question = QUESTION[language]
    messages = [*opening(question, language, INSTRUCTIONS), evidence_message(question, LEAVE[language])]
    return WritingTask(question, LEAVE[language], messages, **more)  # type: ignore[arg-type]


@LANGUAGES
def test_a_draft_comes_as_it_was_written(language: Language) -> None:
    writer: Writer = LLMWriter(ScriptedLLM(SOUND[language]), "test:writer")
    written = writer.write(task(language))
    assert written.text == SOUND[language] and not written.abstains and written.missing == ()
    assert written.usage.calls == 1
    assert (writer.form, writer.model) == ("written", "test:writer")


def test_the_messages_are_sent_and_nothing_else() -> None:
    llm = ScriptedLLM.by_role(writer="Good [1].")
    messages = [
        Message("system", "Sing."),
        Message("user", "Why?"),
        Message("assistant", "So [1]."),
        Message("user", "Again."),
    ]
    LLMWriter(llm, "test:writer").write(WritingTask("Why?", [], messages))
    (call,) = llm.calls
    assert call.messages == messages and call.settings["temperature"] == 0


@pytest.mark.parametrize(
    "reply",
    [
        "NO ANSWER: the salary of the board",
        "**NO ANSWER:** the salary of the board",
        "no answer：the salary of the board",
        "NO_ANSWER - the salary of the board",
        "NO ANSWER\nthe salary of the board",
        "```\nNO ANSWER: the salary of the board\n```",
        "```text\nNO ANSWER:\n- the salary of the board\n```",
        "> NO ANSWER:\n\n* the salary of the board [1]",
        "“NO ANSWER”: the salary of the board",
        "没有答案：the salary of the board",
        "回答なし：the salary of the board",
    ],
)
def test_an_abstention_is_known_in_any_dress(reply: str) -> None:
    written = read_reply(reply, "en")
    assert written.abstains
    assert written.missing == ("the salary of the board",)
    assert "NO ANSWER" not in written.text.upper()


@pytest.mark.parametrize(
    "reply",
    [
        "No answer came from the supplier within ten days [1].",
        "Without an answer the request counts as approved [1].",
        "There is no answer: requests lapse after ten days [1].",
        "The documents do not mention a fee. Leave is 24 days [1].",
        "We cannot confirm bookings without a deposit [1].",
        "无法确定的费用由部门总监批准[1]。",
        "资料没有提及费用。年休假12天[1]。",
        "資料に費用の記載がありません。年休は10日です[1]。",
    ],
)
def test_a_draft_is_no_abstention(reply: str) -> None:
    written = read_reply(reply, "en")
    assert not written.abstains and written.text == reply


@pytest.mark.parametrize(
    "reply",
    [
        "The documents do not mention who approves leave.",
        "Sorry. The provided evidence does not contain this information. [1]",
        "I'm sorry, but I cannot answer this question from the evidence provided.",
        "The fee could not be determined. The documents do not mention it.",
        "抱歉，根据提供的证据无法回答这个问题。",
        "申し訳ありませんが、根拠からはお答えできません。",
        "资料没有提及谁来批准。",
        "資料には承認者についての記載がありません。",
    ],
)
def test_a_reply_that_only_says_the_documents_are_silent_is_one(reply: str) -> None:
    written = read_reply(reply, guess_language(reply))
    assert written.abstains and written.text == reply.removesuffix(" [1]") and written.missing


@LANGUAGES
def test_an_abstention_without_words_says_so_in_the_language_of_the_question(language: Language) -> None:
    written = read_reply("NO ANSWER:", language)
    assert written.abstains and guess_language(written.text) == language and written.missing == (written.text,)


def test_what_is_missing_is_a_list_or_the_first_paragraph() -> None:
    assert read_reply("NO ANSWER:\n1. the fee\n2. the date", "en").missing == ("the fee", "the date")
    assert read_reply("NO ANSWER: the fee\n\nBut I think it is 20.", "en").missing == ("the fee",)
    assert len(read_reply("NO ANSWER:\n" + "- x\n" * 50, "en").missing) == 5
    assert len(read_reply("NO ANSWER: " + "x" * 5000, "en").missing[0]) == 300


@LANGUAGES
def test_the_form_of_an_abstention_for_a_part_is_put_into_words(language: Language) -> None:
    written = read_reply(f"{SOUND[language]}\nNO ANSWER: X", language)
    assert not written.abstains
    assert written.text.startswith(SOUND[language]) and "NO ANSWER" not in written.text and written.text.endswith("X")


def test_deadline_and_budget_are_kept() -> None:
    def hang(_: ScriptedCall) -> str:
        time.sleep(2)
        return "Late [1]."

    with pytest.raises(ModelTimeoutError):
        LLMWriter(ScriptedLLM(hang), "test:writer").write(task(deadline=Deadline.within(0.2)))
    with pytest.raises(BudgetError):
        LLMWriter(ScriptedLLM("Good [1]."), "test:writer").write(task(budget=Budget(tokens=0)))


def test_hostile_replies_cost_little() -> None:
    started = time.process_time()
    for reply in ("*" * 100_000, "```\n" * 30_000, "NO ANSWER" * 10_000, "\n " * 50_000 + "NO ANSWER:"):
        read_reply(reply, "en")
    assert time.process_time() - started < 3
