"""Rewrites a follow-up question to be understood without the conversation, using language patterns (SPEC D3).

A self-contained question is returned unchanged, byte for byte. A follow-up is completed by replacing the old subject
("and in Osaka?"), by adding the previous question if it has no subject ("Why?"), else by adding the subject of the
conversation in brackets. Further search terms from the conversation are returned separately, because they weigh less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from veracity.agents.extract.keywords import quote_words
from veracity.agents.follow_up.dependence import classify_dependence, looks_like_name, subject_keywords
from veracity.agents.follow_up.explicit_requests import parse_turn_request, parse_web_request
from veracity.agents.follow_up.replacement import ask_about_aspect, replace_subject
from veracity.agents.local_rewriter import subject_words
from veracity.language import Language, guess_language, normalized, search_tokens
from veracity.models import PastTurn

MAX_TURNS = 6
MAX_LENGTH = 400  # characters
MAX_PREVIOUS_LENGTH = 200  # characters of the quoted previous question
MAX_SUBJECTS_PER_QUESTION: dict[Language, int] = {"en": 2, "zh": 1, "ja": 1}  # Chinese questions begin with the subject
MAX_SUBJECTS = 2
MIN_SUBJECT_WORDS = 2  # with fewer, the question before is used as well
MAX_ADDED = 10  # words
MAX_TEXT_LENGTH = 4000  # characters used per text
# Weight of words of earlier turns; it decays with each turn further back.
QUESTION_WEIGHT, ANSWER_WEIGHT, DECAY, MAX_WEIGHED_TURNS = 2.0, 1.0, 0.5, 3


@dataclass(frozen=True, slots=True)
class StandaloneQuestion:
    """`added` are further search terms from the conversation, which count less than the question."""

    question: str
    added: tuple[str, ...] = ()
    depends: bool = False


def make_standalone(question: str, turns: Sequence[PastTurn], summary: str = "") -> StandaloneQuestion:
    """`turns` are oldest first; `summary` covers those before them."""
    language = guess_language(question)
    kind, other = classify_dependence(question, language)
    if kind == "alone" or not (turns or summary.strip()):
        return StandaloneQuestion(question)
    if kind == "thin":
        return StandaloneQuestion(question, _choose_added(question, turns, summary), True)
    previous = _previous_question(turns)
    if kind == "parallel" and (changed := replace_subject(previous, other, language)):
        return StandaloneQuestion(changed, (), True)  # no added words: they would lead to the old subject
    if kind == "parallel" and (changed := ask_about_aspect(previous, other, language)):
        return StandaloneQuestion(changed, _choose_added(changed, turns, summary), True)
    context = [previous] if previous and kind in ("parallel", "bare") else _find_subjects(question, turns, summary)
    completed = _with_context(question, context, language)
    return StandaloneQuestion(completed, _choose_added(completed, turns, summary), True)


def resolve_topic(topic: str, question: str, turns: Sequence[PastTurn], summary: str) -> tuple[StandaloneQuestion, str]:
    """Returns the standalone question of a web request, and its topic if that is self-contained, else an empty string.

    Without a topic, the request is about the previous question."""
    if not topic:
        previous = _previous_question(turns)
        subject = parse_web_request(previous) or previous or ", ".join(_find_subjects(question, turns, summary))
        return StandaloneQuestion(subject or question, (), bool(subject)), ""
    language = guess_language(topic)
    if is_self_contained(topic):
        return StandaloneQuestion(question), topic
    subjects = _find_subjects(topic, turns, summary)
    if subjects and (possessive := POSSESSIVE[language].match(topic)):
        named = OF_SUBJECT[language].format(thing=topic[possessive.end() :].strip(), subject=subjects[0])
        return StandaloneQuestion(named, (), True), named
    return make_standalone(topic, turns, summary), ""


def is_self_contained(topic: str) -> bool:
    """Whether the topic names its subject and does not refer back."""
    return classify_dependence(topic, guess_language(topic)).kind in ("alone", "thin")


def _previous_question(turns: Sequence[PastTurn]) -> str:
    """The last question in standalone form: after "Why?", the question before it."""
    standalone = ""
    for question in _past_questions(turns):
        language = guess_language(question)
        kind, other = classify_dependence(question, language)
        if kind == "parallel":
            changed = replace_subject(standalone, other, language) or ask_about_aspect(standalone, other, language)
            standalone = changed or question
        elif kind != "bare" or not standalone:
            standalone = question
    return " ".join(standalone.split())[:MAX_PREVIOUS_LENGTH]


def _past_questions(turns: Sequence[PastTurn]) -> list[str]:
    """The last questions, without requests that have no topic: "Look it up online", "What did you say?"."""
    questions = (turn.question for turn in turns[-MAX_TURNS:])
    return [text for text in questions if parse_web_request(text) != "" and parse_turn_request(text) is None]


def _with_context(question: str, context: Sequence[str], language: Language) -> str:
    """Inserts the context in brackets before the final punctuation, so that the result is a single question."""
    listed = (", " if language == "en" else "、").join(part.strip(ENDS) for part in context if part.strip(ENDS))
    if not listed:
        return question
    bare = question.rstrip()
    body = bare.rstrip(ENDS)
    opening, closing = (" (", ")") if language == "en" else ("（", "）")
    completed = f"{body}{opening}{listed}{closing}{bare[len(body) :]}"
    return completed if len(completed) <= MAX_LENGTH else question


def _find_subjects(question: str, turns: Sequence[PastTurn], summary: str) -> list[str]:
    """The subjects of the last questions, preferably names; without questions, those of the summary."""
    question_words, question_language = set(search_tokens(question)), guess_language(question)
    subjects: list[str] = []
    word_count = 0
    for text in _past_questions(turns)[::-1] or [summary]:
        language = guess_language(text)
        words, plain = subject_keywords(text, language), normalized(text)
        names = {plain[word.start : word.end] for word in words if looks_like_name(word, plain)}
        phrases = [phrase for phrase in quote_words(text, words) if not set(search_tokens(phrase)) <= question_words]
        named = [phrase for phrase in phrases if any(name in phrase for name in names)]
        if language != question_language:  # only Latin names are the same in another language
            named, phrases = [phrase for phrase in named if phrase.isascii()], []
        subjects += (named or phrases)[: MAX_SUBJECTS_PER_QUESTION[language]]
        word_count += len(words)
        if word_count >= MIN_SUBJECT_WORDS and subjects:
            break
    return list(dict.fromkeys(subjects))[:MAX_SUBJECTS]


def _choose_added(question: str, turns: Sequence[PastTurn], summary: str) -> tuple[str, ...]:
    """The main words of the last turns in the question's language that the question lacks."""
    question_language = guess_language(question)
    points: Counter[str] = Counter()
    forms: dict[str, str] = {}
    texts = [(turn.question, turn.answer) for turn in reversed(turns[-MAX_WEIGHED_TURNS:])] or [(summary, "")]
    for age, (asked, answer) in enumerate(texts):
        for text, weight in ((answer, ANSWER_WEIGHT), (asked, QUESTION_WEIGHT)):
            language = guess_language(text)
            for word in subject_words(text[:MAX_TEXT_LENGTH]):
                if language != question_language and (language == "en" or not word.isascii()):
                    continue
                key = " ".join(search_tokens(word, language))
                forms.setdefault(key, word)
                points[key] += weight * DECAY**age  # type: ignore[assignment]
    question_words = set(search_tokens(question))
    new = (forms[key] for key, _ in points.most_common() if key and not set(key.split()) & question_words)
    return tuple(new)[:MAX_ADDED]


ENDS = " \t\r\n?？!！.。…"
POSSESSIVE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:its|their|his|her) (?=[\w -]{1,60}$)", re.IGNORECASE),
    "zh": re.compile("[它他她]们?的|[这那][个些款种]?的|其"),
    "ja": re.compile("[そこあ](?:の|れの)"),
}
OF_SUBJECT: dict[Language, str] = {"en": "{thing} of {subject}", "zh": "{subject}的{thing}", "ja": "{subject}の{thing}"}
