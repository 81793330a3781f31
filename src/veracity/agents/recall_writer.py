"""The writer that quotes earlier answers verbatim, or abstains (SPEC D4).

Its evidence consists of earlier answers, each titled with its question. It calls no model, so that nothing is reported
differently than it was said.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.agents.base import WriterOutput, WritingTask
from veracity.agents.extract.candidates import detect_language
from veracity.agents.extract.keywords import Keyword, extract_keywords, find_positions
from veracity.agents.extractive_writer import join_cited
from veracity.agents.follow_up.explicit_requests import parse_recall_request, parse_turn_request
from veracity.agents.prompts import agent_text
from veracity.grounding.statements import statements
from veracity.language import Language, normalized, sentences
from veracity.language.excerpts import plain_line
from veracity.models import AnswerForm, Evidence

MAX_ANSWERS = 3
MAX_SENTENCES = 6
MIN_TOPIC_SHARE = 0.5  # share of the topic's words that an answer and its question must contain

CitedSentence = tuple[int, str]  # number of the evidence, text


class RecallWriter:
    form: AnswerForm = "recalled"
    model = ""

    def write(self, task: WritingTask) -> WriterOutput:
        topic = parse_recall_request(task.question)
        topic = task.question if topic is None else topic
        language = detect_language(task.question, task.evidence)
        if not topic.strip() or _asks_for_turn(task):
            chosen = _quote_first(task.evidence)
        else:
            wanted = extract_keywords(topic, language)
            chosen = _choose_sentences(task.evidence, wanted, language)[:MAX_SENTENCES]
        if chosen:
            return WriterOutput(join_cited(chosen, language))
        if not topic.strip():
            return WriterOutput(agent_text(language, "recall_abstention"), abstains=True)
        text = agent_text(language, "recall_abstention_missing", missing=topic)
        return WriterOutput(text, abstains=True, missing=(topic,))


def _asks_for_turn(task: WritingTask) -> bool:
    """Whether the first evidence is the requested turn, which begins with its question."""
    first = task.evidence[0] if task.evidence else None
    return first is not None and first.title == task.question and first.text.startswith(first.title)


def _quote_first(evidence: Sequence[Evidence]) -> list[CitedSentence]:
    """The whole first answer, and its question if the text contains it and it is not just a request to repeat."""
    if not evidence:
        return []
    first = evidence[0]
    title = "" if parse_turn_request(first.title) else first.title
    texts = (_statement(part.text) or (part.text if part.text in title else "") for part in sentences(first.text))
    return [(1, text) for text in dict.fromkeys(texts) if text]


def _choose_sentences(
    evidence: Sequence[Evidence], wanted: Sequence[Keyword], language: Language
) -> list[CitedSentence]:
    """The sentences about the topic, or all sentences of an answer if only its question names the topic. Each sentence
    once, even if several answers contain it."""
    relevant = [
        number for number, item in enumerate(evidence, 1) if _topic_share(item, wanted, language) >= MIN_TOPIC_SHARE
    ]
    chosen: dict[str, CitedSentence] = {}
    for number in relevant[:MAX_ANSWERS]:
        texts = [text for part in sentences(evidence[number - 1].text) if (text := _statement(part.text))]
        on_topic = [text for text in texts if find_positions(wanted, normalized(text), language)]
        for text in on_topic or texts:
            chosen.setdefault(normalized(text).casefold(), (number, text))
    return list(chosen.values())


def _topic_share(item: Evidence, wanted: Sequence[Keyword], language: Language) -> float:
    if not wanted:
        return 1.0
    positions = find_positions(wanted, normalized(f"{item.title}\n{item.text}"), language)
    return sum(word.weight for word in wanted if word.key in positions) / sum(word.weight for word in wanted)


def _statement(sentence: str) -> str:
    """The sentence without marks; empty if it states nothing."""
    plain = plain_line(sentence)
    return plain if statements(plain) == [plain] else ""
