"""The knowledge source: words and vectors by weighted scores (SPEC C7)."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.retrieval.memory import NO_EMBEDDER, Concepts, MemoryStore, Vector, passage, searcher_over
from veracity.errors import ModelUnreachableError
from veracity.models import Hit, Passage
from veracity.retrieval.hybrid import CANDIDATES, FITTED_FOR, HybridSearch, similarity

CARS = Concepts("car automobile vehicle", "leave holiday vacation")
EVERYWHERE = Concepts("car automobile 自動車", "leave holiday", covers=lambda text: True)


def search_over(*passages: Passage, embedder: Any = CARS, weight: float = 0.4) -> HybridSearch:
    store = MemoryStore(embedder)
    store.add(*passages)
    return HybridSearch(store, embedder, weight)


def names(search: HybridSearch, query: str, limit: int = 10) -> list[str]:
    return [one.passage.document_id for one in search.search(query, limit)]


GARAGE = passage("The automobile stands in the garage.", "garage")
LEAVE = passage("Every engineer has twenty days of leave.", "leave")
ENGINE = passage("The engine of a car needs oil.", "engine")


def test_c7_words_and_meaning_are_added_with_weights() -> None:
    search = search_over(GARAGE, LEAVE, ENGINE)
    question, matches = search.matches("car engine", 10)
    store = search._store
    by_words = {hit.passage.id: hit.score for hit in store.by_words(["car", "engin"], 10)}
    assert question.best_words == by_words["engine.0"]
    for match in matches:
        words = by_words.get(match.passage.id, 0.0) / question.best_words
        meaning = similarity(question.vector, match.hit.vector) / question.best_meaning
        assert match.score == pytest.approx(0.6 * words + 0.4 * meaning)


@pytest.mark.parametrize(("weight", "first"), [(0.0, "words"), (1.0, "meaning")])
def test_the_weight_decides(weight: float, first: str) -> None:
    words = passage("A car park for the holiday: park, park and park.", "words")
    meaning = passage("An automobile, a vehicle.", "meaning")
    assert names(search_over(words, meaning, weight=weight), "car park")[0] == first


def test_without_a_word_in_common_the_meaning_finds() -> None:
    assert names(search_over(GARAGE, LEAVE), "vehicle")[0] == "garage"


def test_a_question_of_stop_words_is_searched_by_meaning_alone() -> None:
    search = search_over(GARAGE, LEAVE)
    question, matches = search.matches("what is it", 10)
    assert question.best_words == 0.0
    assert len(matches) == 2
    assert all(0 <= one.relevance <= 1 for one in search.search("what is it", 10))


def test_a_question_the_embedder_does_not_cover_is_searched_by_its_words() -> None:
    garage = passage("車庫に自動車があります。", "車庫")
    search = search_over(garage, GARAGE, LEAVE)
    question, matches = search.matches("自動車はどこですか", 10)
    assert question.vector is None
    assert [match.passage.document_id for match in matches] == ["車庫"]
    assert matches[0].score == 1.0
    assert "vector" not in search._store.questions  # type: ignore[attr-defined]


def test_passages_without_vectors_count_by_their_words() -> None:
    mixed = passage("車庫 garage に自動車があります。", "車庫")
    search = search_over(mixed, GARAGE, LEAVE)
    scores = {one.passage.document_id: one.score for one in search.search("garage", 10)}
    assert 0 < scores["車庫"] <= 0.6 < scores["garage"]


@pytest.mark.parametrize("query", ["", "   ", "?!…。、", "the of and", "🙂🚗", "\udcff", "\x00"])
@pytest.mark.parametrize("embedder", [CARS, NO_EMBEDDER, EVERYWHERE])
def test_any_question_is_answered(query: str, embedder: Any) -> None:
    search = search_over(GARAGE, LEAVE, embedder=embedder)
    assert len(search.search(query, 10)) == (0 if embedder is NO_EMBEDDER else 2)


@pytest.mark.parametrize("query", ["car", "東京", "東京は", "", "?"])
@pytest.mark.parametrize("embedder", [CARS, NO_EMBEDDER])
def test_an_empty_store_has_nothing(query: str, embedder: Any) -> None:
    assert search_over(embedder=embedder).search(query, 10) == []


def test_a_question_of_many_words_is_a_document() -> None:
    """What is not searched for is not missed either: relevance is about the words that were looked for."""
    words = " ".join(f"word{number}" for number in range(12_000))[:100_000]
    search = search_over(passage(words[:3000], "same"), LEAVE, embedder=NO_EMBEDDER)
    question, _ = search.matches(words, 10)
    assert [len(weights) for weights in question.weights.values()] == [200]
    assert search.search(words, 10)[0].relevance > 0.5


JAPANESE = passage("京都の会議室は予約が必要です。", "ja")
CHINESE = passage("会议室需要预约,京都会議室除外。", "zh")
ENGLISH = passage("The meeting room in Kyoto (京都) is free on Kubernetes days.", "en")


@pytest.mark.parametrize(
    ("passages", "query", "found"),
    [
        ([JAPANESE], "京都会議室", {"ja"}),
        ([CHINESE], "京都会議室", {"zh"}),
        ([JAPANESE, CHINESE], "京都会議室", {"ja", "zh"}),
        ([JAPANESE, CHINESE, ENGLISH], "京都", {"ja", "zh", "en"}),
        ([JAPANESE, CHINESE, ENGLISH], "会议室预约", {"ja", "zh"}),
        ([JAPANESE, ENGLISH], "Kubernetes 部署", {"en"}),
        ([JAPANESE, CHINESE, ENGLISH], "Kubernetes 部署", {"en"}),
    ],
)
def test_a_question_without_kana_may_be_in_any_language(passages: list[Passage], query: str, found: set[str]) -> None:
    assert set(names(search_over(*passages, embedder=NO_EMBEDDER), query)) == found


def test_a_passage_of_kanji_only_is_found_in_a_japanese_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself it looks Chinese, and was cut as such; its document is Japanese."""
    kanji = passage("会議室予約方法一覧", "kanji")
    search = search_over(kanji, JAPANESE, embedder=NO_EMBEDDER)
    monkeypatch.setattr(search._store, "languages", lambda: frozenset(["ja"]))
    assert kanji.language == "zh"
    assert "kanji" in names(search, "会議室予約")


