"""The question as it would be asked without the conversation, found by form alone (SPEC D3).

A question that stands alone stays as it is, byte for byte. One that depends on what was said is put so that it can be
read, searched for and answered: with the other thing in the place of the first ("and in Osaka?"), with the question
before it where it says nothing of its own ("Why?"), else with what the conversation is about in brackets. Words of the
conversation that may help to find are told apart, since they count less. Knows nothing about routes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import rjieba

from veracity.agents.extract.keywords import in_own_words
from veracity.agents.follow_up.dependence import dependence_of, is_a_name, telling
from veracity.agents.follow_up.explicit_requests import from_the_web, which_turn
from veracity.agents.local_rewriter import telling_words
from veracity.language import Language, guess_language, is_common, normalized, search_tokens
from veracity.language.scripts import HAN, KATAKANA
from veracity.models import PastTurn

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


LOOKED_BACK = 6  # turns
LONGEST = 400  # characters
LONGEST_BEFORE = 200  # of the question before, where it is quoted
SUBJECTS: dict[Language, int] = {"en": 2, "zh": 1, "ja": 1}  # phrases; what a Chinese question is about comes first
MOST_SUBJECTS = 2
ENOUGH = 2  # words that tell what a question was about; fewer, and the one before it is read as well
ADDED = 10  # words
LONGEST_READ = 4000  # characters of one text
# What a word of an earlier turn counts: more in a question than in an answer, and half of that one turn further back.
IN_QUESTION, IN_ANSWER, FADES, WORDS_BACK = 2.0, 1.0, 0.5, 3


@dataclass(frozen=True, slots=True)
class StandAlone:
    """`added` are words of the conversation to search for beside the question, which count less."""

    question: str
    added: tuple[str, ...] = ()
    depends: bool = False


def stand_alone(question: str, turns: Sequence[PastTurn], summary: str = "") -> StandAlone:
    """Turns are in the order in which they were; `summary` tells of those before them."""
    language = guess_language(question)
    kind, other = dependence_of(question, language)
    if kind == "alone" or not (turns or summary.strip()):
        return StandAlone(question)
    if kind == "thin":
        return StandAlone(question, _added(question, turns, summary), True)
    before = _before(turns)
    if kind == "parallel" and (asked := asked_of_another(before, other, language)):
        return StandAlone(asked, (), True)  # what it was asked of before would lead astray
    if kind == "parallel" and (asked := side_of(before, other, language)):
        return StandAlone(asked, _added(asked, turns, summary), True)
    about = [before] if before and kind in ("parallel", "bare") else _subjects(question, turns, summary)
    asked = _with(question, about, language)
    return StandAlone(asked, _added(asked, turns, summary), True)


def looked_for(wanted: str, question: str, turns: Sequence[PastTurn], summary: str) -> tuple[StandAlone, str]:
    """What a request for a search is about, and the same as the topic where it can be understood by itself. `wanted` is
    what the question names; nothing: what was asked before it."""
    if not wanted:
        before = _before(turns)
        about = from_the_web(before) or before or ", ".join(_subjects(question, turns, summary))
        return StandAlone(about or question, (), bool(about)), ""
    language = guess_language(wanted)
    if is_plain(wanted):
        return StandAlone(question), wanted
    subjects = _subjects(wanted, turns, summary)
    if subjects and (whose := WHOSE[language].match(wanted)):
        named = OF_IT[language].format(thing=wanted[whose.end() :].strip(), of=subjects[0])
        return StandAlone(named, (), True), named
    return stand_alone(wanted, turns, summary), ""


def is_plain(wanted: str) -> bool:
    """It names what it is about, and points to nothing."""
    return dependence_of(wanted, guess_language(wanted)).kind in ("alone", "thin")


def _before(turns: Sequence[PastTurn]) -> str:
    """The last question as it stood alone: one that only said "Why?" leads back to the one before it."""
    understood = ""
    for question in _asked(turns):
        language = guess_language(question)
        kind, other = dependence_of(question, language)
        if kind == "parallel":
            anew = asked_of_another(understood, other, language) or side_of(understood, other, language)
            understood = anew or question
        elif kind != "bare" or not understood:
            understood = question
    return " ".join(understood.split())[:LONGEST_BEFORE]


def _asked(turns: Sequence[PastTurn]) -> list[str]:
    """The last questions, but for requests that name nothing: "Look it up online", "What did you say?"."""
    asked = (turn.question for turn in turns[-LOOKED_BACK:])
    return [one for one in asked if from_the_web(one) != "" and which_turn(one) is None]


def _with(question: str, about: Sequence[str], language: Language) -> str:
    """What it is about in brackets before the mark that ends it, so that it stays one question."""
    told = (", " if language == "en" else "、").join(one.strip(ENDS) for one in about if one.strip(ENDS))
    if not told:
        return question
    bare = question.rstrip()
    body = bare.rstrip(ENDS)
    opened, closed = (" (", ")") if language == "en" else ("（", "）")
    asked = f"{body}{opened}{told}{closed}{bare[len(body) :]}"
    return asked if len(asked) <= LONGEST else question


def _subjects(question: str, turns: Sequence[PastTurn], summary: str) -> list[str]:
    """What the last questions were about, best by name; where there are none, the summary tells."""
    known, asked_in = set(search_tokens(question)), guess_language(question)
    found: list[str] = []
    words = 0
    for text in _asked(turns)[::-1] or [summary]:
        language = guess_language(text)
        own, plain = telling(text, language), normalized(text)
        names = {plain[word.start : word.end] for word in own if is_a_name(word, plain)}
        phrases = [phrase for phrase in in_own_words(text, own) if not set(search_tokens(phrase)) <= known]
        named = [phrase for phrase in phrases if any(name in phrase for name in names)]
        if language != asked_in:  # only names read the same
            named, phrases = [phrase for phrase in named if phrase.isascii()], []
        found += (named or phrases)[: SUBJECTS[language]]
        words += len(own)
        if words >= ENOUGH and found:
            break
    return list(dict.fromkeys(found))[:MOST_SUBJECTS]


def _added(question: str, turns: Sequence[PastTurn], summary: str) -> tuple[str, ...]:
    """The words that the last turns were most about, in the language of the question, but for those that it has."""
    asked_in = guess_language(question)
    points: Counter[str] = Counter()
    forms: dict[str, str] = {}
    read = [(turn.question, turn.answer) for turn in reversed(turns[-WORDS_BACK:])] or [(summary, "")]
    for age, (asked, answer) in enumerate(read):
        for text, weight in ((answer, IN_ANSWER), (asked, IN_QUESTION)):
            language = guess_language(text)
            for word in telling_words(text[:LONGEST_READ]):
                if language != asked_in and (language == "en" or not word.isascii()):
                    continue
                key = " ".join(search_tokens(word, language))
                forms.setdefault(key, word)
                points[key] += weight * FADES**age  # type: ignore[assignment]
    known = set(search_tokens(question))
    new = (forms[key] for key, _ in points.most_common() if key and not set(key.split()) & known)
    return tuple(new)[:ADDED]


ENDS = " \t\r\n?？!！.。…"
WHOSE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:its|their|his|her) (?=[\w -]{1,60}$)", re.IGNORECASE),
    "zh": re.compile("[它他她]们?的|[这那][个些款种]?的|其"),
    "ja": re.compile("[そこあ](?:の|れの)"),
}
OF_IT: dict[Language, str] = {"en": "{thing} of {of}", "zh": "{of}的{thing}", "ja": "{of}の{thing}"}
