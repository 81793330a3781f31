"""Reads the claims of a passage: words, names, quantities, opposites (rose/fell) and negations.

Works by form, in English, Chinese and Japanese. Reads one passage; `support.py` compares two readings.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from veracity.grounding.quantities import Quantity, blanked, quantities
from veracity.language import Token, guess_language, is_common, jieba, normalized, tokens, tokens_in_place
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.patterns import lazy_pattern

# Pairs of opposites. An underscore joins a phrase. Chinese and Japanese entries also match inside compounds.
_PAIRS = (
    (
        "increase rise rose risen grow grew grown growth climb surge expand "
        "増加 増え 増や 上昇 増大 拡大 上升 增加 增长 增多 提高 上涨 扩大",
        "decrease reduce reduction fall fell fallen decline drop shrink shrank "
        "減少 減っ 減り 減ら 減る 低下 下落 縮小 下降 减少 降低 下跌 下滑 缩小",
    ),
    (
        "all every each entire always 全部 所有 全体 全员 全員 すべて 全て 一切 总是 常に",
        "some several most_of partly partially sometimes 一部 部分 有些 某些 一些 いくつか 大半 多数 有时 時々",
    ),
    ("higher 更高 より高", "lower 更低 より低"),
    ("above exceed more_than 以上 超过 超え 上回 高于", "below less_than fewer_than 以下 未満 未满 低于 不足 下回"),
    ("before prior_to 之前 以前 前に 饭前 餐前 食前", "after 之后 以后 後に 以降 饭后 餐后 食後"),
    ("earlier", "later"),
    (
        "at_least no_less_than minimum 至少 最少 最低でも 少なくとも",
        "at_most no_more_than up_to maximum 最多 至多 多くとも",
    ),
    ("win won winner victory 勝利 勝っ 获胜 胜利", "lose lost 敗北 敗れ 落败"),
    ("allow permit 允许 许可 許可 認め", "prohibit forbid forbidden ban banned disallow 禁止 禁じ 不得"),
    ("include 包含 包括 含む 含ま", "exclude 除外 排除 除く 除き"),
    ("accept approve approval 承認 批准 同意", "reject deny denied refuse 却下 拒否 否决 拒绝"),
    ("mandatory compulsory obligatory must required 必須 義務 必须 强制", "optional voluntary 任意 可选 自愿"),
    ("import 輸入 进口", "export 輸出 出口"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
    ("public 公立", "private 私立"),
    ("positive 陽性 阳性", "negative 陰性 阴性"),
    ("enable", "disable"),
    ("start begin began begun commence 開始 始ま 开始", "end conclude 終了 終わ 结束"),
    ("buy bought purchase acquire 購入 购买 买入 收购", "sell sold 売却 販売 出售 卖出"),
    ("success succeed successful 成功", "fail failure 失敗 失败"),
    ("larger bigger", "smaller"),
    ("longer", "shorter"),
    ("better improve improvement 改善 好转", "worse worsen deteriorate 悪化 恶化"),
    ("best", "worst"),
    ("strengthen 強化 加强", "weaken 弱化 削弱"),
    ("support 賛成 赞成 支持", "oppose opposition 反対 反对"),
    ("appoint 任命 就任", "resign 辞任 辞职"),
    ("profit 黒字 盈利", "loss 赤字 亏损"),
    ("free free_of_charge 無料 免费", "paid 有料 收费 付费"),
    ("everybody everyone", "nobody no_one"),
    ("many numerous", "few hardly_any"),
    ("safe 安全", "unsafe dangerous 危険 危险"),
    ("possible 可能", "impossible 不可能 不可"),
    ("必要", "不要"),
    ("open opened 开门 开业", "closed 关门 停业"),
    ("legal lawful 合法", "illegal unlawful 違法 违法 非法"),
    ("able", "unable"),
    ("available", "unavailable"),
    ("valid 有効 有效", "invalid 無効 无效"),
    ("correct accurate", "incorrect inaccurate"),
    ("complete", "incomplete"),
)


def _sides() -> dict[str, str]:
    return {
        entry.replace("_", " "): f"{'+-'[side]}{number}"
        for number, pair in enumerate(_PAIRS)
        for side, entries in enumerate(pair)
        for entry in entries.split()
    }


_SIDE_OF_ENTRY = _sides()
_SIDE_OF_TOKEN = {tokens(e)[0]: side for e, side in _SIDE_OF_ENTRY.items() if e.isascii() and " " not in e}
_LONGEST_FIRST = sorted(_SIDE_OF_ENTRY, key=len, reverse=True)
_PHRASE = lazy_pattern(rf"\b(?:{'|'.join(e for e in _LONGEST_FIRST if e.isascii() and ' ' in e)})\b", re.IGNORECASE)
_CJK_WORD = lazy_pattern("|".join(e for e in _LONGEST_FIRST if not e.isascii()))


def side_of(token: str) -> str | None:
    """The side of a pair an English token is on, such as `+0`."""
    return _SIDE_OF_TOKEN.get(token)


def find_sides(plain: str) -> list[Token]:
    """Phrases and Chinese and Japanese words of the pairs in a normalized text, as tokens named by side."""
    matches = [*_PHRASE.finditer(plain), *(() if plain.isascii() else _CJK_WORD.finditer(plain))]
    return [Token(_SIDE_OF_ENTRY[match[0].lower()], match.start(), match.end()) for match in matches]


def is_side(key: str) -> bool:
    return key[0] in "+-"


def other_side(side: str) -> str:
    """The side that contradicts this one."""
    return ("-" if side[0] == "+" else "+") + side[1:]


WORD_WEIGHT = 1.0
NAME_WEIGHT = 2.0
QUANTITY_WEIGHT = 3.0
# "All", "rose", "forbidden": the direction of a statement.
SIDE_WEIGHT = 1.5
# Hiragana pairs are mostly word endings, which a paraphrase may change.
HIRAGANA_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the passage: its lookup keys, weight and position in the normalized passage."""

    keys: tuple[str, ...]
    weight: float
    start: int
    end: int
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The words and quantities of a passage, and the keys it asserts and negates."""

    words: tuple[Word, ...]
    quantities: tuple[Quantity, ...]
    asserted: frozenset[str]
    denied: frozenset[str]

    @property
    def keys(self) -> frozenset[str]:
        return self.asserted | self.denied


def quantity_key(quantity: Quantity) -> str:
    """The lookup key of a quantity; units are compared later."""
    return f"#{quantity.number.normalize()}"


@lru_cache(maxsize=4096)  # several checks of one submission read the same sentences
def read_claim(sentence: str) -> Reading:
    """Read a sentence to be checked, with weighted words."""
    plain = normalized(sentence)
    numbers, places = _quantities_and_tokens(plain)
    chinese = guess_language(plain) == "zh"
    words = tuple(_chinese_words(plain, places) if chinese else _words(plain, places))
    return Reading(words, numbers, *_polarity(plain, places))


@lru_cache(maxsize=4096)  # the same passages are found for many questions
def read_evidence(passage: str) -> Reading:
    """Read a passage to check sentences against."""
    plain = normalized(passage)
    numbers, places = _quantities_and_tokens(plain)
    return Reading((), numbers, *_polarity(plain, places))


def _quantities_and_tokens(plain: str) -> tuple[tuple[Quantity, ...], list[Token]]:
    """Quantities, then opposites, then words of the rest, so that nothing counts twice.

    Han characters are split into pairs, so that a word also matches inside a compound.
    """
    numbers = quantities(plain)
    rest = blanked(plain, [(number.start, number.end) for number in numbers])
    sides = find_sides(rest)
    rest = blanked(rest, [(side.start, side.end) for side in sides])
    places = sides + [_as_side(token) for token in tokens_in_place(rest, "ja")]
    return numbers, sorted(places, key=lambda token: token.start)


def _as_side(token: Token) -> Token:
    side = side_of(token.text)
    return Token(side, token.start, token.end) if side else token


_ALL_HIRAGANA = lazy_pattern(f"[{HIRAGANA}]+")
_KATAKANA_RUN = lazy_pattern(f"[{KATAKANA}]{{2,}}")
_OPENING = lazy_pattern(r"\W*\w+")
_CHINESE_NAME_TAGS = ("nr", "ns", "nt", "nz")


def _words(plain: str, places: list[Token]) -> Iterator[Word]:
    """English and Japanese words. The first word of a sentence is capitalised anyway and need not be a name."""
    first = _OPENING.match(plain)
    opening_end = first.end() if first else 0
    for token in places:
        surface = plain[token.start : token.end]
        if is_common(token.text, "ja") or _is_single_letter(token) or _KATAKANA_RUN.fullmatch(surface):
            continue
        is_name = surface[0].isupper() and token.start >= opening_end and not is_side(token.text)
        yield Word((token.text,), _weight(token.text, is_name), token.start, token.end, is_name)
    yield from _katakana_words(plain, places)


def _katakana_words(plain: str, places: list[Token]) -> Iterator[Word]:
    """A run of katakana is a name or loanword: one word, matched only whole."""
    for run in _KATAKANA_RUN.finditer(plain):
        keys = tuple(token.text for token in _inside(places, run.start(), run.end()))
        if keys:
            yield Word(keys, NAME_WEIGHT, run.start(), run.end(), is_name=True)


def _chinese_words(plain: str, places: list[Token]) -> Iterator[Word]:
    """Dictionary words, looked up by their character pairs; opposites are words of their own."""
    sides = [token for token in places if is_side(token.text)]
    yield from (Word((side.text,), SIDE_WEIGHT, side.start, side.end) for side in sides)
    places = [token for token in places if not is_side(token.text)]
    end = 0
    for text, tag in jieba.tag(plain):
        start, end = end, end + len(text)
        inside = [token for token in _inside(places, start, end) if not _is_single_letter(token)]
        if inside and not is_common(text, "zh") and not all(is_common(token.text, "zh") for token in inside):
            is_name = tag.startswith(_CHINESE_NAME_TAGS) or text[0].isupper()
            keys = tuple(token.text for token in inside)
            yield Word(keys, max(_weight(key, is_name) for key in keys), start, end, is_name)


def _weight(key: str, is_name: bool) -> float:
    if is_side(key):
        return SIDE_WEIGHT
    if is_name:
        return NAME_WEIGHT
    return HIRAGANA_WEIGHT if _ALL_HIRAGANA.fullmatch(key) else WORD_WEIGHT


def _inside(places: list[Token], start: int, end: int) -> list[Token]:
    """The tokens within a span of the text."""
    first = bisect_left(places, start, key=lambda token: token.start)
    last = bisect_left(places, end, lo=first, key=lambda token: token.start)
    return [token for token in places[first:last] if token.end <= end]


def _is_single_letter(token: Token) -> bool:
    """Initials and the letters of "U.S." have too many spellings to compare."""
    return len(token.text) == 1 and token.text.isascii()


_NEGATION = lazy_pattern(
    r"(?P<no>\b(?:not only|no\.? ?\d)|不仅|不但|不过|不同|不断|不少|不久|不管|不论|不得不|无论|无数|非常|非洲|未来|没收"
    r"|莫斯科|かもしれない|かもしれません|違いない|なければな|なくてはな|だけでなく|少ない|少なく|必ず|まず|はず|わずか|いずれ)"
    r"|(?P<ahead>\b(?:not|never|no|none|neither|nor|without|cannot|unable|rarely|hardly)\b"
    r"|\b(?:fail(?:s|ed)? to|lack(?:s|ed)?)\b"
    r"|n't\b|不|没有|没|未(?!満|満|满)|无|並非|并非)"
    r"|(?P<behind>ない|なかった|ません|なく|ず(?=[、。に])|ぬ)",
    re.IGNORECASE,
)
_CLAUSE_END = lazy_pattern(r"[,;:.!?()、，；：。！？（）]|\b(?:but|because|although|which|who|that|and)\b")
_NEGATED_WORDS_AHEAD = 2
# Reach of a negation in characters.
_LATIN_REACH = 60
_HAN_REACH = 4
_REACH_BEHIND = 8
_STEM_BEFORE_ENDING = lazy_pattern(f"[{HAN}{KATAKANA}]+[{HIRAGANA}]*\\Z")


def _polarity(plain: str, places: list[Token]) -> tuple[frozenset[str], frozenset[str]]:
    """The asserted and negated keys. One sweep over tokens and spans, both ordered by start."""
    spans = sorted(_negated_spans(plain, places), reverse=True)
    asserted: set[str] = set()
    denied: set[str] = set()
    denied_until = 0
    for token in places:
        while spans and spans[-1][0] <= token.start:
            denied_until = max(denied_until, spans.pop()[1])
        (denied if token.start < denied_until else asserted).add(token.text)
    return frozenset(asserted), frozenset(denied)


# For `find_negation`, besides the exceptions above.
_NO_NEGATION = lazy_pattern(
    r"\bnot (?:just|necessarily)\b|\b(?:if|or) not\b|なければ(?:なり|なら)\w{0,3}|なくては\w{0,5}"
    r"|しか[^。、]{0,15}(?:ない|ません)|不(?:自然|可欠|具合|明)",
    re.IGNORECASE,
)
_NEGATIONS = """
    不 没 未 无 没有 并非 并不 并未 不是 不会 不能 不可 不可以 不得 不予 不准 不许 不用 不必 不需 不需要 不应 不应该
    不再 不要 从未 从不 绝不 尚未 未能 未曾 无法 无需 无须 不足 不足以 不受 不在 不含 不包括 不允许 禁止 严禁