def test_a_passage_need_not_hold_the_words_of_the_other_reading() -> None:
    whole = passage("京都の会議室、つまり京都会議室です。", "ja")
    search = search_over(whole, passage("今天天气很好。", "zh"), embedder=NO_EMBEDDER)
    question, matches = search.matches("京都会議室", 10)
    assert len(question.weights["ja"]) > len(question.weights["zh"]) > 0
    assert question.signals(matches[0].hit, 1.0).words == 1.0


def test_a_reading_of_more_words_has_no_advantage() -> None:
    """Each holds the whole question."""
    japanese, chinese = passage("有給休暇取得申請書です。", "ja"), passage("有給休暇取得申請書。", "zh")
    scores = {
        one.passage.document_id: one.score for one in search_over(japanese, chinese).search("有給休暇取得申請書", 10)
    }
    assert 0.5 < scores["zh"] / scores["ja"] < 2


def test_equals_are_in_the_order_of_their_ids() -> None:
    same = [passage("A car.", name) for name in ("c", "a", "b")]
    assert names(search_over(*same), "car") == names(search_over(*same[::-1]), "car") == ["a", "b", "c"]
    search = search_over(*same)
    given = search.candidates("car")
    turned = given._replace(by_words=given.by_words[::-1], by_vector=given.by_vector[::-1])
    assert search.weigh(turned)[1] == search.weigh(given)[1]


def test_as_many_as_are_asked_for() -> None:
    search = search_over(*(passage(f"Car number {number}.", f"{number:03}") for number in range(300)))
    assert len(names(search, "car", limit=250)) == 250
    assert len(search.matches("car", 10)[1]) >= CANDIDATES


def test_sources_share_the_matches_of_the_last_question() -> None:
    search = search_over(GARAGE, LEAVE)
    first = search.matches("car", 50)
    asked = len(search._store.questions)  # type: ignore[attr-defined]
    assert search.matches("car", 50) is first
    assert len(search._store.questions) == asked  # type: ignore[attr-defined]
    assert search.matches("leave", 50) is not first


def test_what_was_found_is_forgotten_when_the_store_changes() -> None:
    search = search_over(LEAVE)
    assert names(search, "car") == ["leave"]
    search._store.add(GARAGE)  # type: ignore[attr-defined]
    assert names(search, "car") == ["garage", "leave"]


class Broken(Concepts):
    """Gives numbers that are none."""

    def __init__(self, number: float, covers: bool = True) -> None:
        super().__init__("car", covers=lambda text: covers)
        self.number = number

    def embed_query(self, text: str) -> Vector:
        return np.full(self.dimensions, self.number, np.float32)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_vector_that_is_none_counts_as_none(number: float) -> None:
    store = MemoryStore(CARS)
    store.add(GARAGE, LEAVE)
    search = HybridSearch(store, Broken(number), 0.4)
    assert names(search, "garage") == ["garage"]


