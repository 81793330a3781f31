"""The writer that recalls: it quotes from earlier answers what bears on the question, word for word, or abstains.

Its evidence are earlier answers, each with the question it was given to as its title. No model is asked, so that
nothing is remembered otherwise than it was said. Knows nothing about how the answers were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veracity.agents.candidates import language_of
from veracity.agents.keywords import Keyword, keywords, places_of
from veracity.agents.unmarked import unmarked
from veracity.agents.wishes import earlier_answers
from veracity.agents.writer import WritingTask, Written
from veracity.grounding.statements import statements
from veracity.language import Language, normalized, sentences
from veracity.models import AnswerForm, Evidence

MOST_ANSWERS = 3
MOST_SENTENCES = 6
BEARS = 0.5  # the share of the topic's words that an answer, with its question, must hold


class RecallingWriter:
    form: AnswerForm = "recalled"
    model = ""

    def write(self, task: WritingTask) -> Written:
        topic = earlier_answers(task.question)
        topic = task.question if topic is None else topic
        language = language_of(task.question, task.evidence)
        wanted = keywords(topic, language)
        chosen = list(_chosen(task.evidence, wanted, language))[:MOST_SENTENCES]
        if chosen:
            return Written(_joined(chosen, language))
        missing = (topic,) if topic.strip() else ()
        said, colon, stop = ABSTENTION[language]
        return Written(f"{said}{colon + topic if missing else ''}{stop}", abstains=True, missing=missing)


class _Said(NamedTuple):
    number: int
    text: str


def _chosen(evidence: Sequence[Evidence], wanted: Sequence[Keyword], language: Language) -> Iterator[_Said]:
    """Of the answers that bear on the topic, the sentences that do; all of them where only the question names it."""
    bearing = [number for number, item in enumerate(evidence, 1) if _share(item, wanted, language) >= BEARS]
    for number in bearing[:MOST_ANSWERS]:
        said = [text for one in sentences(evidence[number - 1].text) if (text := _bare(one.text))]
        on_topic = [text for text in said if places_of(wanted, normalized(text), language)]
        yield from (_Said(number, text) for text in on_topic or said)


def _share(item: Evidence, wanted: Sequence[Keyword], language: Language) -> float:
    if not wanted:
        return 1.0
    held = places_of(wanted, normalized(f"{item.title}\n{item.text}"), language)
    return sum(word.weight for word in wanted if word.key in held) / sum(word.weight for word in wanted)


def _bare(sentence: str) -> str:
    """Empty where it states nothing."""
    plain = unmarked(sentence)
    return plain if statements(plain) == [plain] else ""


def _joined(chosen: Sequence[_Said], language: Language) -> str:
    """Running text where its sentences can be told apart again, else one a line."""
    space = " " if language == "en" else ""
    pieces = [f"{one.text}{space}[{one.number}]" for one in chosen]
    running = space.join(pieces)
    return running if [one.text for one in sentences(running)] == pieces else "\n".join(pieces)


ABSTENTION: dict[Language, tuple[str, str, str]] = {
    "en": ("The earlier answers do not say", ": ", "."),
    "zh": ("之前的回答没有提及", "：", "。"),
    "ja": ("以前の回答に記載がありません", "：", "。"),
}
