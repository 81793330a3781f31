"""The writer that recalls: it quotes from earlier answers what bears on the question, word for word, or abstains.

Its evidence are earlier answers, each with the question it was given to as its title. No model is asked, so that
nothing is remembered otherwise than it was said. Knows nothing about how the answers were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from veracity.agents.extract.candidates import language_of
from veracity.agents.extract.keywords import Keyword, keywords, places_of
from veracity.agents.follow_up.explicit_requests import earlier_answers, which_turn
from veracity.agents.summarizer import unmarked
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
        is_whole = not topic.strip() or _is_one_turn(task)
        chosen = _whole(task.evidence) if is_whole else _chosen(task.evidence, wanted, language)[:MOST_SENTENCES]
        if chosen:
            return Written(_joined(chosen, language))
        missing = (topic,) if topic.strip() else ()
        said, colon, stop = ABSTENTION[language]
        return Written(f"{said}{colon + topic if missing else ''}{stop}", abstains=True, missing=missing)


class _Said(NamedTuple):
    number: int
    text: str


def _chosen(evidence: Sequence[Evidence], wanted: Sequence[Keyword], language: Language) -> list[_Said]:
    """Of the answers that bear on the topic, the sentences that do; all of them where only the question names it. What
    several answers said is said once."""
    bearing = [number for number, item in enumerate(evidence, 1) if _share(item, wanted, language) >= BEARS]
    found: dict[str, _Said] = {}
    for number in bearing[:MOST_ANSWERS]:
        said = _sentences(evidence[number - 1])
        on_topic = [text for text in said if places_of(wanted, normalized(text), language)]
        for text in on_topic or said:
            found.setdefault(normalized(text).casefold(), _Said(number, text))
    return list(found.values())


def _is_one_turn(task: WritingTask) -> bool:
    """The turn itself is asked for, and stands there with its question."""
    first = task.evidence[0] if task.evidence else None
    return first is not None and first.title == task.question and first.text.startswith(first.title)


def _whole(evidence: Sequence[Evidence]) -> list[_Said]:
    """The answer that comes first, all of it; its question too where it stands there and asks for something."""
    if not evidence:
        return []
    first = evidence[0]
    title = "" if which_turn(first.title) else first.title
    read = (_bare(one.text) or (one.text if one.text in title else "") for one in sentences(first.text))
    return [_Said(1, text) for text in dict.fromkeys(read) if text]


def _sentences(item: Evidence) -> list[str]:
    return [text for one in sentences(item.text) if (text := _bare(one.text))]


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
