"""The knowledge source: words and vectors by weighted scores (SPEC C7), and calibrated relevance (SPEC C3)."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.memory import NO_EMBEDDER, Concepts, MemoryStore, Vector, passage, searcher_over
from veracity.embedding import BUNDLED_NAME
from veracity.errors import ModelUnreachableError
from veracity.models import Hit, Passage
from veracity.retrieval import hybrid
from veracity.retrieval.hybrid import (
    MIN_CANDIDATES,
    HybridSearch,
    Signals,
    relevance,
    similarity,
    word_coverage,
    word_weights,
)

CARS = Concepts("car automobile vehicle", "leave holiday vacation")
EVERYWHERE = Concepts("car automobile 自動車", "leave holiday", covers=lambda text: True)


def search_over(*passages: Passage, embedder: Any = CARS, weight: float = 0.4) -> HybridSearch:
    store = MemoryStore(embedder)
    store.add(*passages)
    return HybridSearch(store, embedder, weight)


def names(search: HybridSearch, query: str, limit: int = 10) -> list[str]:
    return [result.passage.document_id for result in search.search(query, limit)]


GARAGE = passage("The automobile stands in the garage.", "garage")
LEAVE = passage("Every engineer has twenty days of leave.", "leave")
ENGINE = passage("The engine of a car needs oil.", "engine")


def test_c7_scores_by_words_and_meaning_are_added_with_weights() -> None:
    search = search_over(GARAGE, LEAVE, ENGINE)
    question, matches = search.match("car engine", 10)
    store = search._store
    by_words = {hit.passage.id: hit.score for hit in store.by_words(["car", "engin"], 10)}
    assert question.best_words == by_words["engine.0"]
    for match in matches:
        words = by_words.get(match.passage.id, 0.0) / question.best_words
        meaning = similarity(question.vector, match.hit.vector) / question.best_meaning
        assert match.score == pytest.approx(0.6 * words + 0.4 * meaning)


@pytest.mark.parametrize(("weight", "first"), [(0.0, "words"), (1.0, "meaning")])
def test_the_vector_weight_is_used(weight: float, first: str) -> None:
    words = passage("A car park for the holiday: park, park and park.", "words")
    meaning = passage("An automobile, a vehicle.", "meaning")
    assert names(search_over(words, meaning, weight=weight), "car park")[0] == first


ENGLISH_DOCS = passage("GZipMiddleware and minimum_size: the default is 500.", "en")
CHINESE_DOCS = passage("GZipMiddleware 的参数 minimum_size：小于该值的响应不压缩，大于该值的响应压缩，默认 500。", "zh")
JAPANESE_DOCS = passage("GZipMiddleware の minimum_size：これより小さい応答は圧縮しません。初期値は 500 です。", "ja")


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("GZipMiddleware minimum_size 认", CHINESE_DOCS, ENGLISH_DOCS),
        ("GZipMiddleware minimum_size とは", JAPANESE_DOCS, ENGLISH_DOCS),
    ],
)
def test_x5_evidence_in_the_language_of_the_question_is_preferred(
    question: str, own: Passage, other: Passage, monkeypatch: Any
) -> None:
    assert names(search_over(own, other, embedder=NO_EMBEDDER), question)[0] == own.document_id
    monkeypatch.setattr(hybrid, "OTHER_LANGUAGE_FACTOR", 1.0)
    assert names(search_over(own, other, embedder=NO_EMBEDDER), question)[0] == other.document_id


@pytest.mark.parametrize(("question", "language"), [("GZipMiddleware 的 minimum_size 认证", "en"), ("自動車", "ja")])
def test_x5_the_only_evidence_is_as_relevant_in_any_language(question: str, language: str, monkeypatch: Any) -> None:
    only = passage("自動車は車庫にあります。", "ja") if language == "ja" else ENGLISH_DOCS
    [found] = search_over(only, embedder=NO_EMBEDDER).search(question, 10)
    monkeypatch.setattr(hybrid, "OTHER_LANGUAGE_FACTOR", 1.0)
    assert [found.relevance] == [
        item.relevance for item in search_over(only, embedder=NO_EMBEDDER).search(question, 10)
    ]


def test_search_by_meaning_needs_no_common_word() -> None:
    assert names(search_over(GARAGE, LEAVE), "vehicle")[0] == "garage"


def test_a_question_of_stop_words_is_searched_by_meaning() -> None:
    search = search_over(GARAGE, LEAVE)
    question, matches = search.match("what is it", 10)
    assert question.best_words == 0.0
    assert len(matches) == 2
    assert all(0 <= result.relevance <= 1 for result in search.search("what is it", 10))


def test_an_uncovered_question_is_searched_by_words() -> None:
    garage = passage("車庫に自動車があります。", "車庫")
    search = search_over(garage, GARAGE, LEAVE)
    question, matches = search.match("自動車はどこですか", 10)
    assert question.vector is None
    assert [match.passage.document_id for match in matches] == ["車庫"]
    assert matches[0].score == 1.0
    assert "vector" not in search._store.queries  # type: ignore[attr-defined]


def test_passages_without_vectors_are_scored_by_words() -> None:
    mixed = passage("車庫 garage に自動車があります。", "車庫")
    search = search_over(mixed, GARAGE, LEAVE)
    scores = {result.passage.document_id: result.score for result in search.search("garage", 10)}
    assert 0 < scores["車庫"] <= 0.6 < scores["garage"]


@pytest.mark.parametrize("query", ["", "   ", "?!…。、", "the of and", "🙂🚗", "\udcff", "\x00"])
@pytest.mark.parametrize("embedder", [CARS, NO_EMBEDDER, EVERYWHERE])
def test_any_query_works(query: str, embedder: Any) -> None:
    search = search_over(GARAGE, LEAVE, embedder=embedder)
    assert len(search.search(query, 10)) == (0 if embedder is NO_EMBEDDER else 2)


@pytest.mark.parametrize("query", ["car", "東京", "東京は", "", "?"])
@pytest.mark.parametrize("embedder", [CARS, NO_EMBEDDER])
def test_an_empty_store_returns_nothing(query: str, embedder: Any) -> None:
    assert search_over(embedder=embedder).search(query, 10) == []


def test_a_long_question_is_cut_to_the_maximum_number_of_words() -> None:
    """Words beyond the maximum do not lower the relevance."""
    words = " ".join(f"word{number}" for number in range(12_000))[:100_000]
    search = search_over(passage(words[:3000], "same"), LEAVE, embedder=NO_EMBEDDER)
    question, _ = search.match(words, 10)
    assert [len(weights) for weights in question.weights.values()] == [200]
    assert search.search(words, 10)[0].relevance > 0.5


JAPANESE = passage("京都の会議室は予約が必要です。", "ja")
CHINESE = passage("会议室需要预约,京都会議室除外。", "zh")
ENGLISH = passage("The meeting room in Kyoto (京都) is free on Kubernetes days.", "en")


@pytest.mark.parametrize(
    ("passages", "query", "expected"),
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
def test_a_question_without_kana_is_searched_in_all_languages(
    passages: list[Passage], query: str, expected: set[str]
) -> None:
    assert set(names(search_over(*passages, embedder=NO_EMBEDDER), query)) == expected


def test_a_passage_of_kanji_is_found_in_a_japanese_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passage alone looks Chinese, and was tokenized as Chinese; its document is Japanese."""
    kanji = passage("会議室予約方法一覧", "kanji")
    search = search_over(kanji, JAPANESE, embedder=NO_EMBEDDER)
    monkeypatch.setattr(search._store, "languages", lambda: frozenset(["ja"]))
    assert kanji.language == "zh"
    assert "kanji" in names(search, "会議室予約")


