"""The reviewer without a model: checks a draft by its form and says how sure it is (SPEC A6, X1).

Compares sentences with the evidence they cite, looks for the parts of the question in the answer, and for the names in
the question in the cited evidence. A paraphrase far from its source looks unsupported, so such faults are not `sure`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from veracity.agents.base import ReviewTask
from veracity.agents.extract.answerability import find_other_subjects
from veracity.agents.prompts import agent_text
from veracity.grounding import SUPPORT_THRESHOLD
from veracity.grounding.citation_check import CheckedSentence, check_sentences
from veracity.grounding.quantities import quantities
from veracity.grounding.statements import NO_INFORMATION
from veracity.language import Language, content_tokens, guess_language, normalized, possible_languages
from veracity.language.citations import without_marks
from veracity.language.excerpts import ELLIPSIS, excerpt, tidy_line
from veracity.language.names import names_in, other_names
from veracity.language.questions import (
    ADDRESSED,
    ANSWERS,
    kind_asked_for,
    kinds_answered,
    needs_number,
    parts_addressed,
    question_parts,
)
from veracity.language.scripts import HIRAGANA
from veracity.models import Dimension, Evidence, Review

MAX_SUGGESTIONS = 20
MAX_LISTED = 5
MAX_SENTENCE_LENGTH = 120
MAX_QUOTE_LENGTH = 200
MAX_TITLE_LENGTH = 80
_WORD_ENDING = re.compile(f"[{HIRAGANA}]+")  # Japanese endings say nothing by themselves

DimensionName = Literal["reasonableness", "evidence"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`confidence` is the probability that it is one. A model may overrule a fault that is not `sure`."""

    dimension: DimensionName
    suggestion: str
    confidence: float
    sure: bool = False


@dataclass(frozen=True, slots=True)
class LocalCheck:
    """`parts` is the number of parts of the question."""

    language: Language
    checked: list[CheckedSentence]
    faults: list[Fault]
    parts: int

    def detail(self, dimension: DimensionName) -> str:
        if dimension == "reasonableness":
            missed = sum(fault.dimension == dimension for fault in self.faults)
            addressed = max(0, self.parts - missed)
            return agent_text(self.language, "review_parts", addressed=addressed, total=self.parts)
        stated = [item.sentence for item in self.checked if item.sentence.states]
        supported = sum(sentence.supported for sentence in stated)
        return agent_text(self.language, "review_statements", supported=supported, total=len(stated))

    @property
    def weakest_support(self) -> float:
        """The lowest support of a statement; 0.5 for an answer without statements."""
        return min((item.sentence.support for item in self.checked if item.sentence.states), default=0.5)


class LocalReviewer:
    """Deterministic: the same draft always gets the same review."""

    model = ""

    def review(self, task: ReviewTask) -> Review:
        check = check_draft(task.question, task.draft, task.evidence)
        failed = {fault.dimension for fault in check.faults}
        return Review(
            passed=not failed,
            suggestions=[fault.suggestion for fault in check.faults],
            outcome="failed" if failed else "passed",
            reasonableness=Dimension(passed="reasonableness" not in failed, detail=check.detail("reasonableness")),
            evidence=Dimension(passed="evidence" not in failed, detail=check.detail("evidence")),
            confidence=max((fault.confidence for fault in check.faults), default=check.weakest_support),
        )


def check_draft(question: str, draft: str, evidence: Sequence[Evidence]) -> LocalCheck:
    language = guess_language(question)
    checked = check_sentences(draft, evidence)
    parts = question_parts(question)
    faults = [
        *_sentence_faults(checked, evidence, language),
        *_repetition_faults(question, draft, language),
        *_answer_faults(parts, draft, _cited_text(checked, evidence), checked, language),
        *_subject_faults(question, checked, evidence, language),
    ]
    return LocalCheck(language, checked, faults[:MAX_SUGGESTIONS], len(parts))


def _sentence_faults(
    checked: Sequence[CheckedSentence], evidence: Sequence[Evidence], language: Language
) -> Iterator[Fault]:
    for position, item in enumerate(checked, 1):
        sentence = item.sentence
        shown = _shorten(without_marks(sentence.text), "", MAX_SENTENCE_LENGTH)
        if sentence.unresolved:
            values = {"position": position, "sentence": shown, "marks": _marks(sentence.unresolved)}
            text = agent_text(language, "fault_unresolved", count=len(evidence), **values)
            yield Fault("evidence", text, 1.0, sure=True)
        if sentence.states and not sentence.supported:
            yield from _support_fault(item, position, shown, evidence, language)


def _support_fault(
    item: CheckedSentence, position: int, shown: str, evidence: Sequence[Evidence], language: Language
) -> Iterator[Fault]:
    def say(key: str, **values: object) -> str:
        return agent_text(language, f"fault_{key}", **values)

    number, support = item.alternative_number, item.support
    marks = _marks([citation.number for citation in item.sentence.citations])
    if not marks:
        if not item.sentence.unresolved:  # which is the same fault, already reported
            fix = say("uncited_add", number=number) if number else say("uncited_nowhere")
            yield Fault("evidence", say("uncited", position=position, sentence=shown) + fix, 0.8, sure=True)
    elif support.contradicted:
        has_number = _has_number(support.contradicted)
        said = _list(support.contradicted, language) if has_number else shown
        quote = _shorten(support.quote, item.sentence.text, MAX_QUOTE_LENGTH)
        text = say("contradicted", position=position, said=said, marks=marks, quote=quote)
        yield Fault("evidence", text, 0.9 if has_number else 0.7, sure=True)
    else:
        parts = _list(support.missing, language)
        text = say("unsupported", position=position, sentence=shown, marks=marks)
        text += say("unsupported_missing", parts=parts) if parts else ""
        text += say("unsupported_other", number=number) if number else say("unsupported_remove")
        yield Fault("evidence", text, _confidence(item, evidence), sure=_has_number(support.missing))


