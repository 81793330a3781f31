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

from veracity.agents.dependence import dependence_of, is_a_name, telling
from veracity.agents.keywords import in_own_words
from veracity.agents.leading import telling_words
from veracity.agents.parallels import asked_of_another, side_of
from veracity.agents.wishes import from_the_web, which_turn
from veracity.language import Language, guess_language, normalized, search_tokens
from veracity.models import PastTurn

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