def test_words_of_another_language_do_not_count() -> None:
    whole = passage("京都の会議室、つまり京都会議室です。", "ja")
    search = search_over(whole, passage("今天天气很好。", "zh"), embedder=NO_EMBEDDER)
    question, matches = search.match("京都会議室", 10)
    assert len(question.weights["ja"]) > len(question.weights["zh"]) > 0
    assert question.signals(matches[0].hit, 1.0).words == 1.0


def test_more_words_in_a_language_are_no_advantage() -> None:
    """Each passage contains the whole question."""
    japanese, chinese = passage("有給休暇取得申請書です。", "ja"), passage("有給休暇取得申請書。", "zh")
    scores = {
        result.passage.document_id: result.score
        for result in search_over(japanese, chinese).search("有給休暇取得申請書", 10)
    }
    assert 0.5 < scores["zh"] / scores["ja"] < 2


def test_ties_are_ordered_by_id() -> None:
    same = [passage("A car.", name) for name in ("c", "a", "b")]
    assert names(search_over(*same), "car") == names(search_over(*same[::-1]), "car") == ["a", "b", "c"]
    search = search_over(*same)
    candidates = search.find_candidates("car")
    reversed_ = candidates._replace(by_words=candidates.by_words[::-1], by_vector=candidates.by_vector[::-1])
    assert search.score_candidates(reversed_)[1] == search.score_candidates(candidates)[1]


