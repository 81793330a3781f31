"""Passages in memory, searched as those of the store are."""

import numpy as np

from tests.retrieval.memory import NO_EMBEDDER, Concepts, passage
from veracity.language import search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.hybrid import HybridSearch
from veracity.runs.web_evidence import Gathered

EN = passage("The northern railway opens on Tuesday.", "en")
LONG = passage("The northern railway and " + "apples and pears " * 30, "long")
ZH = passage("北方铁路将于星期二重新开放。", "zh")
JA = passage("北部鉄道は火曜日に再開します。", "ja")


def hit(one: Passage, vector: object = None) -> Hit:
    return Hit(one, 0.0, " ".join(search_tokens(one.text, one.language)), vector)  # type: ignore[arg-type]


GATHERED = Gathered(map(hit, (LONG, EN, ZH, JA)))


def ids(hits: list[Hit]) -> list[str]:
    return [one.passage.document_id for one in hits]


def test_words_find_the_passages_that_hold_them_the_densest_first() -> None:
    words = search_tokens("northern railway", "en")
    assert ids(GATHERED.by_words(words, 10)) == ["en", "long"]
    assert ids(GATHERED.by_words(words, 1)) == ["en"]
    assert ids(GATHERED.by_words(words, 10, "zh")) == ids(GATHERED.by_words([], 10)) == []
    rare, common = (GATHERED.by_words([word], 10)[0].score for word in search_tokens("Tuesday railway", "en"))
    assert rare > common > 0


def test_each_language_by_its_own_words() -> None:
    assert GATHERED.languages() == {"en", "zh", "ja"}
    assert ids(GATHERED.by_words(search_tokens("北方铁路", "zh"), 10, "zh")) == ["zh"]
    assert ids(GATHERED.by_words(search_tokens("北部鉄道", "ja"), 10, "ja")) == ["ja"]


def test_vectors_names_and_ids() -> None:
    near, far = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    gathered = Gathered([hit(EN, far), hit(LONG, near), hit(ZH)])
    assert ids(gathered.by_vector(near, 10)) == ["long", "en"]
    assert ids(gathered.by_ids(["zh.0", "gone", "en.0"])) == ["zh", "en"]
    named = Gathered([hit(passage("Ada Lovelace wrote to Charles Babbage.", "ada")), hit(EN)])
    assert ids(named.by_entities(named.by_ids(["ada.0"])[0].passage.entities, 10)) == ["ada"]


def test_nothing_gathered_finds_nothing() -> None:
    assert Gathered([]).by_words(["a"], 5) == Gathered([]).by_vector(np.ones(1), 5) == []


def test_the_hybrid_search_takes_it_for_a_store() -> None:
    for embedder in (NO_EMBEDDER, Concepts("railway train")):
        hybrid = HybridSearch(GATHERED, embedder, 0.4)
        found = hybrid.search("When does the northern railway open?", 5)
        assert found[0].passage is EN and 0 < found[1].relevance < found[0].relevance <= 1
        hybrid.close()
