"""The bundled reranker: passages that answer come first, others keep their order and all keep their relevance."""

from __future__ import annotations

import pytest

from veracity.models import Evidence
from veracity.reranking.bundled import MAX_READ, BundledReranker

RERANKER = BundledReranker()
ABOUT = {
    "en": ("How many days of annual leave do staff have?", "Annual leave is one of the topics of this handbook."),
    "zh": ("员工每年有多少天年假？", "年假是本手册的内容之一。"),
    "ja": ("社員の年次有給休暇は何日ですか。", "年次有給休暇はこの手引きの話題の一つである。"),
}
ANSWERS = {
    "en": "Staff have 25 days of annual leave.",
    "zh": "员工每年有25天年假。",
    "ja": "社員には年に25日の年次有給休暇がある。",
}


def evidence(text: str, relevance: float, number: int = 0, title: str = "") -> Evidence:
    return Evidence.model_validate(
        {
            "id": f"{number}",
            "text": text,
            "source": "knowledge",
            "document_id": f"document-{number}",
            "title": title,
            "location": "handbook.md",
            "headings": [],
            "page": None,
            "start": 0,
            "end": len(text),
            "language": "en",
            "metadata": {"relevance_score": relevance},
        }
    )


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_the_passage_that_answers_comes_first(language: str) -> None:
    question, text = ABOUT[language]
    about, answering = evidence(text, 0.6, 1), evidence(ANSWERS[language], 0.5, 2)
    assert RERANKER.rerank(question, [about, answering]) == [answering, about]


def test_relevance_decides_between_passages_that_do_not_answer() -> None:
    weak, strong = evidence("The printer needs paper.", 0.05, 1), evidence("The printer is new.", 0.9, 2)
    assert RERANKER.rerank("Who repairs the lift?", [weak, strong]) == [strong, weak]


def test_each_language_keeps_its_places() -> None:
    """Scores of passages in different languages cannot be compared."""
    question, text = ABOUT["en"]
    japanese = evidence(ANSWERS["ja"], 0.4, 3).model_copy(update={"language": "ja"})
    about, answering = evidence(text, 0.6, 1), evidence(ANSWERS["en"], 0.5, 2)
    assert RERANKER.rerank(question, [about, japanese, answering]) == [answering, japanese, about]


def test_passages_beyond_those_that_are_read_keep_their_place() -> None:
    question, about = ABOUT["en"]
    read = [evidence(f"{about} {number}", 0.3, number) for number in range(MAX_READ)]
    behind = [evidence(ANSWERS["en"], 0.3, 100), evidence(about, 0.3, 101)]
    ordered = RERANKER.rerank(question, [*read, *behind])
    assert ordered[MAX_READ:] == behind
    assert sorted(item.id for item in ordered[:MAX_READ]) == sorted(item.id for item in read)


@pytest.mark.parametrize("relevance", [0.0, 1.0])
@pytest.mark.parametrize(
    "text", ["", "\n\n", "```\ncode\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "\ud83d", "x" * 50_000]
)
def test_any_passage_is_ranked(text: str, relevance: float) -> None:
    odd, usual = evidence(text, relevance, 1, "\0"), evidence(ANSWERS["en"], 0.5, 2)
    assert {item.id for item in RERANKER.rerank("Why?\ud83d", [odd, usual])} == {"1", "2"}


def test_no_passages() -> None:
    assert RERANKER.rerank("Why?", []) == []