def test_the_limit_is_reached() -> None:
    search = search_over(*(passage(f"Car number {number}.", f"{number:03}") for number in range(300)))
    assert len(names(search, "car", limit=250)) == 250
    assert len(search.match("car", 10)[1]) >= MIN_CANDIDATES


def test_the_last_question_is_cached() -> None:
    search = search_over(GARAGE, LEAVE)
    first = search.match("car", 50)
    count = len(search._store.queries)  # type: ignore[attr-defined]
    assert search.match("car", 50) is first
    assert len(search._store.queries) == count  # type: ignore[attr-defined]
    assert search.match("leave", 50) is not first


def test_a_changed_store_invalidates_the_cache() -> None:
    search = search_over(LEAVE)
    assert names(search, "car") == ["leave"]
    search._store.add(GARAGE)  # type: ignore[attr-defined]
    assert names(search, "car") == ["garage", "leave"]


class BrokenEmbedder(Concepts):
    """Returns vectors that are not finite."""

    def __init__(self, number: float, covers: bool = True) -> None:
        super().__init__("car", covers=lambda text: covers)
        self.number = number

    def embed_query(self, text: str) -> Vector:
        return np.full(self.dimensions, self.number, np.float32)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_question_vector_that_is_not_finite_is_ignored(number: float) -> None:
    store = MemoryStore(CARS)
    store.add(GARAGE, LEAVE)
    search = HybridSearch(store, BrokenEmbedder(number), 0.4)
    assert names(search, "garage") == ["garage"]


@pytest.mark.parametrize("number", [float("nan"), 0.0, -1.0])
def test_a_passage_vector_that_is_not_finite_is_ignored(number: float) -> None:
    store = MemoryStore(CARS)
    store.add(GARAGE, LEAVE)
    odd = Hit(ENGINE, 0.0, "engin car oil", np.full(CARS.dimensions, number, np.float32))
    store.hits[ENGINE.id] = odd
    results = HybridSearch(store, CARS, 0.4).search("oil", 10)
    assert results[0].passage == ENGINE
    assert all(0 <= result.score <= 1 and 0 <= result.relevance <= 1 for result in results)


def test_meaning_counts_for_relevance_only_with_the_calibrated_embedder() -> None:
    fitted = Concepts("car automobile", name=BUNDLED_NAME)
    for embedder, is_known in ((fitted, True), (CARS, False)):
        question, matches = search_over(GARAGE, embedder=embedder).match("car", 10)
        assert (question.signals(matches[0].hit, 1.0).meaning is not None) is is_known


def test_embedder_errors_propagate() -> None:
    class Failing(Concepts):
        def embed_query(self, text: str) -> Vector:
            raise RuntimeError("no embedder today")

    store = MemoryStore(CARS)
    store.add(GARAGE)
    with pytest.raises(RuntimeError, match="no embedder today"):
        HybridSearch(store, Failing(), 0.4).search("car", 10)


class CountingEmbedder:
    """Counts its calls, is slow, and may fail."""

    name = "counting"
    dimensions = 1
    calls = 0
    fails = False

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: Any) -> Any:
        return np.ones((len(texts), 1), np.float32)

    def embed_query(self, text: str) -> Any:
        self.calls += 1
        time.sleep(0.05)
        if self.fails:
            raise ModelUnreachableError("no connection")
        return np.ones(1, np.float32)


def test_concurrent_equal_queries_share_one_search() -> None:
    embedder = CountingEmbedder()
    search = search_over(passage("The car is red.", "a"), embedder=embedder)
    embedder.calls = 0
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: names(search, "car"), range(8)))
    assert results == [["a"]] * 8
    assert embedder.calls == 1


def test_errors_are_not_cached() -> None:
    embedder = CountingEmbedder()
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
def test_c4_added_words_find_more_and_count_less(query: str, added: str, own: str, led: str) -> None:
    searcher, _ = searcher_over(passage(own, "own"), passage(led, "led"), passage("1 2 3", "other"))
    assert [result.passage.document_id for result in searcher.find("knowledge", query, 10)] == ["own"]
    results = searcher.find("knowledge", query, 10, [added])
    assert [result.passage.document_id for result in results] == ["own", "led"]
    assert results[0].relevance > results[1].relevance


