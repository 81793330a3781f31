"""The sets of other sources: questions with the paragraphs that search finds, and their twins without an answer."""

import pytest
from benchmarks.answers.evidence import CachingEmbedder, ItemStore
from benchmarks.answers.items import Text
from benchmarks.answers.other_sources import Question, make_items

from veracity.embedding import make_embedder
from veracity.retrieval import make_searcher
from veracity.settings import RetrievalSettings

PARAGRAPHS = [
    Text(
        str(year),
        f"The bridge of {year}",
        f"The bridge over the river was built in {year}. It is {year - 1800} m long.",
    )
    for year in range(1900, 1912)
]
QUESTION = Question("q", "How long is the bridge over the river of 1905?", "1905", ("105 m",))


@pytest.mark.parametrize(("name", "keeps_paragraph"), [("xquad_en", False), ("xquad_en_cut", True)])
def test_a_question_is_asked_with_its_answer_and_without(name: str, keeps_paragraph: bool) -> None:
    embedder = CachingEmbedder(make_embedder("none"), None)
    searcher = make_searcher(ItemStore(PARAGRAPHS, embedder), embedder, RetrievalSettings())
    with_answer, without = make_items(name, PARAGRAPHS, [QUESTION], searcher)
    assert with_answer["answerable"] and any("105 m" in text["text"] for text in with_answer["passages"])
    assert not without["answerable"] and not any("105 m" in text["text"] for text in without["passages"])
    assert ("1905" in {text["id"] for text in without["passages"]}) is keeps_paragraph
