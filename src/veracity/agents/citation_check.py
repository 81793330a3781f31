"""An answer sentence by sentence: what each cites, and whether the cited texts say it (SPEC X1).

Decided by form alone, so the same answer and evidence give the same result every time. A sentence is supported by what
it cites, not by what it might have cited: one that states something and cites nothing is unsupported. Knows nothing
about questions, nor about what is to be done with a sentence that lacks support.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from veracity.grounding import EvidenceTexts, Support, checkable
from veracity.grounding.statements import COURTESY, SILENCE, statements
from veracity.language import content_tokens, guess_language, sentences
from veracity.language.citations import MARK_PATTERN, cited_numbers, without_marks
from veracity.models import AnswerSentence, Citation, Evidence

_WORD = re.compile(r"\w")
_MARKS_IN_FRONT = re.compile(rf"^(?:{MARK_PATTERN}\s*)++")
_STOPS = (".", "!", "。", "！", "｡", "．", "…")
_CLOSERS = "\"'”’»)]}」』）］｝】*_ "
_CONTRAST = re.compile(r"\b(?:but|however|although|nevertheless|yet)\b|但|然而|不过|しかし|ただし|が、", re.IGNORECASE)
VOUCHED = 2  # names
FOREIGN = 2  # words of a heading or a question that the documents need not have
LONGEST_COURTESY = 60
NOT_FOUND = Support(0.0, False, -1, "", 0, 0)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """`found` is what the cited texts have of it. `supporting` is the number of an evidence that supports it although
    it is not cited, where the cited ones do not; 0 where there is none."""

    sentence: AnswerSentence
    found: Support
    supporting: int


def read_answer_sentences(text: str, evidence: Sequence[Evidence]) -> list[AnswerSentence]:
    return [checked.sentence for checked in check_sentences(text, evidence)]


def check_sentences(text: str, evidence: Sequence[Evidence]) -> list[CheckedSentence]:
    texts = _indexed(tuple(item.text for item in evidence))
    return [_checked(sentence, evidence, texts) for sentence in _sentences(text)]


@lru_cache(maxsize=8)  # the reviewer asks of every draft, the answer once more; some runs go on at the same time
def _indexed(texts: tuple[str, ...]) -> EvidenceTexts:
    return EvidenceTexts(texts)


def _sentences(text: str) -> Iterator[str]:
    """Marks that stand by themselves, in brackets or on a line of their own, belong to the sentence before them."""
    start = end = 0
    for sentence in sentences(text):
        only_marks = cited_numbers(sentence.text) and not _WORD.search(without_marks(sentence.text))
        if end and not only_marks:
            yield text[start:end]
        start, end = (start if end and only_marks else sentence.start), sentence.end
    if end:
        yield text[start:end]


def _checked(sentence: str, evidence: Sequence[Evidence], texts: EvidenceTexts) -> CheckedSentence:
    numbers = cited_numbers(sentence)
    cited = [number for number in numbers if 1 <= number <= len(evidence)]
    stated = _stated(sentence, evidence)
    found = _support(stated, [number - 1 for number in cited], evidence, texts) if stated and cited else NOT_FOUND
    read = AnswerSentence(
        text=sentence,
        states=bool(stated),
        supported=found.supported,
        support=min(1.0, found.score),
        citations=[_citation(number, stated or sentence, evidence[number - 1], texts) for number in cited],
        unresolved=[number for number in numbers if number not in cited],
    )
    lacking = stated and not found.supported
    return CheckedSentence(read, found, _supporting(stated, texts) if lacking else 0)


def _stated(sentence: str, evidence: Sequence[Evidence]) -> str:
    """Without the number of a list's item, which counts nothing; empty where there is nothing to check. With a stop,
    "[1] Staff get 24 days." is a sentence whose mark stands in front, and without it an entry of a list of sources."""
    if without_marks(sentence).rstrip(_CLOSERS).endswith(_STOPS):
        sentence = _MARKS_IN_FRONT.sub("", sentence)
    return "\n".join(statements(sentence)) or _smuggled(without_marks(sentence).strip(" #*\n"), evidence)


def _smuggled(bare: str, evidence: Sequence[Evidence]) -> str:
    """What is stated in a form that states nothing: behind "the documents do not say, but …", or in a heading, a
    question or a list of sources whose words are not those of the documents."""
    if SILENCE.search(bare):
        *_, after = _CONTRAST.split(bare)
        return after if after != bare and checkable(after) else ""
    if bare.endswith((":", "：")) or (COURTESY.match(bare) and len(bare) <= LONGEST_COURTESY):
        return ""
    language = guess_language(bare)
    words = set(content_tokens(bare, language))
    known = set(
        content_tokens(" ".join(f"{one.title} {' '.join(one.headings)} {one.text}" for one in evidence), language)
    )
    return bare if len(words - known) > FOREIGN else ""


def _support(stated: str, cited: list[int], evidence: Sequence[Evidence], texts: EvidenceTexts) -> Support:
    """What the text lacks, its title or headings may say: "In Dublin, staff get 24 days" of a page on Dublin. They
    vouch for one or two names, never for a number."""
    found = texts.support(stated, cited)
    above = " ".join(line for at in cited for line in (evidence[at].title, *evidence[at].headings))
    named = [word for word in found.missing if _is_name(word) and re.search(_bounded(word), above)][:VOUCHED]
    if found.supported or not named:
        return found
    return texts.support(re.sub("|".join(map(_bounded, named)), " ", stated), cited)


def _is_name(word: str) -> bool:
    return not any(map(str.isdigit, word)) and (word[0].isupper() or not word.isascii())


def _bounded(word: str) -> str:
    """Latin words stand by themselves; in Chinese and Japanese nothing separates them."""
    return rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word)


def _citation(number: int, stated: str, item: Evidence, texts: EvidenceTexts) -> Citation:
    """With the words of this evidence that come nearest; none where it says nothing of the kind."""
    found = texts.support(stated, [number - 1])
    return Citation(
        number=number,
        evidence_id=item.id,
        document_id=item.document_id,
        quote=found.quote,
        start=item.start + found.start,
        end=item.start + found.end,
    )


def _supporting(stated: str, texts: EvidenceTexts) -> int:
    found = texts.support(stated)
    return found.source + 1 if found.supported and texts.support(stated, [found.source]).supported else 0
