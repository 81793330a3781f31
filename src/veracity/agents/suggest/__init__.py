"""Questions that a person might ask about a text, made from its headings and sentences by their form.

No model is called. Whether the documents answer such a question has to be tried (`runs/trials.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from veracity.agents.suggest import chinese, english, japanese
from veracity.language import Language, content_tokens
from veracity.language.layout import Unit, lay_out, one_line

MAX_TEXT = 40_000  # characters of a document that are read
MAX_SENTENCE = 240
REPEATED_SHARE = 0.7  # of the words of a question that another one has
_MARKUP = re.compile(r"\*\*|__|!?\[([^\]\n]{1,200})\]\([^)\n]{1,500}\)")
_UNUSABLE = re.compile(r"[`|<>{}\[\]\\]|https?:|//|\ufffd")
_HEADING_MARK = re.compile(r"^\s*#{1,6}\s+|^\s*\*\*|\*\*[:：]?\s*$|\s*#+\s*$")
_ITEM_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")

_ASKS = re.compile("How|What|When|Where|Who|Why|Which")
_CLAUSE = re.compile("[,，、]")
_BEST_LENGTH: dict[Language, int] = {"en": 9, "zh": 17, "ja": 23}

Ask = Callable[[str, str], str]


class Suggestion(NamedTuple):
    """A question and the part of the text that it was made from."""

    question: str
    start: int
    end: int


class _Forms(NamedTuple):
    sentence: Ask
    heading: Ask
    item: Ask


_FORMS: dict[Language, _Forms] = {
    "en": _Forms(english.ask_sentence, english.ask_heading, english.ask_nothing),
    "zh": _Forms(chinese.ask_sentence, chinese.ask_heading, chinese.ask_item),
    "ja": _Forms(japanese.ask_sentence, japanese.ask_heading, japanese.ask_item),
}


def suggest_questions(text: str, language: Language) -> Iterator[Suggestion]:
    """In the order of the text, each once."""
    text = text[:MAX_TEXT]
    forms, asked = _FORMS[language], set[str]()
    for unit in lay_out(text):
        for question in _ask(unit, forms, text):
            if question and question not in asked:
                asked.add(question)
                yield Suggestion(question, unit.start, unit.end)


def rank_question(question: str, language: Language) -> tuple[bool, int, int]:
    """Sorts those that ask for something before those to be answered by yes or no, and self-contained ones first: of
    one clause, neither very short nor long."""
    length = len(question.split()) if language == "en" else len(question)
    is_polar = language == "en" and not _ASKS.match(question)
    return is_polar, len(_CLAUSE.findall(question)), abs(length - _BEST_LENGTH[language])


def is_repetition(question: str, asked: str, language: Language) -> bool:
    """Whether most of the words of a question are in the one that was asked."""
    words = set(content_tokens(question, language))
    return len(words & set(content_tokens(asked, language))) >= REPEATED_SHARE * len(words)


def _ask(unit: Unit, forms: _Forms, text: str) -> Iterator[str]:
    if unit.kind == "heading":
        yield forms.heading(_plain(_HEADING_MARK.sub("", unit.sentences[0].text)), text)
    elif unit.kind == "prose":
        for sentence in unit.sentences:
            yield forms.sentence(_plain(sentence.text), text)
    elif unit.kind == "item" and len(unit.sentences) == 1:
        yield forms.item(_plain(_ITEM_MARK.sub("", unit.sentences[0].text)), text)


def _plain(text: str) -> str:
    """On one line without emphasis and links; empty if it contains anything else that is not prose."""
    plain = _MARKUP.sub(lambda match: match[1] or "", one_line(text)).strip()
    return "" if len(plain) > MAX_SENTENCE or _UNUSABLE.search(plain) else plain