@pytest.mark.parametrize("number", [float("nan"), 0.0, -1.0])
def test_a_passage_with_a_vector_that_is_none_is_found_by_its_words(number: float) -> None:
    store = MemoryStore(CARS)
    store.add(GARAGE, LEAVE)
    odd = Hit(ENGINE, 0.0, "engin car oil", np.full(CARS.dimensions, number, np.float32))
    store.hits[ENGINE.id] = odd
    given = HybridSearch(store, CARS, 0.4).search("oil", 10)
    assert given[0].passage == ENGINE
    assert all(0 <= one.score <= 1 and 0 <= one.relevance <= 1 for one in given)


def test_meaning_counts_for_relevance_only_with_the_embedder_it_was_fitted_for() -> None:
    fitted = Concepts("car automobile", name=FITTED_FOR)
    for embedder, is_known in ((fitted, True), (CARS, False)):
        question, matches = search_over(GARAGE, embedder=embedder).matches("car", 10)
        assert (question.signals(matches[0].hit, 1.0).meaning is not None) is is_known


def test_errors_of_the_embedder_pass_through() -> None:
    class Failing(Concepts):
        def embed_query(self, text: str) -> Vector:
            raise RuntimeError("no embedder today")

    store = MemoryStore(CARS)
    store.add(GARAGE)
    with pytest.raises(RuntimeError, match="no embedder today"):
        HybridSearch(store, Failing(), 0.4).search("car", 10)


class Counting:
    """An embedder that counts its questions, is slow, and may fail."""

    name = "counting"
    dimensions = 1
    asked = 0
    fails = False

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: Any) -> Any:
        return np.ones((len(texts), 1), np.float32)

    def embed_query(self, text: str) -> Any:
        self.asked += 1
        time.sleep(0.05)
        if self.fails:
            raise ModelUnreachableError("no connection")
        return np.ones(1, np.float32)


def test_sources_that_ask_at_the_same_time_share_one_search() -> None:
    embedder = Counting()
    search = search_over(passage("The car is red.", "a"), embedder=embedder)
    embedder.asked = 0
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: names(search, "car"), range(8)))
    assert found == [["a"]] * 8
    assert embedder.asked == 1


def test_an_error_is_told_and_not_remembered() -> None:
    embedder = Counting()
    search = search_over(passage("The car is red.", "a"), embedder=embedder)
    embedder.fails = True
    with pytest.raises(ModelUnreachableError):
        search.search("car", 10)
    embedder.fails = False
    assert names(search, "car") == ["a"]


@pytest.mark.parametrize(
    ("query", "added", "own", "led"),
    [
        ("holiday", "leave", "The holiday was long.", "Leave is granted by the office."),
        ("放假", "年假", "放假通知。", "年假由办公室批准。"),
        ("やすみ", "休暇", "やすみの知らせ。", "休暇は申請する。"),
    ],
)
def test_c4_words_that_were_added_find_more_and_count_less(query: str, added: str, own: str, led: str) -> None:
    searcher, _ = searcher_over(passage(own, "own"), passage(led, "led"), passage("1 2 3", "other"))
    assert [one.passage.document_id for one in searcher.find("knowledge", query, 10)] == ["own"]
    found = searcher.find("knowledge", query, 10, [added])
    assert [one.passage.document_id for one in found] == ["own", "led"]
    assert found[0].relevance > found[1].relevance


def test_c8_holding_words_that_were_added_is_little_sign_of_relevance() -> None:
    """Else every passage that led to words would bear on the question because it holds them."""
    led = passage("Leave is granted by the office on request in the portal.", "led")
    searcher, _ = searcher_over(led, passage("The holiday was long.", "own"), passage("1 2 3", "other"))
    added = ["leave", "granted", "office"]
    as_added = {one.passage.id: one.relevance for one in searcher.find("knowledge", "holiday notice", 10, added)}
    as_asked = {
        one.passage.id: one.relevance for one in searcher.find("knowledge", " ".join(["holiday notice", *added]), 10)
    }
    assert as_added[led.id] < as_asked[led.id]


def test_added_words_move_the_question_a_little() -> None:
    embedder = Concepts("car", "house")
    car, house = passage("A car.", "car"), passage("A house.", "house")
    searcher, _ = searcher_over(car, house, embedder=embedder, vector_weight=1.0)
    alone = {one.passage.document_id: one.score for one in searcher.find("knowledge", "car", 10)}
    moved = {one.passage.document_id: one.score for one in searcher.find("knowledge", "car", 10, ["house"])}
    assert alone["house"] < moved["house"] < moved["car"]
