"""The verdict on an answer in one line (SPEC X3)."""

from typing import Any

import pytest

from tests.receipt.receipts import answer, decision, full, review, sentence
from veracity.models import Answer
from veracity.models.verdict import verdict
from veracity.receipt.render import render_receipt


def parts(threshold: float = 0.75, language: str = "en", **fields: Any) -> list[tuple[str, str]]:
    given = Answer.model_validate(answer(**fields))
    return [(part.text, part.tone) for part in verdict(given, threshold, language)]


def test_review_support_score_and_decision_in_this_order() -> None:
    found = parts(review=review(outcome="passed", passed=True), score=0.92, decisions=[decision("approve", 5, by="bo")])
    assert found == [
        ("reviewed", "good"),
        ("1 of 2 sentences supported", "fair"),
        ("strong score 92 (threshold 75)", "good"),
        ("approved by bo", "good"),
    ]


def test_a_score_below_the_threshold_is_never_rounded_up_to_it() -> None:
    assert ("fair score 74 (threshold 75)", "fair") in parts(score=0.74999)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "0 of 1 sentence supported"),
        ("zh", "1 句中 0 句有来源支持"),
        ("ja", "1 文中 0 文に裏付けあり"),
    ],
)
def test_an_unsupported_sentence_is_bad_in_every_language(language: str, said: str) -> None:
    assert (said, "bad") in parts(language=language, sentences=[sentence("It flies.", supported=False)])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "awaiting_approval"}, [("waiting for approval", "fair")]),
        ({"status": "rejected", "decisions": [decision("reject", 5, by="bo")]}, [("rejected by bo", "bad")]),
        ({"status": "rejected"}, [("rejected", "bad")]),
        ({"status": "abstained"}, [("no answer in the documents", "fair")]),
        ({"form": "direct"}, [("not from the documents, not examined", "")]),
    ],
)
def test_without_an_examined_answer_there_is_one_part(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert parts(**fields) == expected


def test_the_receipt_has_it_under_the_question() -> None:
    page = render_receipt(full())
    head = page[page.index("<h1") : page.index("</header>")]
    assert "sentences supported" in head
