"""Finds names in questions and headings, and checks whether a text mentions them.

Names are recognised by their form. Variants match: Irish and Ireland, NYC and New York, 大阪 and 大阪支社.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from veracity.language import guess_language, jieba, normalized
from veracity.language.questions import ASKING
from veracity.language.words import ENGLISH
from veracity.patterns import lazy_pattern


class Name(NamedTuple):
    """A name as spelled, and its words: any of them identifies it."""

    text: str
    words: tuple[str, ...]

    def is_mentioned_in(self, text: str) -> bool:
        """True also for another form of the word, a longer word, or initials."""
        plain, lower, capitalised = _read(text)
        if not self.words[0].isascii():
            return any(word in lower for word in self.words)
        if re.search(rf"(?<![a-z0-9]){re.escape(self.text.lower())}(?![a-z0-9])", lower):
            return True
        if any(re.search(rf"(?<![a-z]){re.escape(word)}", lower) for word in self.words if len(word) > 3):
            return True
        if any(_are_alike(word, other) for word in self.words for other in capitalised):
            return True
        return self._by_initials(plain)

    def _by_initials(self, plain: str) -> bool:
        if len(self.words) > 1:
            initials = "".join(word[0] for word in self.words).upper()
            return any(found.replace(".", "").startswith(initials) for found in INITIALS.findall(plain))
        if not (self.text.isascii() and self.text.isupper() and len(self.text) <= 5):
            return False
        spelled = r"\w{0,30}(?:[\s-](?:of|and|the|for))?[\s-]".join(map(re.escape, self.text))
        return re.search(rf"\b{spelled}", plain, re.IGNORECASE if len(self.text) > 2 else 0) is not None

    def is_one_of(self, names: Iterable[Name]) -> bool:
        return any(self.is_mentioned_in(name.text) or name.is_mentioned_in(self.text) for name in names)


@lru_cache(maxsize=32)
def _read(text: str) -> tuple[str, str, frozenset[str]]:
    """The text normalized, lowercased, and its capitalised words. Cached, because the same texts are read often."""
    plain = normalized(text)
    return plain, plain.lower(), frozenset(found.lower() for found in LATIN_NAME.findall(plain))


def names_in(text: str) -> list[Name]:
    """Each name once, Latin names first. A capitalised word at the start of a sentence need not be a name."""
    plain = normalized(text)[:MAX_READ]
    found = list(_latin_names(plain))
    if guess_language(plain) != "en":
        found += [Name(match[0], (match[0],)) for match in KATAKANA_PLACE.finditer(plain)]
        found += _han_names(plain)
    return list(dict.fromkeys(found))[:MAX_NAMES]


def other_names(heading: str, asked: Iterable[Name]) -> list[Name]:
    """Names in a title or heading that were not asked about. Title Case at its start need not be a name."""
    names = (name for name in names_in(heading) if len(name.words) == 1 or not heading.startswith(name.text))
    return [name for name in names if not name.is_one_of(asked)]


def _latin_names(plain: str) -> Iterator[Name]:
    if plain.isupper():
        return
    for match in CAPITALISED.finditer(plain):
        words = [re.sub(r"['’]s?$", "", word) for word in match[0].split()]
        at_start = STARTS_SENTENCE.search(plain[max(0, match.start() - 4) : match.start()]) is not None
        if at_start and (len(words) == 1 or words[0].lower() in ENGLISH or ASKING.fullmatch(words[0])):
            del words[0]
        identifying = tuple(word.lower() for word in words if len(word) > 1 and (word.isupper() or _may_name(word)))
        if identifying:
            yield Name(" ".join(words), identifying)


def _may_name(word: str) -> bool:
    return word.lower() not in NO_NAMES


def _han_names(plain: str) -> Iterator[Name]:
    """Places by the segmenter's tags. It often tags a place as a person: then a workplace must follow."""
    end = 0
    for word, tag in jieba.tag(plain):
        end += len(word)
        if len(word) > 1 and (tag in PLACE_TAGS or (tag == "nr" and WORKPLACE.match(plain, end))):
            yield Name(word, (_core(word),))


def _are_alike(first: str, second: str) -> bool:
    """The same word with another ending, or a people and its country."""
    if first == second or frozenset((first, second)) in PEOPLES:
        return True
    shorter = min(len(first), len(second))
    same = max(4, round(SAME_STEM * shorter))
    return shorter >= same and first[:same] == second[:same]


def _core(word: str) -> str:
    """美国 is 美 in 美联储, 大阪府 is 大阪."""
    return word[:-1] if word[-1] in "国國市县県省州区區府都" else word


MAX_READ = 2000  # characters
MAX_NAMES = 8
_CAPITAL_WORD = r"[A-Z\u00c0-\u00de][A-Za-z0-9\u00c0-\u024f'’-]{0,40}"
CAPITALISED = lazy_pattern(rf"(?<![A-Za-z0-9\u00c0-\u024f]){_CAPITAL_WORD}(?: {_CAPITAL_WORD}){{0,5}}")
STARTS_SENTENCE = lazy_pattern(r"(?:\A|[.!?:;›。！？]\s?|\n\W*)[\"'“(#*-]*\s?\Z")
LATIN_NAME = lazy_pattern(r"(?<![A-Za-z0-9\u00c0-\u024f])[A-Z0-9\u00c0-\u00de][A-Za-z0-9\u00c0-\u024f]{1,40}")
SAME_STEM = 0.7  # of the shorter word
INITIALS = lazy_pattern(r"\b(?:[A-Z]\.?){2,6}")
# Capitalised but not names: days, months, generic parts of names.
_NO_NAMES = """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april june july august september october november december christmas easter mr mrs ms
    dr office offices team company department city site plant branch project group division region inc ltd
"""
NO_NAMES = ENGLISH.union(_NO_NAMES.split())
_PEOPLES = """
    irish/ireland french/france dutch/netherlands dutch/holland danish/denmark welsh/wales swiss/switzerland
    polish/poland spanish/spain british/britain english/england scottish/scotland finnish/finland uk/britain uk/british
    us/american us/america usa/american usa/america
"""
PEOPLES = frozenset(frozenset(pair.split("/")) for pair in _PEOPLES.split())
PLACE_TAGS = frozenset(("ns", "nrt", "nrfg"))
WORKPLACE = lazy_pattern("的?(?:员工|办公室|办事处|分?公司|工厂|同事|团队|分部)")
# Katakana writes any loanword: a place is recognised by the word after it, or listed.
KATAKANA_PLACE = lazy_pattern(
    "(?!オフィス)[\u30a1-\u30fa\u30fc]{2,12}?(?=オフィス|支社|支店|本社|工場|事業所|営業所|拠点|勤務|における"
    "|の(?:社員|従業員|スタッフ|オフィス|拠点|事務所))"
    "|(?:ダブリン|ロンドン|パリ|ベルリン|ミュンヘン|マドリード|ローマ|ミラノ|ニューヨーク|シンガポール|ソウル|バンコク|シドニー"
    "|アイルランド|イギリス|フランス|ドイツ|スペイン|イタリア|アメリカ|カナダ|インド|ベトナム|タイ(?=の|で|オフィス)|オーストラリア)"
)