def test_c8_added_words_count_little_for_relevance() -> None:
    """Otherwise a passage that suggested the words would be relevant because it contains them."""
    led = passage("Leave is granted by the office on request in the portal.", "led")
    searcher, _ = searcher_over(led, passage("The holiday was long.", "own"), passage("1 2 3", "other"))
    added = ["leave", "granted", "office"]
    as_added = {
        result.passage.id: result.relevance for result in searcher.find("knowledge", "holiday notice", 10, added)
    }
    as_asked = {
        result.passage.id: result.relevance
        for result in searcher.find("knowledge", " ".join(["holiday notice", *added]), 10)
    }
    assert as_added[led.id] < as_asked[led.id]


def test_added_words_move_the_vector_a_little() -> None:
    embedder = Concepts("car", "house")
    car, house = passage("A car.", "car"), passage("A house.", "house")
    searcher, _ = searcher_over(car, house, embedder=embedder, vector_weight=1.0)
    alone = {result.passage.document_id: result.score for result in searcher.find("knowledge", "car", 10)}
    moved = {result.passage.document_id: result.score for result in searcher.find("knowledge", "car", 10, ["house"])}
    assert alone["house"] < moved["house"] < moved["car"]


LANGUAGES = ("en", "zh", "ja")
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
SHARE = st.floats(0, 1)
LANGUAGE = st.sampled_from(LANGUAGES)


@given(ANY_FLOAT, ANY_FLOAT, st.none() | ANY_FLOAT, LANGUAGE)
def test_c3_relevance_is_within_0_and_1(words: float, share: float, meaning: float | None, language: str) -> None:
    assert 0 <= relevance(Signals(words, share, meaning), language) <= 1


@given(SHARE, SHARE, st.none() | SHARE, SHARE, LANGUAGE, st.sampled_from([0, 1, 2]))
def test_relevance_is_monotonic(
    words: float, share: float, meaning: float | None, more: float, language: str, which: int
) -> None:
    signals = [words, share, meaning]
    before = signals[which]
    if before is not None:
        raised = [*signals[:which], max(before, more), *signals[which + 1 :]]
        assert relevance(Signals(*raised), language) >= relevance(Signals(*signals), language)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
def test_relevance_at_the_ends_of_the_scale(language: str) -> None:
    assert relevance(Signals(0, 0), language) < 0.05
    assert relevance(Signals(1, 1), language) > 0.5


def test_unknown_meaning_is_not_zero() -> None:
    """Otherwise a passage with similarity 0 would score higher than one with a low similarity."""
    assert relevance(Signals(1, 1, 0.0), "en") < relevance(Signals(1, 1, 0.01), "en")
    assert relevance(Signals(1, 1, 0.0), "en") < relevance(Signals(1, 1, None), "en")


def test_frequent_words_weigh_little() -> None:
    passages = [frozenset(["usual", "rare"]), frozenset(["usual"])] * 15
    weights = word_weights(["rare", "usual", "absent"], passages)
    assert weights == pytest.approx({"rare": 0.55, "usual": 0.1, "absent": 1.0})
    assert word_coverage(weights, frozenset(["usual"])) == pytest.approx(0.1 / 1.65)
    assert word_coverage(weights, frozenset(["rare", "usual", "absent", "more"])) == 1.0
    assert word_coverage(weights, frozenset()) == 0.0


def test_with_few_passages_every_word_is_rare() -> None:
    assert word_weights(["only"], [frozenset(["only"])])["only"] > 0.9


def test_coverage_without_words_is_zero() -> None:
    assert word_weights([], []) == {}
    assert word_coverage({}, frozenset(["word"])) == 0.0


@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.frozensets(st.text(max_size=3))))
def test_coverage_is_within_0_and_1(words: list[str], passages: list[frozenset[str]]) -> None:
    weights = word_weights(words, passages)
    assert all(0 < weight <= 1 for weight in weights.values())
    for passage_words in passages:
        assert 0 <= word_coverage(weights, passage_words) <= 1


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_best_passage_without_matching_words_is_not_relevant(language: str) -> None:
    assert relevance(Signals(1, 1), language) >= 0.5
    assert relevance(Signals(0, 1), language) <= 0.25
