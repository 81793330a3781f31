"""Names in a question or a heading, and whether a text knows them. They are told by form alone, and compared so that
another spelling of one passes for it: Irish for Ireland, NYC for New York, 大阪 for 大阪支社.

Knows nothing about what names stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import rjieba

from veracity.language import guess_language, normalized
from veracity.language.questions import ASKING
from veracity.language.words import ENGLISH


class Name(NamedTuple):
    """As it is spelled, and its words: any of them tells it."""

    text: str
    words: tuple[str, ...]

    def stands_in(self, text: str) -> bool:
        """Also in another form of the word, as part of a longer one, or by its initials."""
        plain, small, known = _read(text)
        if not self.words[0].isascii():
            return any(word in small for word in self.words)
        if re.search(rf"(?<![a-z0-9]){re.escape(self.text.lower())}(?![a-z0-9])", small):
            return True
        if any(re.search(rf"(?<![a-z]){re.escape(word)}", small) for word in self.words if len(word) > 3):
            return True
        if any(_are_alike(word, other) for word in self.words for other in known):
            return True
        return self._by_initials(plain)

    def _by_initials(self, plain: str) -> bool:
        if len(self.words) > 1:
            initials = "".join(word[0] for word in self.words).upper()
            return any(one.replace(".", "").startswith(initials) for one in INITIALS.findall(plain))
        if not (self.text.isascii() and self.text.isupper() and len(self.text) <= 5):
            return False
        spelled = r"\w{0,30}(?:[\s-](?:of|and|the|for))?[\s-]".join(map(re.escape, self.text))
        return re.search(rf"\b{spelled}", plain, re.IGNORECASE if len(self.text) > 2 else 0) is not None

    def is_one_of(self, names: Iterable[Name]) -> bool:
        return any(self.stands_in(name.text) or name.stands_in(self.text) for name in names)


@lru_cache(maxsize=32)
def _read(text: str) -> tuple[str, str, frozenset[str]]:
    """In the form that is compared, in small letters, and its capitalised words. The same texts are read often."""
    plain = normalized(text)
    return plain, plain.lower(), frozenset(found.lower() for found in LATIN_NAME.findall(plain))


def names_in(text: str) -> list[Name]:
    """Each once, in the order of the text, Latin ones first. A word that starts a sentence need not be a name."""
    plain = normalized(text)[:LONGEST_READ]
    found = list(_latin_names(plain))
    if guess_language(plain) != "en":
        found += [Name(match[0], (match[0],)) for match in KATAKANA_PLACE.finditer(plain)]
        found += _han_names(plain)
    return list(dict.fromkeys(found))[:MOST_NAMES]


def other_names(heading: str, asked: Iterable[Name]) -> list[Name]:
    """The names in a title or heading that are none of those. Words In Capitals at its start need be no name."""
    found = (name for name in names_in(heading) if len(name.words) == 1 or not heading.startswith(name.text))
    return [name for name in found if not name.is_one_of(asked)]


def _latin_names(plain: str) -> Iterator[Name]:
    if plain.isupper():
        return
    for match in CAPITALISED.finditer(plain):
        words = [re.sub(r"['’]s?$", "", word) for word in match[0].split()]
        at_start = STARTS_SENTENCE.search(plain[max(0, match.start() - 4) : match.start()]) is not None
        if at_start and (len(words) == 1 or words[0].lower() in ENGLISH or ASKING.fullmatch(words[0])):
            del words[0]
        telling = tuple(word.lower() for word in words if len(word) > 1 and (word.isupper() or _may_name(word)))
        if telling:
            yield Name(" ".join(words), telling)


def _may_name(word: str) -> bool:
    return word.lower() not in NO_NAMES


def _han_names(plain: str) -> Iterator[Name]:
    """Places by the tags of the segmenter. It takes many a word for a person: such is a place where people work."""
    end = 0
    for word, tag in rjieba.tag(plain):
        end += len(word)
        if len(word) > 1 and (tag in PLACE_TAGS or (tag == "nr" and WORKPLACE.match(plain, end))):
            yield Name(word, (_core(word),))


def _are_alike(one: str, other: str) -> bool:
    """The same word but for its ending, or a people and its country."""
    if one == other or frozenset((one, other)) in PEOPLES:
        return True
    shorter = min(len(one), len(other))
    same = max(4, round(SAME_STEM * shorter))
    return shorter >= same and one[:same] == other[:same]


def _core(word: str) -> str:
    """美国 is 美 in 美联储, 大阪府 is 大阪."""
    return word[:-1] if word[-1] in "国國市县県省州区區府都" else word


LONGEST_READ = 2000  # characters
MOST_NAMES = 8
_CAPITAL_WORD = r"[A-Z\u00c0-\u00de][A-Za-z0-9\u00c0-\u024f'’-]{0,40}"
CAPITALISED = re.compile(rf"(?<![A-Za-z0-9\u00c0-\u024f]){_CAPITAL_WORD}(?: {_CAPITAL_WORD}){{0,5}}")
STARTS_SENTENCE = re.compile(r"(?:\A|[.!?:;›。！？]\s?|\n\W*)[\"'“(#*-]*\s?\Z")
LATIN_NAME = re.compile(r"(?<![A-Za-z0-9\u00c0-\u024f])[A-Z0-9\u00c0-\u00de][A-Za-z0-9\u00c0-\u024f]{1,40}")
SAME_STEM = 0.7  # of the shorter word
INITIALS = re.compile(r"\b(?:[A-Z]\.?){2,6}")
# Capitalised, yet no names: days, months, what a name only adds to itself.
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
WORKPLACE = re.compile("的?(?:员工|办公室|办事处|分?公司|工厂|同事|团队|分部)")
# Katakana writes any loanword: places are told by what follows them, or known.
KATAKANA_PLACE = re.compile(
    "(?!オフィス)[\u30a1-\u30fa\u30fc]{2,12}?(?=オフィス|支社|支店|本社|工場|事業所|営業所|拠点|勤務|における"
    "|の(?:社員|従業員|スタッフ|オフィス|拠点|事務所))"
    "|(?:ダブリン|ロンドン|パリ|ベルリン|ミュンヘン|マドリード|ローマ|ミラノ|ニューヨーク|シンガポール|ソウル|バンコク|シドニー"
    "|アイルランド|イギリス|フランス|ドイツ|スペイン|イタリア|アメリカ|カナダ|インド|ベトナム|タイ(?=の|で|オフィス)|オーストラリア)"
)
