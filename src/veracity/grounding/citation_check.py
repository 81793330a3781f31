"""Checks an answer sentence by sentence: its citations, and whether the cited evidence supports it (SPEC X1).

Deterministic; calls no language model. Only cited evidence supports a sentence: a statement without a citation is
unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from veracity.grounding import EvidenceTexts, Support, checkable
from veracity.grounding.statements import NO_INFORMATION, SMALL_TALK, statements
from veracity.language import Language, content_tokens, guess_language, sentences
from veracity.language.citations import MARK_PATTERN, cited_numbers, without_marks
from veracity.models import AnswerSentence, Citation, Evidence

_WORD = re.compile(r"\w")
_LEADING_MARKS = re.compile(rf"^(?:{MARK_PATTERN}\s*)++")
_PUNCTUATION = (".", "!", "。", "！", "｡", "．", "…")
_CLOSERS = "\"'”’»)]}」』）］｝】*_ "
_CONTRAST = re.compile(r"\b(?:but|however|although|nevertheless|yet)\b|但|然而|不过|しかし|ただし|が、", re.IGNORECASE)
MAX_HEADING_NAMES = 2  # names per statement that the title or headings may support
MAX_UNKNOWN_WORDS = 2  # a heading or question with more unknown words is checked as a statement
MAX_SMALL_TALK_LENGTH = 60
NO_SUPPORT = Support(0.0, False, -1, "", 0, 0)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """`support` is the support by the cited evidence. If that is insufficient, `alternative_number` is the number of
    other evidence that supports the sentence, else 0."""

    sentence: AnswerSentence
    support: Support
    alternative_number: int


def read_answer_sentences(text: str, evidence: Sequence[Evidence]) -> list[AnswerSentence]:
    return [checked.sentence for checked in check_sentences(text, evidence)]


def check_sentences(text: str, evidence: Sequence[Evidence]) -> list[CheckedSentence]:
    texts = _index(tuple(item.text for item in evidence))
    return [_check(sentence, evidence, texts) for sentence in _split(text)]


@lru_cache(maxsize=8)  # the same evidence is used for every draft and the answer, of several concurrent runs
def _index(texts: tuple[str, ...]) -> EvidenceTexts:
    return EvidenceTexts(texts)


def _split(text: str) -> Iterator[str]:
    """Splits the text into sentences. Marks on a separate line belong to the sentence before them."""
    start = end = 0
    for sentence in sentences(text):
        only_marks = cited_numbers(sentence.text) and not _WORD.search(without_marks(sentence.text))
        if end and not only_marks:
            yield text[start:end]
        start, end = (start if end and only_marks else sentence.start), sentence.end
    if end:
        yield text[start:end]


def _check(sentence: str, evidence: Sequence[Evidence], texts: EvidenceTexts) -> CheckedSentence:
    numbers = cited_numbers(sentence)
    cited = [number for number in numbers if 1 <= number <= len(evidence)]
    statement = _find_statement(sentence, evidence)
    indexes = [number - 1 for number in cited]
    support = _check_support(statement, indexes, evidence, texts) if statement and cited else NO_SUPPORT
    answer_sentence = AnswerSentence(
        text=sentence,
        states=bool(statement),
        supported=support.supported,
        support=min(1.0, support.score),
        citations=[_cite(number, statement or sentence, evidence[number - 1], texts) for number in cited],
        unresolved=[number for number in numbers if number not in cited],
    )
    alternative = _find_supporting(statement, texts) if statement and not support.supported else 0
    return CheckedSentence(answer_sentence, support, alternative)


def _find_statement(sentence: str, evidence: Sequence[Evidence]) -> str:
    """The text to check, without list numbers; empty if the sentence makes no statement. With final punctuation,
    "[1] Staff get 24 days." is a sentence after its mark; without it, an entry in a list of sources."""
    if without_marks(sentence).rstrip(_CLOSERS).endswith(_PUNCTUATION):
        sentence = _LEADING_MARKS.sub("", sentence)
    return "\n".join(statements(sentence)) or _find_hidden_statement(without_marks(sentence).strip(" #*\n"), evidence)


def _find_hidden_statement(bare: str, evidence: Sequence[Evidence]) -> str:
    """A statement after "the documents do not say, but …", or in a heading, question or list of sources with words that
    the documents do not contain."""
    if NO_INFORMATION.search(bare):
        *_, after = _CONTRAST.split(bare)
        return after if after != bare and checkable(after) else ""
    if bare.endswith((":", "：")) or (SMALL_TALK.match(bare) and len(bare) <= MAX_SMALL_TALK_LENGTH):
        return ""
    language = guess_language(bare)
    texts = tuple(f"{item.title} {' '.join(item.headings)} {item.text}" for item in evidence)
    unknown = set(content_tokens(bare, language)) - _words_of(texts, language)
    return bare if len(unknown) > MAX_UNKNOWN_WORDS else ""


@lru_cache(maxsize=8)  # every heading and question of an answer is compared with the same evidence
def _words_of(texts: tuple[str, ...], language: Language) -> frozenset[str]:
    return frozenset(content_tokens(" ".join(texts), language))


def _check_support(statement: str, cited: list[int], evidence: Sequence[Evidence], texts: EvidenceTexts) -> Support:
    """Checks the statement. The title and headings may support a few names that the text does not contain ("In Dublin,
    staff get 24 days" from a page about Dublin), but never a number."""
    support = texts.support(statement, cited)
    headings = " ".join(line for index in cited for line in (evidence[index].title, *evidence[index].headings))
    names = [word for word in support.missing if _is_name(word) and re.search(_word_pattern(word), headings)]
    if support.supported or not names:
        return support
    pattern = "|".join(map(_word_pattern, names[:MAX_HEADING_NAMES]))
    return texts.support(re.sub(pattern, " ", statement), cited)


def _is_name(word: str) -> bool:
    return not any(map(str.isdigit, word)) and (word[0].isupper() or not word.isascii())


def _word_pattern(word: str) -> str:
    """Latin words must be separate; Chinese and Japanese do not separate words."""
    return rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word)


def _cite(number: int, statement: str, item: Evidence, texts: EvidenceTexts) -> Citation:
    """The citation with the best matching quote, which is empty if nothing matches."""
    support = texts.support(statement, [number - 1])
    return Citation(
        number=number,
        evidence_id=item.id,
        document_id=item.document_id,
        quote=support.quote,
        start=item.start + support.start,
        end=item.start + support.end,
    )


def _find_supporting(statement: str, texts: EvidenceTexts) -> int:
    """The number of the evidence that supports the statement by itself, else 0."""
    support = texts.support(statement)
    return support.source + 1 if support.supported and texts.support(statement, [support.source]).supported else 0
