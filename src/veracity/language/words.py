"""Tokenizes text: the same tokens for search, grounding and local checks.

Latin words are stemmed with Snowball. Chinese is segmented into dictionary words. Japanese is split into character
bigrams within runs of one script, which needs no dictionary and matches compounds by their parts; a single hiragana is
a particle and dropped.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found, unused-ignore]

from veracity.language import jieba
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA, Language, guess_language
from veracity.patterns import lazy_pattern


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH = _word_set("""
    a about above after again against all also although am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either else even ever every few for from
    further had has have having he hence her here hers herself him himself his how however i if in into is it its
    itself just may me might more most much must my myself neither no nor not of off often on once one only or other
    our ours out over own per quite rather same shall she should since so some still such than that the their theirs
    them themselves then there therefore these they this those though through thus to too under until up upon us
    very was we well were what when where whether which while who whom whose why will with within without would yes
    yet you your yours cannot can't don't doesn't didn't isn't aren't wasn't weren't won't it's i'm he's she's
    that's s t
""")

# The subset that does not help a search. Words such as "first", "before" or "other" do help (measured).
ENGLISH_FUNCTION_WORDS = _word_set("""
    a about an and are as at be been but by can could did do does for from had has have he her his how i if in into is
    it its may me might my no not of on or our she should so such than that the their then there these they this those
    to was we were what when where which who whom whose why will with would you your
""")

CHINESE = _word_set("""
    的 地 得 了 着 过 是 在 和 与 及 以及 或 或者 而 而且 并 并且 但 但是 也 都 就 又 还 还是 很 更 最 太 这 那 这个
    那个 这些 那些 这里 那里 此 该 其 其中 之 之一 于 以 为 被 把 将 对 对于 从 由 到 至 向 往 给 让 使 因 因为 所以
    如果 虽然 则 且 等 等等 有 我 你 您 他 她 它 我们 你们 他们 她们 它们 自己 个 一个 一种 一些 种 些 吗 呢 吧 啊
    呀 嘛 上 中 里 内 后 前 时 会 能 可以 可 要 应 应该 已 已经 曾 正在 来 去 说 什么 怎么 如何 哪 哪些 谁 多少 几
    关于 根据 进行 作为 成为 可能 没有 没 不 无 未 非
""")

# Hiragana pairs in at least one of forty paragraphs of Japanese prose: particles, endings, auxiliaries.
JAPANESE_PAIRS = _word_set("""
    てい して する ある され であ いる した った こと から って では れる とし には れた れて によ など その られ
    るこ いた なっ とな この また ない いて とい ため ると いう より よう があ あり なる これ もの にな とが あっ
    にお よっ よる ては たが われ とも まで どの それ うに もあ るが てお おり とは でき でも なく たこ おい との
    らの につ ける での とす しか つい への たと とに かし はな ばれ にも なり のよ ので めて るた かっ とを にあ
    させ れら るよ ての のた きる けて ても とで なか れに るの める うな のは めに らに いっ とさ るも まれ える
    たも めら しな さら めた とと れは がで おけ たの きな ただ らな どが えて きた かけ くな のも らは いな れば
    なお どを かれ けた えた およ んで えば なら のみ うし だっ のと うこ えら よび れを だけ しい らず だし てき
    がな いと るな くの のこ とか こう いが たり たた はこ まり つの まっ せる のの のが をも れな ほか けで にか
    もに はそ せた んだ じて にし けら しく なが どに たは わっ いこ たる めの うと どで いく いら がら でい いで
    るか もと のに かつ いは をし のほ せて そし いわ なも もな すこ りに とき にと なさ げら りの かに かの ほど
    のあ わる るい らが でな れが だが あた いの いに とっ どと たな がそ まま わり まる りも かな わせ るに つで
    らか がい です ます まし しま せん ませ りま でし いま すが れま きま まず まへ すか ょう しょ そう うで はい いえ
