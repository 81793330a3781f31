"""Every sentence of an answer is checked against the evidence it cites (SPEC X1)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.passages import LEAVE, SOUND, WRONG, document, passage
from veracity.grounding.citation_check import check_sentences, read_answer_sentences
from veracity.models import AnswerSentence

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja"])


def only(text: str, language: str = "en") -> AnswerSentence:
    (sentence,) = read_answer_sentences(text, LEAVE[language])
    return sentence


@LANGUAGES
def test_sound_sentences_are_supported_by_their_citations(language: str) -> None:
    first, second = read_answer_sentences(SOUND[language], LEAVE[language])
    assert first.states and first.supported and first.support >= 0.6
    assert [citation.number for citation in first.citations] == [1]
    assert second.supported and [citation.number for citation in second.citations] == [2]


@LANGUAGES
def test_quote_is_the_document_text_at_its_offsets(language: str) -> None:
    for sentence in read_answer_sentences(SOUND[language] + WRONG[language], LEAVE[language]):
        for citation in sentence.citations:
            assert citation.quote
            assert citation.quote == document(citation.document_id)[citation.start : citation.end]
            assert citation.evidence_id == LEAVE[language][citation.number - 1].id


@LANGUAGES
def test_wrong_number_is_not_supported(language: str) -> None:
    assert not only(WRONG[language], language).supported


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Leave is paid. [1] Days lapse. [2]", ["Leave is paid. [1]", "Days lapse. [2]"]),
        ("年休假12天。[1]逾期作废。【2】", ["年休假12天。[1]", "逾期作废。【2】"]),
        ("10日とする。[1]消滅する。［2］", ["10日とする。[1]", "消滅する。［2］"]),
        ("Leave is paid.\n[1]\nDays lapse. ([2])", ["Leave is paid.\n[1]", "Days lapse. ([2])"]),
        ("逾期作废。\n\n**[1]**", ["逾期作废。\n\n**[1]**"]),
    ],
)
def test_marks_after_the_full_stop_belong_to_the_sentence_before(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in read_answer_sentences(text, LEAVE["en"])] == expected


@LANGUAGES
def test_true_statement_without_a_mark_is_unsupported(language: str) -> None:
    text = LEAVE[language][1].text
    first = check_sentences(text, LEAVE[language])[0]
    assert first.sentence.states and not first.sentence.supported and first.sentence.support == 0
    assert first.alternative_number == 2


@LANGUAGES
def test_wrong_mark_does_not_support_and_the_right_one_is_reported(language: str) -> None:
    right = LEAVE[language][1].text.splitlines()[0]
    for checked in check_sentences(right.replace("。", "[1]。").replace(". ", " [1]. "), LEAVE[language]):
        if checked.sentence.citations:
            assert not checked.sentence.supported
            assert checked.alternative_number == 2


def test_marks_without_evidence_are_unresolved_and_others_still_count() -> None:
    sentence = only("Full-time staff receive 24 days of paid annual leave [1][7].")
    assert sentence.unresolved == [7] and sentence.supported
    assert only("Full-time staff receive 24 days of paid annual leave [0].").unresolved == [0]


def test_claim_from_two_texts_is_supported_and_quotes_both() -> None:
    sentence = only("Full-time staff receive 24 days and up to five unused days move into the next year [1][2].")
    assert sentence.supported
    assert ["24 days" in citation.quote for citation in sentence.citations] == [True, False]
    assert "unused" in sentence.citations[1].quote


def test_title_may_support_a_name() -> None:
    assert "Dublin" not in LEAVE["en"][0].text
    assert only("In Dublin, full-time staff get 24 days [1].").supported
    assert not only("In Boston, full-time staff get 24 days [1].").supported


def test_title_does_not_support_a_number() -> None:
    item = passage("dublin/leave.md", "How many days").model_copy(update={"title": "Leave: 99 days"})
    (sentence,) = read_answer_sentences("Full-time staff receive 99 days of paid annual leave [1].", [item])
    assert not sentence.supported


@pytest.mark.parametrize("text", ["Of course!", "The documents do not mention this.", "资料没有提及此事。", "## Leave"])
def test_sentence_that_states_nothing_does_not_count_as_supported(text: str) -> None:
    sentence = only(text)
    assert not sentence.states and not sentence.supported


def test_leading_mark_does_not_hide_a_claim() -> None:
    assert not only("[1] Full-time staff receive 99 days of leave.").supported
    assert only("[1] Full-time staff receive 99 days of leave.").states
    assert only("[1] Full-time staff receive 24 days of paid annual leave.").supported


def test_list_number_is_not_a_quantity() -> None:
    assert only("7. Full-time staff receive 24 days of paid annual leave [1].").supported


def test_nothing_is_supported_without_evidence() -> None:
    (sentence,) = read_answer_sentences("Staff receive 24 days [1].", [])
    assert sentence.unresolved == [1] and not sentence.supported


@given(st.text(alphabet=st.sampled_from("ab1 .。[]［】-,\n?天日"), max_size=120))
def test_sentences_cover_the_whole_text(text: str) -> None:
    found = read_answer_sentences(text, LEAVE["en"])
    assert "".join("".join(sentence.text for sentence in found).split()) == "".join(text.split())


def test_long_answer_takes_linear_time() -> None:
    text = " ".join(f"Full-time staff number {n} receive 24 days of paid annual leave [1][2]." for n in range(300))
    started = time.process_time()
    assert len(read_answer_sentences(text, LEAVE["en"])) == 300
    assert time.process_time() - started < 10
