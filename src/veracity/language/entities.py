"""Extracts names and terms by their form, to link passages with each other.

Latin: capitalised phrases and codes. Chinese: words the segmenter tags as names, and titles in 《》. Japanese: runs of
katakana, kanji compounds and terms in 「」. Extracts too much rather than too little: a term in one passage only links
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from veracity.language import jieba
from veracity.language.scripts import Language
from veracity.language.words import ENGLISH, normalized

MAX_LENGTH = 60  # characters; a longer "name" is a headline
MAX_ENTITIES = 60  # per passage

_CAPITAL = "[A-Z\u00c0-\u00de]"
_LETTER = "[A-Za-z0-9\u00c0-\u024f]"
_INITIALS = rf"(?:{_CAPITAL}\.){{2,}}+|{_CAPITAL}\.(?=\s{_CAPITAL})"
_CAPITALISED = rf"(?<!{_LETTER})(?:{_INITIALS}|{_CAPITAL}(?:{_LETTER}|['-])*+(?:\.{_LETTER}+)*+)"
_JOINED = rf"(?:(?:\s(?:of|the|and|de|la|van|von|&)){{0,2}}\s{_CAPITALISED}|\s\d+)"
_PHRASE = re.compile(rf"{_CAPITALISED}{_JOINED}*+")
_STARTS_SENTENCE = re.compile(r"(?:\A|[.!?:;。！？]\s?|\n\W*)[\"'“(#*-]*\s?\Z")
_QUOTED = re.compile(r"[《「『]([^《》「」『』\n]{2,30})[》」』]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30fe]{3,}")
_KANJI = re.compile("[\u4e00-\u9fff\u3005]{3,12}")
_ASIDE = re.compile(r"[(（][^()（）]*[)）]")
_CONJUNCTIONS = frozenset(("and", "&"))
_CHINESE_NAMES = frozenset(("nr", "ns", "nt", "nz", "nrt", "nrfg"))


def entities(text: str, language: Language) -> list[str]:
    """Normalized entities, each once, in the order of the text."""
    plain = normalized(text)
    names = dict.fromkeys(_normalize_name(name) for name in _names(plain, language))
    return [name for name in names if 1 < len(name) <= MAX_LENGTH][:MAX_ENTITIES]


def title_entity(title: str) -> str:
    """The subject of a document: its title without bracketed parts. Empty if that is a headline."""
    name = _normalize_name(_ASIDE.sub("", normalized(title)).strip())
    return name if 1 < len(name) <= MAX_LENGTH else ""


def _names(plain: str, language: Language) -> Iterator[str]:
    yield from _phrases(plain)
    if language == "en":
        return
    yield from _QUOTED.findall(plain)
    yield from _KATAKANA.findall(plain)
    if language == "ja":
        yield from _KANJI.findall(plain)
    else:
        yield from (word for word, tag in jieba.tag(plain) if tag in _CHINESE_NAMES and len(word) > 1)


def _phrases(plain: str) -> Iterator[str]:
    for match in _PHRASE.finditer(plain):
        words = match[0].rstrip("'.-").split()
        while words and words[0].lower() in ENGLISH:
            del words[0]
        starts = len(words) == 1 and _STARTS_SENTENCE.search(plain[max(0, match.start() - 4) : match.start()])
        if words and not starts:
            yield " ".join(words)
            if not _CONJUNCTIONS.isdisjoint(words):
                yield from _parts(words)


def _parts(words: list[str]) -> Iterator[str]:
    """`Kiss and Tell` is one name, `Oslo and the North Sea` are two: both readings are used."""
    part: list[str] = []
    for word in (*words, "and"):
        if word not in _CONJUNCTIONS:
            part.append(word)
        else:
            yield " ".join(part).removeprefix("the ")
            part = []


def _normalize_name(name: str) -> str:
    """One token, because names are looked up whole."""
    return "_".join(name.lower().split())
