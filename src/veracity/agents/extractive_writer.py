"""The writer without a model: answers with up to three verbatim, cited sentences of the evidence, or abstains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veracity.agents.base import WriterOutput, WritingTask
from veracity.agents.extract.answerability import (
    ANSWERABLE_THRESHOLD,
    answer_probability,
    compute_signals,
    find_other_subjects,
    keep_right_subject,
)
from veracity.agents.extract.candidates import Candidate, detect_language, lay_out, rank_candidates
from veracity.agents.extract.excerpts import remove_marks
from veracity.agents.extract.keywords import Keyword, quote_words
from veracity.agents.prompts import agent_text
from veracity.embedding import Embedder
from veracity.grounding import support
from veracity.grounding.statements import statements
from veracity.language import Language, sentences
from veracity.language.questions import question_parts
from veracity.language.scripts import HAN
from veracity.models import AnswerForm, Evidence

MAX_SENTENCES = 3
MIN_RELATIVE_RANK = 0.8  # of a further sentence, relative to the best one
MIN_MISSING_SHARE = 0.3  # of the question's words; fewer do not say what is missing
MAX_QUESTION_LENGTH = 120  # characters, where an abstention quotes the question

_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_DECORATION = re.compile(r"\*{2,3}|_{2,3}|`+")
_ITEM_MARK = re.compile(r"^(?:(?:[-*•・+>#]{1,6}|[(（]?\d{1,3}[.)）、])\s+)+")
# Values of JSON and CSV look like this: projects[2].leader: Orla Finnerty.
_KEY_PATH = re.compile(r"^(?:[\w-]{1,60}(?:\[\d{1,6}\]){0,3}\.){1,8}(?=[\w-]{1,60}(?:\[\d{1,6}\]){0,3}: )")
_KEY_OF_SENTENCE = re.compile(rf"^(?:[a-z][\w-]{{0,60}}|[{HAN}]{{1,12}}): (?=[^:;\n]{{20,2000}}[.!?。！？]$)")
# A sentence that is not understood without the one before it.
_REFERS_BACK = re.compile(
    r"(?:it|he|she|they|this|these|those|its|his|her|their|that|then|there|such)\b"
    r"|[它他她其该此这那]|两者|同(?:年|日|月)|これ|それ|この|その|あれ|彼|同(?:氏|社)",
    re.IGNORECASE,
)


class ExtractiveWriter:
    """With an embedder it also compares meanings, in the languages that the embedder covers."""

    form: AnswerForm = "extractive"
    model = ""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def write(self, task: WritingTask) -> WriterOutput:
        wanted, candidates = rank_candidates(task.question, task.evidence, self._embedder)
        ranked = keep_right_subject(task.question, candidates, task.evidence)
        language = detect_language(task.question, task.evidence)
        if ranked:
            signals = compute_signals(wanted, candidates, task.evidence, self._embedder, ranked)
            is_answerable = answer_probability(signals, language) >= ANSWERABLE_THRESHOLD
            if is_answerable and (text := _write_answer(task, ranked, language)):
                return WriterOutput(text)
        missing = _missing_names(task, candidates) or _missing_words(task.question, wanted, candidates)
        return WriterOutput(_write_abstention(missing, language), abstains=True, missing=missing)


def join_cited(cited: Sequence[tuple[int, str]], language: Language) -> str:
    """Sentences with the marks of their evidence: running text if it can be split again, else one per line."""
    space = " " if language == "en" else ""
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


class _Chosen(NamedTuple):
    number: int
    start: int
    text: str  # as displayed


def _write_answer(task: WritingTask, ranked: Sequence[Candidate], language: Language) -> str:
    chosen: dict[str, _Chosen] = {}
    for candidate in _by_priority(task, ranked):
        new = {item.text: item for item in _present(candidate, task.evidence) if item.text not in chosen}
        if len(chosen) + len(new) <= MAX_SENTENCES:
            chosen |= new
        if len(chosen) == MAX_SENTENCES:
            break
    return join_cited([(item.number + 1, item.text) for item in _in_order(list(chosen.values()))], language)


def _by_priority(task: WritingTask, ranked: Sequence[Candidate]) -> Iterator[Candidate]:
    """The best sentence for each part of the question, then the best for the whole, then those nearly as good that
    contain words of the question themselves."""
    parts = question_parts(task.question)
    if 1 < len(parts) <= MAX_SENTENCES:
        ranks = {(item.number, item.place): item.rank for item in ranked}
        numbers = {item.number for item in ranked}
        for part in parts:
            candidates = [item for item in rank_candidates(part, task.evidence)[1] if item.number in numbers]
            if candidates:
                yield max(candidates, key=lambda item: item.rank + ranks.get((item.number, item.place), 0.0))
    min_rank = ranked[0].rank * MIN_RELATIVE_RANK
    yield ranked[0]
    yield from (candidate for candidate in ranked[1:] if candidate.keywords and candidate.rank >= min_rank)


def _present(candidate: Candidate, evidence: Sequence[Evidence]) -> list[_Chosen]:
    """The sentence, preceded by the one before it if it refers back to that. Empty if it cannot be displayed."""
    text = _clean(candidate.sentence.text)
    if text is None:
        return []
    chosen = [_Chosen(candidate.number, candidate.sentence.start, text)]
    if candidate.place and _REFERS_BACK.match(text):
        before = lay_out(evidence[candidate.number])[candidate.place - 1]
        if before.states and (shown := _clean(before.sentence.text)):
            chosen.insert(0, _Chosen(candidate.number, before.sentence.start, shown))
    return chosen


def _clean(sentence: str) -> str | None:
    """The sentence without list marks, emphasis, table cells, citation marks and JSON keys.

    None unless it is a single statement that the later checks will find in the evidence."""
    plain = _KEY_OF_SENTENCE.sub("", _KEY_PATH.sub("", sentence.strip("| \t")))
    plain = _DECORATION.sub("", _LINK.sub(r"\1", plain))
    plain = " ".join(remove_marks(_ITEM_MARK.sub("", plain)).split())
    if [item.text for item in sentences(plain)] != [plain] or statements(plain) != [plain]:
        return None
    return plain if plain == sentence or support(plain, sentence).supported else None


def _in_order(chosen: Sequence[_Chosen]) -> list[_Chosen]:
    """Passages in the order they were chosen, the sentences of each in the order of its text."""
    first: dict[int, int] = {}
    for index, item in enumerate(chosen):
        first.setdefault(item.number, index)
    return sorted(chosen, key=lambda item: (first[item.number], item.start))
