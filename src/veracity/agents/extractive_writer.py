"""The writer without a model: quotes up to three units of the evidence, shows a passage, or abstains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veracity.agents.base import WriterOutput, WritingTask
from veracity.agents.extract.answerability import (
    ANSWERABLE_THRESHOLD,
    Signals,
    answer_probability,
    compute_signals,
    find_other_subjects,
    is_clear,
    keep_right_subject,
)
from veracity.agents.extract.candidates import Candidate, detect_language, rank_candidates
from veracity.agents.extract.keywords import Keyword, quote_words
from veracity.agents.extract.other_languages import ANSWERS, CLEARLY_ANSWERS, rank_other_languages
from veracity.agents.extract.quotes import Quote, in_order, quote, quote_passage
from veracity.agents.prompts import agent_text
from veracity.answer_reader import AnswerReader
from veracity.embedding import Embedder
from veracity.grounding import support
from veracity.language import Language, content_tokens, guess_language, sentences
from veracity.language.questions import question_parts
from veracity.models import AnswerForm

MAX_UNITS = 3
MAX_SENTENCES = 4  # beyond those of the best unit
# Of a further unit, relative to the best one: in the same passage, and in another that gives the same answer.
MIN_PASSAGE_STRENGTH, MIN_AGREEING_STRENGTH = 0.7, 0.8
MIN_SHARED_KEYWORDS = 2  # of two sentences about the same thing
REPETITION_SHARE = 0.8  # of a unit's words, in another unit
MAX_ABSENT_SHARE = 0.3  # of the question's words, in a clear answer; without a reader
MIN_MISSING_SHARE = 0.3  # of the question's words; fewer do not say what is missing
MAX_QUESTION_LENGTH = 120  # characters, where an abstention quotes the question


class ExtractiveWriter:
    """With an embedder it also compares meanings, in the languages that the embedder covers. An answer reader helps to
    decide which unit answers, and whether one does."""

    form: AnswerForm = "extractive"
    model = ""

    def __init__(self, embedder: Embedder | None = None, reader: AnswerReader | None = None) -> None:
        self._embedder, self._reader = embedder, reader

    def write(self, task: WritingTask) -> WriterOutput:
        language = detect_language(task.question, task.evidence)
        reading = self._read(task, task.question)
        probability = reading.probability(language, task.typed_relevance)
        corrected = self._read(task, task.corrected) if task.corrected else _Reading()
        # The question as typed decides. If only the corrected one has an answer, a person decides whether it fits.
        if reading.may_answer(probability) or corrected.may_answer(corrected.probability(language)):
            clear = reading.is_clear(task.question, language, task.typed_relevance)
            if output := _write_answer(task, corrected.ranked or reading.ranked, language, clear):
                return output
        if output := self._quote_other_language(task, language):
            return output
        missing = _missing_names(task, reading.candidates)
        missing = missing or _missing_words(task.question, reading.wanted, reading.candidates)
        return WriterOutput(_write_abstention(missing, language), abstains=True, missing=missing)

    def _quote_other_language(self, task: WritingTask, language: Language) -> WriterOutput | None:
        """A quote from a document in another language than the question, if one answers it."""
        question = task.corrected or task.question
        ranked = rank_other_languages(question, task.evidence, self._embedder)
        if not ranked or ranked[0].relevance < ANSWERS:
            return None
        return _write_answer(task, ranked, language, ranked[0].relevance >= CLEARLY_ANSWERS)

    def _read(self, task: WritingTask, question: str) -> _Reading:
        wanted, candidates = rank_candidates(question, task.evidence, self._embedder, self._reader)
        ranked = keep_right_subject(question, candidates, task.evidence)
        signals = compute_signals(wanted, candidates, task.evidence, self._embedder, ranked) if ranked else None
        return _Reading(wanted, candidates, ranked, signals)


class _Reading(NamedTuple):
    """A question matched with the evidence. `ranked` are the candidates about the right subject."""

    wanted: Sequence[Keyword] = ()
    candidates: Sequence[Candidate] = ()
    ranked: Sequence[Candidate] = ()
    signals: Signals | None = None

    def _covers(self, question: str, language: Language) -> bool:
        """Whether the best candidate has most of the question's words. Always true in English with the bundled
        embedder, which also matches synonyms. Other sentences of the passage may answer further parts of the question.
        """
        if self.signals is None or (self.signals.meaning is not None and language == "en"):
            return self.signals is not None
        best, *others = self.ranked
        if len(question_parts(question)) == 1:
            others = []
        nearby = best.nearby_keywords.union(*(item.nearby_keywords for item in others if item.number == best.number))
        absent = sum(word.weight for word in self.wanted if word.key not in nearby)
        return absent <= MAX_ABSENT_SHARE * sum(word.weight for word in self.wanted)

    def may_answer(self, probability: float) -> bool:
        return self.signals is not None and probability >= ANSWERABLE_THRESHOLD

    def is_clear(self, question: str, language: Language, max_relevance: float) -> bool:
        """Whether the best candidate answers. Without a reader, it also needs the words of the question."""
        if self.signals is None:
            return False
        is_confirmed = self.signals.chosen_reading is not None or self._covers(question, language)
        return is_confirmed and is_clear(_limit_relevance(self.signals, max_relevance), language)

    def probability(self, language: Language, max_relevance: float = 1.0) -> float:
        """The probability that the evidence answers the question."""
        return answer_probability(_limit_relevance(self.signals, max_relevance), language) if self.signals else 0.0


def _limit_relevance(signals: Signals, limit: float) -> Signals:
    return signals._replace(relevance=min(signals.relevance, limit))


def join_cited(cited: Sequence[tuple[int, str]], language: Language) -> str:
    """Sentences with the marks of their evidence: running text if it can be split again, else one per line. Between
    quotes in English there is a space, whatever language the question has."""
    space = " " if language == "en" or any(guess_language(text) == "en" for _, text in cited) else ""
    pieces = [f"{text}{space}[{number}]" for number, text in cited]
    running = space.join(pieces)
    return running if [sentence.text for sentence in sentences(running)] == pieces else "\n".join(pieces)


def _write_abstention(missing: Sequence[str], language: Language) -> str:
    if not missing:
        return agent_text(language, "abstention")
    listed = agent_text(language, "list_separator").join(missing)
    return agent_text(language, "abstention_missing", missing=listed)


def _missing_names(task: WritingTask, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """The question's names that the best candidate's passage lacks, if that is about something else."""
    others = find_other_subjects(task.question, task.evidence)
    return tuple(name.text for name in others.get(candidates[0].number, ())) if candidates else ()


def _missing_words(question: str, wanted: Sequence[Keyword], candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """The question's words that the best candidate lacks; the whole question if these are few, since the "get" of "How
    many days do staff get" says nothing."""
    present = candidates[0].nearby_keywords if candidates else frozenset[str]()
    absent = [word for word in wanted if word.key not in present]
    if absent and sum(word.weight for word in absent) >= MIN_MISSING_SHARE * sum(word.weight for word in wanted):
        return quote_words(question, absent)
    whole = " ".join(question.split()).rstrip("?？。. ")[:MAX_QUESTION_LENGTH]
    return (whole,) if whole else ()


