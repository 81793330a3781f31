"""Compares names across scripts: Latin letters as they are, katakana by its consonants.

ダブリン and Dublin have the consonants "sbrn" here, so that spelling and pronunciation may differ a little. Names in
Chinese characters cannot be compared by form: 伦敦 does not tell that it is London. They are left to the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from veracity.language import guess_language, normalized
from veracity.language.names import Name, names_in
from veracity.language.scripts import KATAKANA
from veracity.language.words import ENGLISH

ALIKE = 0.7  # share of equal consonants of one name in two scripts
MIN_INSIDE = 3  # consonants of a name that is written together with another word: ダブリンオフィス
VOWEL = "a"
MAX_WORDS = 200  # Latin ones of a text that are compared
MAX_KATAKANA = 50  # words of a text that are compared

# Consonants that languages hear alike share a sign: l and r, b and v, f and h, k and g, dentals and sibilants. Vowels
# count only at the start.
_ROWS = {
    "k": "カキクケコガギグゲゴヵヶ",
    "s": "サシスセソザジズゼゾタチツテトダヂヅデド",
    "n": "ナニヌネノン",
    "m": "マミムメモ",
    "h": "ハヒフヘホ",
    "b": "バビブベボヴ",
    "p": "パピプペポ",
    "r": "ラリルレロ",
}
_SIGN_OF_KANA = {kana: sign for sign, row in _ROWS.items() for kana in row}
_SIGN_OF_LETTER = dict(zip("bvcgkqdjstzfhlrmnp", "bbkkkksssss" + "hh" + "rr" + "mnp", strict=True))
_SPELLINGS = (  # as pronounced
    (re.compile("tion|sion|cian"), "sn"),
    (re.compile("ph"), "f"),
    (re.compile("[cst]h"), "s"),
    (re.compile("gh|(?<=[aeo])w|^[kw](?=[nr])"), ""),
    (re.compile("[cg](?=[eiy])"), "s"),
    (re.compile("x"), "ks"),
    (re.compile("m(?=[bp])"), "n"),
    (re.compile("r(?![aeiouy])"), ""),
    (re.compile(r"([a-z])\1"), r"\1"),
)
# Katakana that does not come from the English word.
_OTHER_ORIGIN = {
    "アメリカ": "us usa united states",
    "イギリス": "uk united kingdom britain british england english",
    "オランダ": "netherlands dutch",
    "ギリシャ": "greece greek",
    "スイス": "switzerland swiss",
    "ドイツ": "germany german",
    "トルコ": "turkey turkish",
    "ベルギー": "belgium belgian",
    "ミュンヘン": "munich",
    "ウィーン": "vienna",
}

_KATAKANA_RUN = re.compile(f"[{KATAKANA}]{{2,30}}")
_LATIN_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f]{1,40}")
_IDENTIFIER = re.compile(r"[A-Za-z]+\d\w*|\w*[a-z][A-Z]\w*|[A-Z]{2,}[a-rt-z]\w*")


def missing_names(stated: str, text: str, window: str) -> list[str]:
    """Names of the statement that the text, in another language, should contain and does not.

    A Latin name in a Chinese or Japanese statement has to occur in the text, and so has an identifier (PostgreSQL, X2)
    in any direction. A katakana word need not be a name, and an English name may be written in characters: they are
    missing only if the best window has a name that the statement does not mention.
    """
    stated, text, window = map(normalized, (stated, text, window))
    language, other = guess_language(stated), guess_language(text)
    if language == "en":
        names = [(name, not _IDENTIFIER.fullmatch(name.text)) for name in names_in(stated)]
    else:
        names = [(name, other == "zh" and not _IDENTIFIER.fullmatch(name.text)) for name in _latin_words(stated)]
    absent = [(name, excusable) for name, excusable in names if not _is_written(name, text)]
    missing = [name.text for name, excusable in absent if not excusable]
    if language == "en" and other == "ja" and _has_katakana_without_counterpart(window, stated):
        missing += [name.text for name, excusable in absent if excusable]
    if language == "ja" and other == "en" and _has_name_without_counterpart(window, stated):
        missing += [run for run in katakana_words(stated) if not any(are_alike(run, word) for word in _phrases(text))]
    return list(dict.fromkeys(missing))


def katakana_words(text: str) -> list[str]:
    return _KATAKANA_RUN.findall(text)[:MAX_KATAKANA]


@lru_cache(maxsize=4096)
def are_alike(katakana: str, latin: str) -> bool:
    """Whether the katakana may be a transliteration of the Latin word, or contain it."""
    if latin.lower() in _OTHER_ORIGIN.get(katakana, "").split():
        return True
    heard, spelled = katakana_consonants(katakana), latin_consonants(latin)
    if len(spelled) >= MIN_INSIDE and spelled in heard:
        return True
    if 2 * min(len(heard), len(spelled)) < ALIKE * (len(heard) + len(spelled)) or not (heard and spelled):
        return False
    return SequenceMatcher(None, heard, spelled, autojunk=False).ratio() >= ALIKE


def katakana_consonants(word: str) -> str:
    start = "" if word[:1] in _SIGN_OF_KANA else VOWEL
    return _collapse(start + "".join(_SIGN_OF_KANA.get(kana, "") for kana in word))


def latin_consonants(word: str) -> str:
    word = word.lower()
    for spelling, sound in _SPELLINGS:
        word = spelling.sub(sound, word)
    start = "" if word[:1] in _SIGN_OF_LETTER else VOWEL
    return _collapse(start + "".join(_SIGN_OF_LETTER.get(letter, "") for letter in word))


def _collapse(signs: str) -> str:
    return re.sub(r"(.)\1+", r"\1", signs)


def _latin_words(stated: str) -> Iterator[Name]:
    """All Latin words of a Chinese or Japanese statement: a translator keeps only names and terms."""
    for word in _LATIN_WORD.findall(stated):
        yield Name(word, (word.lower(),))


def _is_written(name: Name, text: str) -> bool:
    """In Latin letters, perhaps as a plural, or in katakana."""
    word = name.text.lower().removesuffix("s")
    if name.is_mentioned_in(text) or re.search(rf"(?<![a-z0-9]){re.escape(word)}s?(?![a-z0-9])", text.lower()):
        return True
    return any(are_alike(run, word) for run in katakana_words(text) for word in (*name.words, "".join(name.words)))


def _has_name_without_counterpart(window: str, stated: str) -> bool:
    runs = katakana_words(stated)
    return any(
        not name.is_mentioned_in(stated) and not any(are_alike(run, word) for run in runs for word in _parts(name))
        for name in names_in(window)
    )


def _has_katakana_without_counterpart(window: str, stated: str) -> bool:
    phrases = _phrases(stated)
    return any(not any(are_alike(run, phrase) for phrase in phrases) for run in katakana_words(window))


def _parts(name: Name) -> tuple[str, ...]:
    return (*name.words, "".join(name.words))


def _phrases(text: str) -> Sequence[str]:
    """The Latin words, and two and three neighbours as one: ニューヨーク is New York."""
    words = [word for word in _LATIN_WORD.findall(text) if word.lower() not in ENGLISH][:MAX_WORDS]
    return list(
        dict.fromkeys(
            "".join(words[first : first + length]) for length in (1, 2, 3) for first in range(len(words) - length + 1)
        )
    )
