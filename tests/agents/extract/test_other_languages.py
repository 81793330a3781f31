"""Questions about documents in another language, without a model: the passage is found and quoted as it is written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.passages import LEAVE
from veracity import Veracity
from veracity.agents.base import WritingTask
from veracity.agents.extract.other_languages import ANSWERS, CLEARLY_ANSWERS, rank_other_languages
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.embedding import make_embedder
from veracity.models import Document, Evidence, EvidenceMetadata

DOCUMENTS = {
    "leave": "# Holiday policy\n\nUnused days can be carried over until the end of March.\n\n"
    "## Parental leave\n\nBoth parents can take 16 weeks of paid parental leave after birth.",
    "travel": "# Travel expenses\n\nFlights are booked in economy class. Hotels cost at most 180 euros a night.",
    "网络": "# 网络\n\n访客请使用名为 Guest 的无线网络，密码每周一更换。",
}
EMBEDDER = make_embedder("bundled")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Veracity]:
    with Veracity(tmp_path_factory.mktemp("languages")) as engine:
        engine.add([Document(id=name, text=text) for name, text in DOCUMENTS.items()])
        yield engine


def evidence(text: str, relevance: float, language: str = "en") -> Evidence:
    metadata = EvidenceMetadata(relevance_score=relevance)
    changes = {"text": text, "start": 0, "end": len(text), "language": language, "metadata": metadata}
    return LEAVE["en"][0].model_copy(update=changes)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("酒店每晚最多多少钱？", "travel"),
        ("ホテルは一泊いくらまでですか？", "travel"),
        ("育児休暇は何週間取れますか？", "leave"),
        ("How often is the guest Wi-Fi password changed?", "网络"),
        ("来客用のWi-Fiのパスワードはいつ変わりますか？", "网络"),
    ],
)
def test_questions_find_documents_in_other_languages(engine: Veracity, question: str, found: str) -> None:
    assert engine.search(question)[0].document_id == found


@pytest.mark.parametrize("question", ["育児休暇は何週間取れますか？", "双亲可以休几周带薪育儿假？"])
def test_quotes_keep_the_language_of_their_document(engine: Veracity, question: str) -> None:
    answer = engine.ask(question)
    draft = engine.approval(answer.approval_id).draft.text if answer.approval_id else answer.text
    assert "16 weeks of paid parental leave" in draft


@pytest.mark.parametrize("question", ["公司的股票期权怎么分配？", "社長の名前は何ですか？"])
def test_questions_without_an_answer_are_not_answered(engine: Veracity, question: str) -> None:
    assert engine.ask(question).status == "abstained"


def test_relevance_decides_between_answer_person_and_abstention() -> None:
    text = "Hotels cost at most 180 euros a night. Flights are booked in economy class."

    def write(relevance: float) -> tuple[bool, bool]:
        output = ExtractiveWriter(EMBEDDER).write(WritingTask("酒店每晚最多多少钱？", [evidence(text, relevance)], []))
        return output.abstains, output.tentative

    assert write(CLEARLY_ANSWERS + 0.1) == (False, False)
    assert write((ANSWERS + CLEARLY_ANSWERS) / 2) == (False, True)
    assert write(ANSWERS - 0.1) == (True, False)


def test_only_similar_units_are_quoted() -> None:
    text = "Flights are booked in economy class. Hotels cost at most 180 euros a night."
    ranked = rank_other_languages("酒店每晚最多多少钱？", [evidence(text, 0.9)], EMBEDDER)
    assert [candidate.text for candidate in ranked] == ["Hotels cost at most 180 euros a night."]


def test_passages_in_the_same_language_are_left_to_the_words() -> None:
    assert rank_other_languages("酒店多少钱？", [evidence("酒店每晚最多180欧元。", 0.9, "zh")], EMBEDDER) == []
    assert rank_other_languages("酒店多少钱？", [evidence("Hotels.", 0.9)], make_embedder("none")) == []
