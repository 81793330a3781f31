"""Asks the previous question about another subject: "How many days do staff in Dublin have?" "And in Osaka?" (D3)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from veracity.agents.follow_up.bounds import replace_bound
from veracity.language import Language, is_common, jieba
from veracity.language.scripts import HAN, KATAKANA
from veracity.patterns import lazy_pattern

Span = tuple[int, int]


def replace_subject(question: str, other: str, language: Language) -> str | None:
    """The question about another subject; None if no part of it clearly corresponds to the other subject."""
    if not question:
        return None
    if changed := replace_bound(question, other, language):
        return changed
    particle, name = _split_particle(other, language)
    find = {"en": _find_english, "zh": _find_chinese, "ja": _find_japanese}[language]
    span = find(question, particle, name) or _find_number(question, name)
    if span is None:
        return _add_circumstance(question, particle, name)
    if question[span[0] : span[1]].casefold() == name.casefold():
        return None
    return question[: span[0]] + name + question[span[1] :]


def ask_about_aspect(question: str, other: str, language: Language) -> str | None:
    """A question about an aspect of the same topic: after "有給休暇は何日ですか", "繰り越しは" becomes
    "有給休暇の繰り越しは". Only Japanese marks the topic of a question."""
    topic = TOPIC.match(question) if language == "ja" else None
    name = _split_particle(other, language)[1]
    return f"{topic[0]}の{name}は？" if topic and ASPECT.fullmatch(name) else None


class _Word(NamedTuple):
    text: str
    tag: str
    start: int
    end: int


def _split_particle(other: str, language: Language) -> tuple[str, str]:
    """ "in Osaka" becomes "in" and "Osaka"."""
    match = PARTICLE[language].match(other)
    particle = match[0].strip() if match else ""
    name = other[match.end() :] if match else other
    return particle.lower(), ENDING[language].sub("", name).strip() or name


def _find_number(question: str, name: str) -> Span | None:
    """2022 only replaces a number of the same shape, such as 2021."""
    if not (number := NUMBER.fullmatch(name)):
        return None
    shape = re.sub(r"\d", "0", number[0])
    same = [match for match in NUMBER.finditer(question) if re.sub(r"\d", "0", match[0]) == shape]
    return same[-1].span() if same else None


def _find_english(question: str, particle: str, name: str) -> Span | None:
    head = name.rsplit(maxsplit=1)[-1]
    if len(name.split()) > 1 and (same := re.search(rf"\b([\w'-]+) ({re.escape(head)})\b", question, re.I)):
        return same.span(2 if is_common(same[1].lower(), "en") else 0)
    names = [match for match in LATIN_NAME.finditer(question) if match.start()]
    if particle:
        before = re.compile(rf"\b{re.escape(particle)} (?:the )?$", re.I)
        after_particle = [match for match in names if before.search(question[: match.start()])]
        if after_particle:
            return after_particle[-1].span()
    elif names and name[:1].isupper():
        return names[-1].span()
    if PERSON["en"].fullmatch(head) and (person := _last_span(PERSON["en"], question)):
        return person
    if particle:
        return _find_thing(question, particle)
    return _last_span(INDEFINITE_THING, question) if INDEFINITE_THING.fullmatch(name) else None


def _find_thing(question: str, particle: str) -> Span | None:
    """What follows the preposition. "for" may take the place of another one at the end: "spend on a home office"."""
    things = list(re.finditer(rf"\b{particle} (?P<thing>{THING})(?={THING_END})", question, re.I))
    if not things and particle == "for":
        things = list(LAST_THING.finditer(question))
    return things[-1].span("thing") if things else None


def _add_circumstance(question: str, particle: str, name: str) -> str | None:
    """Adds a place or time to an English question that has none: "And in Osaka?"."""
    if particle not in CIRCUMSTANCES or any(match.start() for match in LATIN_NAME.finditer(question)):
        return None
    body = question.rstrip(" ?.!")
    return f"{body} {particle} {name}{question[len(body) :]}"


def _last_span(pattern: re.Pattern[str], text: str) -> Span | None:
    return next((match.span() for match in reversed(list(pattern.finditer(text)))), None)


def _find_chinese(question: str, particle: str, name: str) -> Span | None:
    words = _tag(question)
    if same := _find_same_ending(words, name):
        return same
    tags = {word.tag for word in _tag(name)} & NAME_TAGS
    for wanted in (tags, NAME_TAGS if tags else set()):
        if spans := [(word.start, word.end) for word in words if word.tag in wanted]:
            return spans[-1]
    if name.isascii():
        return _last_span(LATIN_NAME, question)
    return _find_same_kind(words, name)


def _find_japanese(question: str, particle: str, name: str) -> Span | None:
    """Treats runs of one script as words. 病気休暇 replaces 休暇, and a name replaces the first name."""
    runs = [match.span() for match in RUN.finditer(question)]
    for start, end in runs:
        run = question[start:end]
        if name != run and len(run) > 1 and (name.endswith(run) or (len(run) > 2 and run.endswith(name[-2:]))):
            return start, end
    named = [span for span in runs if _is_name(question[span[0] : span[1]]) and FOLLOWS.match(question, span[1])]
    if named and _is_name(name):
        return named[0]
    first = OF_TOPIC.match(question)
    return first.span() if first and _japanese_kind(first[0]) == _japanese_kind(name) != "name" else None


def _japanese_kind(name: str) -> str:
    if PERSON["ja"].search(name):
        return "person"
    if KATAKANA_LETTER.search(name):
        return "katakana"
    return "name" if _is_name(name) else "kanji"


def _is_name(run: str) -> bool:
    """Whether it is katakana, Latin, or a name for the Chinese segmenter, which knows most Japanese names."""
    return NAME_BY_SCRIPT.fullmatch(run) is not None or any(word.tag in NAME_TAGS for word in _tag(run))


def _tag(text: str) -> list[_Word]:
    words, at = [], 0
    for word, tag in jieba.tag(text):
        words.append(_Word(word, tag[:2], at, at + len(word)))
        at += len(word)
    return words


def _find_same_ending(words: list[_Word], name: str) -> Span | None:
    """兼职员工 replaces 全职员工: the last word is the same, and the word before it is replaced with it."""
    *before, last = _tag(name)
    for earlier, word in pairwise(words):
        if before and word.text == last.text and not earlier.tag.startswith(("u", "v", "p", "r", "x", "c")):
            return earlier.start, word.end
    return None


def _find_same_kind(words: list[_Word], name: str) -> Span | None:
    """A person or a time, like the name, with the nouns before it; else the subject before 的."""
    if PERSON["zh"].search(name):
        wanted = [index for index, word in enumerate(words) if PERSON["zh"].search(word.text)]
    elif all(_is_time(word) for word in _tag(name)):
        wanted = [index for index, word in enumerate(words) if _is_time(word)]
    elif all(word.tag in COMMON_NOUN_TAGS for word in _tag(name)):
        wanted = [index for index, word in enumerate(words) if index and word.text == "的"][:1]
        wanted = [index - 1 for index in wanted if all(word.tag in COMMON_NOUN_TAGS for word in words[:index])]
    else:
        return None
    if not wanted:
        return None
    first = last = wanted[0]
    while first and words[first - 1].tag in COMMON_NOUN_TAGS:
        first -= 1
    return words[first].start, words[last].end


def _is_time(word: _Word) -> bool:
    return word.tag == "t" or word.text in TIME_WORDS


PARTICLE: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(r"(?:in|at|for|on|of|with|from|to|under|during|by|after|before) ", re.I),
    "zh": lazy_pattern("(?:在|对于?|从|到|给|关于|如果是|换成)"),
    "ja": lazy_pattern(r"(?!)"),
}
ENDING: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(r"\W+$"),
    "zh": lazy_pattern("(?:的话|的|方面|那边|这边)$"),
    "ja": lazy_pattern("(?:について|の場合|では|には|で|に|は|の|なら)$"),
}
CIRCUMSTANCES = frozenset(("in", "at", "during", "under", "on"))
_PREPOSITION = r"(?:in|at|for|on|of|with|from|to|under|during|by|after|before|per)"
_WORD = rf"(?!{_PREPOSITION}\b)[\w'-]+"
THING = rf"(?:(?:the|an?|my|your|our) )?{_WORD}(?: {_WORD}){{0,3}}"  # a noun with its adjectives
THING_END = rf" {_PREPOSITION}\b|\W*$"
LAST_THING = lazy_pattern(rf"\b(?:for|on|of|with|to) (?P<thing>{THING})(?= per\b|\W*$)", re.IGNORECASE)
INDEFINITE_THING = lazy_pattern(rf"\ban? {_WORD}(?: {_WORD}){{0,2}}(?={THING_END})", re.IGNORECASE)
PERSON: dict[Language, re.Pattern[str]] = {
    "en": lazy_pattern(
        r"\b(?:(?:full-time|part-time|new|permanent|temporary) )?(?:staff|employees?|contractors?|interns?|"
        r"managers?|students?|members?|customers?|clients?|users?|visitors?|"
        r"guests?|workers?|volunteers?|trainees?|freelancers?|admins?|administrators?|children|adults|parents)\b",
        re.IGNORECASE,
    ),
    "zh": lazy_pattern("(?:员工?|职工|学生|[习研学]生|工人|老师|教师|工程师|经理|客户|顾客|人员|干部|访客|用户|家属)$"),
    "ja": lazy_pattern(
        "(?:社員|職員|従業員|役員|会員|学生|学者|者|パート|アルバイト|スタッフ|インターン|客様?|ユーザー)$"
    ),
}
TIME_WORDS = frozenset(("工作日", "平日", "假期"))
COMMON_NOUN_TAGS = frozenset(("n", "vn", "b"))
OF_TOPIC = lazy_pattern(f"[{HAN}{KATAKANA}A-Za-z0-9]{{2,16}}(?=の[^は?？]{{1,16}}は)")
KATAKANA_LETTER = lazy_pattern(f"[{KATAKANA}]")
NUMBER = lazy_pattern(r"\d+(?:[.,-]\d+)*")
NAME_TAGS = {"nr", "ns", "nt", "nz"}
LATIN_NAME = lazy_pattern(r"\b[A-Z\u00c0-\u00de][\w.'-]*\w(?: (?:of |de |the )?[A-Z0-9][\w.'-]*)*")
RUN = lazy_pattern(f"[{HAN}]+|[{KATAKANA}]+|[A-Za-z0-9][A-Za-z0-9 .-]*[A-Za-z0-9]")
NAME_BY_SCRIPT = lazy_pattern(f"[{KATAKANA}]{{2,}}|[A-Z][A-Za-z0-9 .-]+")
FOLLOWS = lazy_pattern(" ?(?:の|では|で|には|に|は|が)")
TOPIC = lazy_pattern(f"[{HAN}{KATAKANA}A-Za-z0-9の・ ]{{1,24}}(?=は)")
# Verbs and nouns for an aspect of a topic: applying, deadline, amount.
ASPECT = lazy_pattern(
    f"[{HAN}]+[いきしちにひみりぎじび](?:[{HAN}]+[いきしちにひみりぎじび])*"
    "|[\u4e00-\u9fff]{0,4}(?:申請|承認|手続|方法|期限|条件|対象者?|上限|下限|理由|金額|日数|時期|担当者?|変更|取消|延長|更新|提出|支給|計算|精算|例外|繰越)"
)
