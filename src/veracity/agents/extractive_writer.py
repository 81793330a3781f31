"""The writer that needs no language model: it answers with sentences of the evidence, word for word, or abstains.

At most three sentences, each with the mark of the evidence it stands in. Knows nothing about how the evidence was
found, nor about prompts: what the messages say is for models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veracity.agents.extract.answerability import ANSWERABLE, chance, of_something_else, of_the_right_thing, signals_of
from veracity.agents.extract.candidates import Candidate, laid_out, language_of, ranked_candidates
from veracity.agents.extract.keywords import Keyword, in_own_words
from veracity.agents.writer import WritingTask, Written
from veracity.embedding import Embedder
from veracity.grounding import support
from veracity.grounding.statements import statements
from veracity.language import Language, sentences
from veracity.language.citations import without_marks
from veracity.language.questions import question_parts
from veracity.language.scripts import HAN
from veracity.models import AnswerForm, Evidence

MOST_SENTENCES = 3
ALSO_FITS = 0.8  # of the best one's rank: what fits less is not said beside it
TELLING = 0.3  # share of a question's words: fewer do not tell what is missing
LONGEST_NAMED = 120  # characters of a question, where it is named whole


class ExtractiveWriter:
    """With an embedder it also looks at what sentences mean, in the languages that the embedder covers."""

    form: AnswerForm = "extractive"
    model = ""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def write(self, task: WritingTask) -> Written:
        wanted, found = ranked_candidates(task.question, task.evidence, self._embedder)
        ranked = of_the_right_thing(task.question, found, task.evidence)
        language = language_of(task.question, task.evidence)
        if ranked:
            signals = signals_of(wanted, found, task.evidence, self._embedder, ranked)
            if chance(signals, language) >= ANSWERABLE and (text := _answer(task, ranked, language)):
                return Written(text)
        missing = _names_missing(task, found) or _missing(task.question, wanted, found)
        return Written(_abstention(missing, language), abstains=True, missing=missing)


def _abstention(missing: Sequence[str], language: Language) -> str:
    said, colon, comma, stop = ABSTENTION[language]
    return said + (colon + comma.join(missing) if missing else "") + stop


def _names_missing(task: WritingTask, found: Sequence[Candidate]) -> tuple[str, ...]:
    """Those of the question that the best place lacks, where it speaks of something else."""
    others = of_something_else(task.question, task.evidence)
    return tuple(name.text for name in others.get(found[0].number, ())) if found else ()


def _missing(question: str, wanted: Sequence[Keyword], ranked: Sequence[Candidate]) -> tuple[str, ...]:
    """The question's words that the best place does not hold; the question itself where these are few: of "How many
    days do staff get" nobody misses the "get"."""
    held = ranked[0].held if ranked else frozenset[str]()
    absent = [word for word in wanted if word.key not in held]
    if absent and sum(word.weight for word in absent) >= TELLING * sum(word.weight for word in wanted):
        return in_own_words(question, absent)
    whole = " ".join(question.split()).rstrip("?？。. ")[:LONGEST_NAMED]
    return (whole,) if whole else ()


# --- which sentences ------------------------------------------------------------------------------------------------


class _Chosen(NamedTuple):
    number: int
    start: int
    text: str  # as it can be shown


def _answer(task: WritingTask, ranked: Sequence[Candidate], language: Language) -> str:
    chosen: dict[str, _Chosen] = {}
    for candidate in _in_turn(task, ranked):
        new = {one.text: one for one in _shown(candidate, task.evidence) if one.text not in chosen}
        if len(chosen) + len(new) <= MOST_SENTENCES:
            chosen |= new
        if len(chosen) == MOST_SENTENCES:
            break
    return _joined(_in_order(list(chosen.values())), language)


def _in_turn(task: WritingTask, ranked: Sequence[Candidate]) -> Iterator[Candidate]:
    """The best sentence for each part of the question, then those that fit the whole as well as the best, or nearly:
    by words of their own, not only by those above and around them."""
    parts = question_parts(task.question)
    if 1 < len(parts) <= MOST_SENTENCES:
        ranks = {(one.number, one.place): one.rank for one in ranked}
        numbers = {one.number for one in ranked}
        for part in parts:
            found = [one for one in ranked_candidates(part, task.evidence)[1] if one.number in numbers]
            if found:
                yield max(found, key=lambda one: one.rank + ranks.get((one.number, one.place), 0.0))
    least = ranked[0].rank * ALSO_FITS
    yield ranked[0]
    yield from (candidate for candidate in ranked[1:] if candidate.own and candidate.rank >= least)