def _confidence(item: CheckedSentence, evidence: Sequence[Evidence]) -> float:
    """Higher, the less of the sentence was found. Low for a source in another language, compared by meaning alone."""
    language = guess_language(item.sentence.text)
    same = any(evidence[citation.number - 1].language == language for citation in item.sentence.citations)
    if _has_number(item.support.missing):
        return 0.8 if same else 0.6
    return 0.5 + 0.4 * (1 - item.support.score / SUPPORT_THRESHOLD) if same else 0.3


def _has_number(parts: Sequence[str]) -> bool:
    return any(quantities(normalized(part)) for part in parts)


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers[:MAX_LISTED])


def _list(parts: Sequence[str], language: Language) -> str:
    words = [part for part in parts if not _WORD_ENDING.fullmatch(part)]
    listed = agent_text(language, "list_separator").join(words[:MAX_LISTED])
    return listed + (ELLIPSIS if len(words) > MAX_LISTED else "")


def _shorten(text: str, wanted: str, max_length: int) -> str:
    return excerpt(tidy_line(text), wanted, max_length)


def _cited_text(checked: Sequence[CheckedSentence], evidence: Sequence[Evidence]) -> str:
    """The quotes that support the answer, with titles and headings: "24 days [1]" answers a question about leave."""
    cited = [citation for item in checked if item.sentence.supported for citation in item.sentence.citations]
    sources = [evidence[index] for index in {citation.number - 1 for citation in cited}]
    headings = [line for source in sources for line in (source.title, *source.headings)]
    return "\n".join([*(citation.quote for citation in cited), *headings])


def _repetition_faults(question: str, draft: str, language: Language) -> Iterator[Fault]:
    """Small models return the question, once or several times, with the mark of a passage that has most of its words.
    Returning a statement confirms it."""
    asks = question.rstrip().endswith(("?", "？")) or kind_asked_for(question) is not None
    asked, answered = _letters(question), _letters(without_marks(draft))
    if asks and asked and answered and not answered.replace(asked, ""):
        yield Fault("reasonableness", agent_text(language, "fault_repeats_question"), 0.9, sure=True)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalized(text).casefold()))


def _answer_faults(
    parts: list[str], draft: str, cited_text: str, checked: Sequence[CheckedSentence], language: Language
) -> Iterator[Fault]:
    """An answer that states nothing, unless it says that the documents do not say; else the unanswered parts."""
    abstains = NO_INFORMATION.search(without_marks(draft)) is not None
    if not abstains and not any(item.sentence.states for item in checked):
        yield Fault("reasonableness", agent_text(language, "fault_states_nothing"), 0.8, sure=True)
        return
    for part, confidence, sure in _unanswered_parts(parts, draft, cited_text, abstains):
        yield Fault("reasonableness", agent_text(language, "fault_unanswered_part", part=part), confidence, sure)


def _unanswered_parts(
    parts: list[str], draft: str, cited_text: str, abstains: bool
) -> Iterator[tuple[str, float, bool]]:
    """A good answer need not repeat the question, so missing words alone give a confidence below one half. It is
    higher if another part is answered and nothing of the kind that this part asks for occurs. An answer without any
    number does not say how many: of 70 gold answers to such questions, one has none. An answer in another language
    than the question has none of its words; `QuestionCoverage` compares their meaning."""
    answer = without_marks(draft)
    if possible_languages(" ".join(parts)).isdisjoint(possible_languages(answer)):
        return
    segmentations: tuple[Language, ...] = ("zh", "ja")  # a short text in Han characters may be either
    words = {token for language in segmentations for token in content_tokens(f"{answer}\n{cited_text}", language)}
    kinds = set(ANSWERS) if abstains else kinds_answered(answer)
    shares = parts_addressed(parts, words, kinds)
    for part, share in shares.items():
        lacks_kind = kind_asked_for(part) not in {None, *kinds}
        if lacks_kind and needs_number(part):
            yield part, 0.8, True
        elif share < ADDRESSED:
            answers_another = max(shares.values()) >= ADDRESSED
            yield part, 0.55 if lacks_kind and answers_another else 0.4, False


def _subject_faults(
    question: str, checked: Sequence[CheckedSentence], evidence: Sequence[Evidence], language: Language
) -> Iterator[Fault]:
    """Cited evidence about another office than the question. Next to a sentence that cites the right one, a sentence
    may be about another that it names. The other may be the same under another name, so this is not `sure`."""
    cited = [(item.sentence, {citation.number - 1 for citation in item.sentence.citations}) for item in checked]
    cited = [(sentence, indexes) for sentence, indexes in cited if sentence.states and indexes]
    others = find_other_subjects(question, evidence) if cited else {}
    astray = [(sentence, indexes) for sentence, indexes in cited if indexes <= others.keys()]
    if len(astray) < len(cited):
        names = names_in(question)
        astray = [pair for pair in astray if not other_names(f": {without_marks(pair[0].text)}", names)]
    for index in sorted({min(indexes) for _, indexes in astray}):
        lacking = ", ".join(name.text for name in others[index])
        title = " ".join(evidence[index].title.split())[:MAX_TITLE_LENGTH]
        text = agent_text(language, "fault_other_subject", names=lacking, number=index + 1, title=title)
        yield Fault("reasonableness", text, 0.6)