"""
_CHINESE_NEGATIONS = frozenset(_NEGATIONS.split())
_OTHER_NEGATION = lazy_pattern(r"\b(?:prohibit|forbid|forbade|banned\b|non-)|禁止|禁じ|無い|無し|なし[でに]")


def find_negation(plain: str) -> str:
    """The first word of a normalized text that negates or forbids, else an empty string.

    Read for a comparison across languages. Only whole Chinese words count: 那不勒斯 (Naples) negates nothing.
    """
    plain = _NO_NEGATION.sub(" ", plain)
    if guess_language(plain) == "zh":
        return next((word for word in jieba.cut(plain) if word in _CHINESE_NEGATIONS), "")
    found = next((match[0] for match in _NEGATION.finditer(plain) if not match["no"]), "")
    other = None if found else _OTHER_NEGATION.search(plain)
    return other[0] if other else found


def _negated_spans(plain: str, places: list[Token]) -> Iterator[tuple[int, int]]:
    for match in _NEGATION.finditer(plain):
        if match["ahead"]:
            yield match.end(), _reach_ahead(plain, places, match)
        elif match["behind"]:
            begin = max(0, match.start() - _REACH_BEHIND)
            stem = _STEM_BEFORE_ENDING.search(plain, begin, match.start())
            if stem:
                yield stem.start(), match.end()


def _reach_ahead(plain: str, places: list[Token], match: re.Match[str]) -> int:
    latin = match[0].isascii()
    limit = min(len(plain), match.end() + (_LATIN_REACH if latin else _HAN_REACH))
    clause = _CLAUSE_END.search(plain, match.end(), limit)
    end = clause.start() if clause else limit
    if not latin:
        return end
    content = (token.end for token in _inside(places, match.end(), end) if not is_common(token.text, "en"))
    return max(islice(content, _NEGATED_WORDS_AHEAD), default=end)