def _shown(candidate: Candidate, evidence: Sequence[Evidence]) -> list[_Chosen]:
    """The sentence, after the one before it where it only points back to that. Empty where it cannot be shown."""
    own = _presentable(candidate.sentence.text)
    if own is None:
        return []
    chosen = [_Chosen(candidate.number, candidate.sentence.start, own)]
    if candidate.place and POINTS_BACK.match(own):
        before = laid_out(evidence[candidate.number])[candidate.place - 1]
        if before.states and (shown := _presentable(before.sentence.text)):
            chosen.insert(0, _Chosen(candidate.number, before.sentence.start, shown))
    return chosen


def _presentable(sentence: str) -> str | None:
    """The sentence without marks of lists, emphasis, tables and citations, and without the key of a value that is a
    sentence itself. None unless it states something that the checks which follow will find in it, as one sentence."""
    plain = KEY_OF_A_SENTENCE.sub("", PATH_OF_A_KEY.sub("", sentence.strip("| \t")))
    plain = DECORATION.sub("", LINK.sub(r"\1", plain))
    plain = " ".join(_unmarked(ITEM_MARK.sub("", plain)).split())
    if [one.text for one in sentences(plain)] != [plain] or statements(plain) != [plain]:
        return None
    return plain if plain == sentence or support(plain, sentence).supported else None


def _unmarked(text: str) -> str:
    """Without citation marks, also those that appear when others are taken out."""
    while (less := without_marks(text)) != text:
        text = less
    return text


# --- the text -------------------------------------------------------------------------------------------------------


def _in_order(chosen: Sequence[_Chosen]) -> list[_Chosen]:
    """Passages in the order in which they were chosen, their sentences as they stand there."""
    first: dict[int, int] = {}
    for place, one in enumerate(chosen):
        first.setdefault(one.number, place)
    return sorted(chosen, key=lambda one: (first[one.number], one.start))


def _joined(chosen: Sequence[_Chosen], language: Language) -> str:
    """Running text where its sentences can be told apart again, else one a line."""
    pieces = [f"{one.text}{' ' if language == 'en' else ''}[{one.number + 1}]" for one in chosen]
    running = (" " if language == "en" else "").join(pieces)
    return running if [one.text for one in sentences(running)] == pieces else "\n".join(pieces)


# That the evidence is silent, and what stands before, between and after the things it is silent on.
ABSTENTION: dict[Language, tuple[str, str, str, str]] = {
    "en": ("The documents do not say", ": ", ", ", "."),
    "zh": ("资料没有提及", "：", "、", "。"),
    "ja": ("資料に記載がありません", "：", "、", "。"),
}
LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
DECORATION = re.compile(r"\*{2,3}|_{2,3}|`+")
ITEM_MARK = re.compile(r"^(?:(?:[-*•・+>#]{1,6}|[(（]?\d{1,3}[.)）、])\s+)+")
# How values of JSON and CSV read: projects[2].leader: Orla Finnerty.
PATH_OF_A_KEY = re.compile(r"^(?:[\w-]{1,60}(?:\[\d{1,6}\]){0,3}\.){1,8}(?=[\w-]{1,60}(?:\[\d{1,6}\]){0,3}: )")
KEY_OF_A_SENTENCE = re.compile(rf"^(?:[a-z][\w-]{{0,60}}|[{HAN}]{{1,12}}): (?=[^:;\n]{{20,2000}}[.!?。！？]$)")
# A sentence that says nothing without the one before it.
POINTS_BACK = re.compile(
    r"(?:it|he|she|they|this|these|those|its|his|her|their|that|then|there|such)\b"
    r"|[它他她其该此这那]|两者|同(?:年|日|月)|これ|それ|この|その|あれ|彼|同(?:氏|社)",
    re.IGNORECASE,
)
