"""A question asked again of something else: after "How many days in Dublin?", "And in Osaka?" is "How many days in
Osaka?".

What takes the place of what is told by a last word that both share, by the same preposition, or by both being numbers
or names. Knows nothing about conversations.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import rjieba

from veracity.language import Language, is_common
from veracity.language.scripts import HAN, KATAKANA

Span = tuple[int, int]


class _Word(NamedTuple):
    text: str
    tag: str
    start: int
    end: int


def asked_of_another(question: str, other: str, language: Language) -> str | None:
    """The question with the other thing in it; None where nothing in it is clearly its counterpart."""
    particle, name = _apart(other, language)
    find = {"en": _english, "zh": _chinese, "ja": _japanese}[language]
    span = find(question, particle, name) or _number(question, name)
    if span is None or question[span[0] : span[1]].casefold() == name.casefold():
        return None
    return question[: span[0]] + name + question[span[1] :]


def side_of(question: str, other: str, language: Language) -> str | None:
    """The other thing where it is a side of what the question is about: after "有給休暇は何日ですか", "繰り越しは" is
    "有給休暇の繰り越しは". Only Japanese marks what a question is about."""
    about = ABOUT.match(question) if language == "ja" else None
    name = _apart(other, language)[1]
    return f"{about[0]}の{name}は？" if about and SIDE.fullmatch(name) else None


def _apart(other: str, language: Language) -> tuple[str, str]:
    found = PARTICLE[language].match(other)
    particle = found[0].strip() if found else ""
    name = other[found.end() :] if found else other
    return particle.lower(), ENDING[language].sub("", name).strip() or name


def _number(question: str, name: str) -> Span | None:
    """2022 takes the place of 2021, and of nothing that has other digits than four."""
    if not (wanted := NUMBER.fullmatch(name)):
        return None
    same = [found for found in NUMBER.finditer(question) if _shape(found[0]) == _shape(wanted[0])]
    return same[-1].span() if same else None


def _shape(number: str) -> str:
    return re.sub(r"\d", "0", number)


def _english(question: str, particle: str, name: str) -> Span | None:
    head = name.rsplit(maxsplit=1)[-1]
    if len(name.split()) > 1 and (same := re.search(rf"\b([\w'-]+) ({re.escape(head)})\b", question, re.I)):
        return same.span(2 if is_common(same[1].lower(), "en") else 0)
    names = [found for found in LATIN_NAME.finditer(question) if found.start()]
    if particle:
        after = [
            one for one in names if re.search(rf"\b{re.escape(particle)} (?:the )?$", question[: one.start()], re.I)
        ]
        plain = re.search(rf"\b{re.escape(particle)} (?P<thing>(?:the |a |an )?[\w'-]+)(?=\W*$)", question, re.I)
        return after[-1].span() if after else plain.span("thing") if plain else None
    return names[-1].span() if names and name[:1].isupper() else None


def _chinese(question: str, particle: str, name: str) -> Span | None:
    words = _placed(question)
    if same := _same_ending(words, name):
        return same
    tags = {word.tag for word in _placed(name)} & NAMES
    for wanted in (tags, NAMES if tags else set()):
        if spans := [(word.start, word.end) for word in words if word.tag in wanted]:
            return spans[-1]
    latin = list(LATIN_NAME.finditer(question)) if name.isascii() else []
    return latin[-1].span() if latin else None


def _japanese(question: str, particle: str, name: str) -> Span | None:
    """Words stand in runs of one script. 病気休暇 takes the place of 休暇, and a name that of the first name."""
    runs = [found.span() for found in RUN.finditer(question)]
    for start, end in runs:
        run = question[start:end]
        if name != run and len(run) > 1 and (name.endswith(run) or (len(run) > 2 and run.endswith(name[-2:]))):
            return start, end
    named = [span for span in runs if _is_a_name(question[span[0] : span[1]]) and FOLLOWS.match(question, span[1])]
    return named[0] if named and _is_a_name(name) else None


def _is_a_name(run: str) -> bool:
    """Katakana, Latin, or what the Chinese segmenter takes for a place or a person; it knows most of Japan's."""
    return NAME_BY_SCRIPT.fullmatch(run) is not None or any(word.tag in NAMES for word in _placed(run))


def _placed(question: str) -> list[_Word]:
    placed, at = [], 0
    for word, tag in rjieba.tag(question):
        placed.append(_Word(word, tag[:2], at, at + len(word)))
        at += len(word)
    return placed


def _same_ending(words: list[_Word], name: str) -> Span | None:
    """兼职员工 takes the place of 全职员工: the last word is the same, and the one before it goes with it."""
    *before, last = _placed(name)
    for earlier, word in pairwise(words):
        if before and word.text == last.text and not earlier.tag.startswith(("u", "v", "p", "r", "x", "c")):
            return earlier.start, word.end
    return None


PARTICLE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:in|at|for|on|of|with|from|to|under|during|by|after|before) ", re.I),
    "zh": re.compile("(?:在|对于?|从|到|给|关于|如果是|换成)"),
    "ja": re.compile(r"(?!)"),
}
ENDING: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\W+$"),
    "zh": re.compile("(?:的话|的|方面|那边|这边)$"),
    "ja": re.compile("(?:について|の場合|では|には|で|に|は|の|なら)$"),
}
NUMBER = re.compile(r"\d+(?:[.,-]\d+)*")
NAMES = {"nr", "ns", "nt", "nz"}
LATIN_NAME = re.compile(r"\b[A-Z\u00c0-\u00de][\w.'-]*\w(?: (?:of |de |the )?[A-Z0-9][\w.'-]*)*")
RUN = re.compile(f"[{HAN}]+|[{KATAKANA}]+|[A-Za-z0-9][A-Za-z0-9 .-]*[A-Za-z0-9]")
NAME_BY_SCRIPT = re.compile(f"[{KATAKANA}]{{2,}}|[A-Z][A-Za-z0-9 .-]+")
FOLLOWS = re.compile(" ?(?:の|では|で|には|に|は|が)")
ABOUT = re.compile(f"[{HAN}{KATAKANA}A-Za-z0-9の・ ]{{1,24}}(?=は)")
# What is done with a thing, or belongs to it.
SIDE = re.compile(
    f"[{HAN}]+[いきしちにひみりぎじび](?:[{HAN}]+[いきしちにひみりぎじび])*"
    "|[\u4e00-\u9fff]{0,4}(?:申請|承認|手続|方法|期限|条件|対象者?|上限|下限|理由|金額|日数|時期|担当者?|変更|取消|延長|更新|提出|支給|計算|精算|例外|繰越)"
)
