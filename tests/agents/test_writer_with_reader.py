"""The writer with an answer reader, which chooses among sentences with the same words, and helps to abstain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.agents.test_extractive_writer import evidence
from veracity.agents.base import WritingTask
from veracity.agents.extract.candidates import rank_candidates
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.answer_reader import Passage, make_answer_reader
from veracity.embedding import make_embedder


class Favours:
    """Scores units that contain a word high, and all others low."""

    def __init__(self, word: str, low: float = -8.0) -> None:
        self.word, self.low = word, low
        self.seen: list[Passage] = []

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        self.seen += passages
        return [[5.0 if self.word in text else self.low for _, text in passage.units] for passage in passages]


QUESTION = "How long is the warranty of the pump?"
IN_OTHER_WORDS = "How long does the guarantee of the pump last?"
PASSAGE = "The warranty of the pump is printed on its box. The warranty of the pump ends after 24 months."


@pytest.mark.parametrize("word", ["printed", "24"])
def test_the_reader_decides_between_equal_matches(word: str) -> None:
    _, ranked = rank_candidates("What about the warranty of the pump?", evidence(PASSAGE), None, Favours(word))
    assert word in ranked[0].text
    assert ranked[0].reading == 5.0


def test_the_writer_abstains_where_the_reader_finds_no_answer() -> None:
    task = WritingTask(QUESTION, evidence(PASSAGE), ())
    assert not ExtractiveWriter().write(task).abstains
    assert not ExtractiveWriter(reader=Favours("24")).write(task).abstains
    assert ExtractiveWriter(reader=Favours("no such word", -30.0)).write(task).abstains


def test_a_doubtful_answer_is_shown_as_a_passage() -> None:
    outputs = [
        ExtractiveWriter(reader=Favours("no such word", score)).write(WritingTask(QUESTION, evidence(PASSAGE), ()))
        for score in range(6, -24, -1)
    ]
    kinds = [(output.abstains, output.tentative) for output in outputs]
    assert list(dict.fromkeys(kinds)) == [(False, False), (False, True), (True, False)]


class Scores:
    """Gives a unit the score of the first text that it contains."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores

    def read(self, question: str, passages: Sequence[Passage]) -> list[list[float]]:
        return [[self._score(text) for _, text in passage.units] for passage in passages]

    def _score(self, text: str) -> float:
        return next((score for part, score in self.scores.items() if part in text), -8.0)


@pytest.mark.parametrize(
    ("other", "score", "is_tentative"),
    [
        ("Any warranty claim for a pump goes to the shop.", 7.0, True),
        ("Any warranty claim for a pump goes to the shop.", 3.3, False),
    ],
)
def test_an_answer_waits_if_the_reader_prefers_another_passage_with_another_answer(
    other: str, score: float, is_tentative: bool
) -> None:
    answer = "The warranty of the pump ends after 24 months."
    reader = Scores({answer: 3.0, other: score})
    output = ExtractiveWriter(reader=reader).write(WritingTask(QUESTION, evidence(answer, other), ()))
    assert not output.abstains and output.tentative == is_tentative and answer in output.text


@pytest.mark.parametrize(("question", "waits"), [(QUESTION, False), (IN_OTHER_WORDS, True)])
def test_an_answer_in_other_words_waits_if_the_reader_finds_another_nearly_as_good(question: str, waits: bool) -> None:
    answer, other = "The warranty of the pump ends after 24 months.", "Any claim for a pump goes to the shop."
    [alone, contested] = [
        ExtractiveWriter(reader=Scores({answer: 0.5, other: score})).write(
            WritingTask(question, evidence(answer, other), ())
        )
        for score in (-6.0, 0.4)
    ]
    assert not alone.tentative and answer in alone.text
    assert contested.tentative == waits


@pytest.mark.parametrize(
    ("other", "waits"),
    [("For pumps it is 24 months.", False), ("The shop repairs pumps.", True), ("For pumps it is 36 months.", True)],
)
def test_the_same_answer_elsewhere_does_not_count_against_an_answer(other: str, waits: bool) -> None:
    answer = "The warranty of the pump ends after 24 months."
    reader = Scores({answer: 0.5, other: 0.4})
    output = ExtractiveWriter(reader=reader).write(WritingTask(IN_OTHER_WORDS, evidence(answer, other), ()))
    assert answer in output.text
    assert output.tentative == waits


def test_the_same_sentence_in_several_documents_does_not_count_against_an_answer() -> None:
    answer = "Staff who are ill stay at home and call their lead."
    task = WritingTask("What do I do when I catch a cold?", evidence(answer, answer, answer), ())
    output = ExtractiveWriter(reader=Scores({answer: 4.0})).write(task)
    assert answer in output.text and not output.tentative


def test_the_reader_chooses_among_rows() -> None:
    table = "| City | Limit |\n|---|---|\n| Osaka | 90 euros |\n| Dublin | 120 euros |\n"
    reader = Scores({"Dublin": 3.0})
    _, ranked = rank_candidates("How much may a hotel cost in the Irish capital?", evidence(table), None, reader)
    assert "120 euros" in ranked[0].text


def test_the_reader_finds_a_sentence_with_other_words_than_the_question() -> None:
    answer = "Staff who are ill stay at home and call their lead before nine."
    question = "What do I do when I catch a cold?"
    text = f"The office opens at eight. {answer}"
    assert not ExtractiveWriter().write(WritingTask(question, evidence(text), ())).text.count(answer)
    output = ExtractiveWriter(reader=Scores({answer: 4.0})).write(WritingTask(question, evidence(text), ()))
    assert answer in output.text


def test_the_reader_sees_titles_and_no_link_addresses() -> None:
    [item] = evidence("See [the list of offices](https://example.com/offices) for the opening hours of Dublin.")
    reader = Favours("Dublin")
    rank_candidates("When does Dublin open?", [item.model_copy(update={"title": "Offices"})], None, reader)
    [passage] = reader.seen
    assert passage.head == "Offices"
    assert passage.units[0][1] == "See the list of offices for the opening hours of Dublin."


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("When does the office open?", "The office moved in 2019. The office opens at nine o'clock.", "nine"),
        ("办公室几点开门？", "办公室2019年搬迁。办公室早上九点开门。", "九点"),
        ("オフィスは何時に開きますか？", "オフィスは2019年に移転しました。オフィスは9時に開きます。", "9時"),
    ],
)
def test_the_bundled_reader_in_three_languages(question: str, text: str, answer: str) -> None:
    output = ExtractiveWriter(reader=make_answer_reader("bundled")).write(WritingTask(question, evidence(text), ()))
    assert answer in output.text
    assert not output.abstains


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many days of annual leave do part-time staff have?", "Full-time staff have 25 days of annual leave."),
        ("员工有多少天产假？", "员工每年享有25天带薪年假。病假需要在三天内提交医生证明。"),
        ("ビザの有効期間は何年ですか", "ビザの申請は出発の3週間前までに行ってください。手数料は5,000円です。"),
    ],
)
def test_an_answer_to_a_neighbouring_question_is_not_released(question: str, text: str) -> None:
    writer = ExtractiveWriter(make_embedder("bundled"), make_answer_reader("bundled"))
    output = writer.write(WritingTask(question, evidence(text), ()))
    assert output.abstains or output.tentative