""")

# Abbreviations, by what may follow their full stop.
BEFORE_NAME = _word_set("dr mr mrs ms mx prof st mt gen col lt sgt capt rev hon gov sen rep pres messrs")
NEVER_LAST = BEFORE_NAME | _word_set("e.g i.e cf viz vs ca approx incl excl esp")
BEFORE_NUMBER = _word_set(
    "no nos nr fig figs eq eqs vol vols p pp ch sec art par para ed ver v tab app "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
MAYBE_LAST = _word_set("inc ltd co corp jr sr etc al dept est bros ave blvd rd univ assn ph.d m.d b.a m.a lit")


# A longer run of letters is not a word (a hash, base64): it is kept, not stemmed.
MAX_STEMMED_WORD = 40


class Token(NamedTuple):
    """A token and its position in the normalized text."""

    text: str
    start: int
    end: int


# Combining accents and Indic vowel signs are not letters for `re`, but occur inside words.
_LETTER = rf"(?![{HAN}{HIRAGANA}{KATAKANA}])[^\W\d_]"
_LETTERS = rf"{_LETTER}(?:{_LETTER}|[\u0300-\u036f\u0900-\u109f])*+"
_NUMBER = r"(?P<number>\d{1,3}(?:,\d{3}){1,8}+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
_WORD = rf"(?P<word>{_LETTERS}(?:'{_LETTERS})*)"
_RUN = lazy_pattern(
    rf"{_NUMBER}|(?P<han>[{HAN}]+)|(?P<hiragana>[{HIRAGANA}]+)|(?P<katakana>[{KATAKANA}]+)|{_WORD}",
)
_SEARCH_RUN = lazy_pattern(rf"{_NUMBER}|(?P<cjk>[{HAN}{HIRAGANA}{KATAKANA}]+)|{_WORD}")
_KANJI = lazy_pattern(f"[{HAN}]")
_ACCENT = lazy_pattern("[\u0300-\u036f]")
_stemming = threading.local()


def normalized(text: str) -> str:
    """Unify compatibility forms (１０００ is 1000, ｶ is カ) and apostrophes; keep letter case."""
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def tokens(text: str, language: Language | None = None) -> list[str]:
    """The tokens of the text in order.

    `language` decides how Han characters are segmented: pass it if the text is too short to guess it, such as a
    Japanese query of kanji only.
    """
    plain = normalized(text)
    return [token.text for token in tokens_in_place(plain, language or guess_language(plain))]


def content_tokens(text: str, language: Language | None = None) -> list[str]:
    """The tokens without the common words of the language and of English."""
    language = language or guess_language(text)
    return [token for token in tokens(text, language) if not is_common(token, language)]


def search_tokens(text: str, language: Language | None = None) -> list[str]:
    """The tokens for the search index, chosen by retrieval quality (docs/benchmarks.md).

    English drops function words only. Chinese words are also split into the words inside them, Japanese into pairs
    across scripts (食べ is worth more than 食) and single kanji; neither drops anything.
    """
    language = language or guess_language(text)
    result: list[str] = []
    for run in _SEARCH_RUN.finditer(normalized(text)):
        kind = run.lastgroup
        if kind == "word":
            result.append(_stem(run[0]))
        elif kind == "number":
            result.append(_digits(run[0]))
        else:
            result += _cut_japanese(run[0]) if language == "ja" else jieba.cut_for_search(run[0])
    return [token for token in result if token not in _STOP_TOKENS] if language == "en" else result


def _cut_japanese(run: str) -> Iterator[str]:
    yield from (pair.text for pair in _bigrams(run, 0))
    if len(run) > 1:
        yield from _KANJI.findall(run)


def is_common(token: str, language: Language) -> bool:
    return token in _COMMON[language]


def tokens_in_place(plain: str, language: Language) -> Iterator[Token]:
    """The tokens of a `normalized` text with their positions."""
    for run in _RUN.finditer(plain):
        kind, start = run.lastgroup, run.start()
        if kind == "word":
            yield Token(_stem(run[0]), start, run.end())
        elif kind == "number":
            yield Token(_digits(run[0]), start, run.end())
        elif kind == "han" and language != "ja":
            for word in jieba.cut(run[0]):
                yield Token(word, start, start + len(word))
                start += len(word)
        elif kind != "hiragana" or len(run[0]) > 1:
            yield from _bigrams(run[0], start)


def _bigrams(run: str, start: int) -> Iterator[Token]:
    """Overlapping pairs; a single character is a token of its own."""
    if len(run) == 1:
        yield Token(run, start, start + 1)
    for offset in range(len(run) - 1):
        yield Token(run[offset : offset + 2], start + offset, start + offset + 2)


def _digits(number: str) -> str:
    plain = number.replace(",", "")
    return plain if plain.isascii() else "".join(str(int(d)) if d.isdecimal() else d for d in plain)


def _stem(word: str) -> str:
    return _fold(word) if len(word) > MAX_STEMMED_WORD else _cached_stem(word)


@lru_cache(maxsize=50_000)
def _cached_stem(word: str) -> str:
    """Texts repeat their words: the cache makes tokenizing three times as fast."""
    return str(_stemmer().stemWord(_fold(word)))


def _fold(word: str) -> str:
    lower = word.casefold()
    if lower.isascii():
        return lower
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", lower)))


def _stemmer() -> Stemmer.Stemmer:
    """One stemmer per thread: the object is not thread-safe."""
    if not hasattr(_stemming, "english"):
        _stemming.english = Stemmer.Stemmer("english")
    return _stemming.english


_STOP_TOKENS = frozenset(_stem(word) for word in ENGLISH_FUNCTION_WORDS)
_COMMON_ENGLISH = frozenset(_stem(word) for word in ENGLISH)
_COMMON: dict[Language, frozenset[str]] = {
    "en": _COMMON_ENGLISH,
    "zh": _COMMON_ENGLISH | CHINESE,
    "ja": _COMMON_ENGLISH | JAPANESE_PAIRS,
}


# A character with its combining marks: accents and the voiced marks of kana.
_CLUSTER = lazy_pattern(".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL)


def matching_spans(text: str, query: str) -> list[tuple[int, int]]:
    """Spans of the text with words of the query, in order. Adjacent spans are joined."""
    language = guess_language(text)
    wanted = frozenset(content_tokens(query, language))
    plain, positions = _normalize_with_positions(text)
    spans: list[tuple[int, int]] = []
    for first, last in _find_words(plain, language, wanted):
        start, end = positions[first][0], positions[last - 1][1]
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return spans


def _find_words(plain: str, language: Language, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """A Chinese word may be part of a longer one: 大学 in 北京大学."""
    for token in tokens_in_place(plain, language):
        if token.text in wanted:
            yield token.start, token.end
        elif language == "zh" and len(token.text) > 2:
            for offset in range(len(token.text) - 1):
                for length in (2, 3):
                    if token.text[offset : offset + length] in wanted:
                        yield token.start + offset, token.start + min(offset + length, len(token.text))


def _normalize_with_positions(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """The normalized text and, for each of its characters, the span it came from."""
    if normalized(text) == text:
        return text, [(index, index + 1) for index in range(len(text))]
    pieces = [(normalized(match[0]), match.span()) for match in _CLUSTER.finditer(text)]
    return "".join(piece for piece, _ in pieces), [span for piece, span in pieces for _ in piece]