def _write_answer(
    task: WritingTask, ranked: Sequence[Candidate], language: Language, is_clear: bool
) -> WriterOutput | None:
    """The best units as an answer or, if it is not clear that they answer, the passage around the best one."""
    chosen, is_contradicted = _choose(task, ranked)
    if is_clear and chosen and not is_contradicted:
        return WriterOutput(_join(chosen, language))
    passage = quote_passage(ranked[0], task.evidence)
    if not passage:
        return None
    lead = agent_text(language, "passage_may_answer")
    return WriterOutput(f"{lead}\n{_join(passage, language)}", tentative=True)


def _join(quotes: Sequence[Quote], language: Language) -> str:
    return join_cited([(item.number + 1, item.text) for item in quotes], language)


def _choose(task: WritingTask, ranked: Sequence[Candidate]) -> tuple[list[Quote], bool]:
    """The quotes of the best units, and whether two sentences contradict each other. Repetitions are left out."""
    chosen: dict[str, Quote] = {}
    taken: list[Candidate] = []
    is_contradicted = False
    for candidate in _by_priority(task, ranked):
        if any(_contradict(candidate, other) for other in taken):
            is_contradicted = True
            continue
        if len(taken) == MAX_UNITS or any(_repeats(candidate, other) for other in taken):
            continue
        new = {item.text: item for item in quote(candidate, task.evidence) if item.text not in chosen}
        if new and (not chosen or len(chosen) + len(new) <= MAX_SENTENCES):
            chosen |= new
            taken.append(candidate)
    return in_order(chosen.values()), is_contradicted


def _contradict(candidate: Candidate, other: Candidate) -> bool:
    """Whether two sentences give different numbers for the same thing. Items and rows are about different things."""
    if "prose" not in (candidate.unit.kind, other.unit.kind) or candidate.answers & other.answers:
        return False
    same_words = candidate.keywords == other.keywords and len(candidate.keywords) >= MIN_SHARED_KEYWORDS
    return same_words and any(map(str.isdigit, "".join(support(candidate.text, other.text).contradicted)))


def _repeats(candidate: Candidate, other: Candidate) -> bool:
    words, known = set(content_tokens(candidate.text)), set(content_tokens(other.text))
    return len(words & known) >= REPETITION_SHARE * len(words)


def _is_alternative(candidate: Candidate, best: Candidate) -> bool:
    """Whether it is another entry of the same list or table, with fewer words of the question."""
    is_sibling = candidate.number == best.number and candidate.unit.lead == best.unit.lead
    are_entries = {candidate.unit.kind, best.unit.kind} <= {"item", "row"}
    return is_sibling and are_entries and candidate.keywords < best.keywords


def _by_priority(task: WritingTask, ranked: Sequence[Candidate]) -> Iterator[Candidate]:
    """The best unit for each part of the question and the best for the whole, then further ones of its passage, then
    those of other passages that give the same answer."""
    parts = question_parts(task.question)
    if 1 < len(parts) <= MAX_UNITS:
        ranks = {(item.number, item.place): item.rank for item in ranked}
        numbers = {item.number for item in ranked}
        for part in parts:
            candidates = [item for item in rank_candidates(part, task.evidence)[1] if item.number in numbers]
            if candidates:
                yield max(candidates, key=lambda item: item.rank + ranks.get((item.number, item.place), 0.0))
    best, *others = ranked
    yield best
    rest = [item for item in others if not _is_alternative(item, best)]
    yield from (
        item for item in rest if item.number == best.number and item.strength >= best.strength * MIN_PASSAGE_STRENGTH
    )
    for item in rest:
        agrees = item.answers & best.answers
        if item.number != best.number and agrees and item.strength >= best.strength * MIN_AGREEING_STRENGTH:
            yield item
