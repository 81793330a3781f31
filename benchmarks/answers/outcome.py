"""Outcome of a case: was it answered, does the answer contain the gold answer, is every citation sound?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from benchmarks.answers.items import Item
from veracity.agents.base import WriterOutput
from veracity.agents.prompts import agent_text
from veracity.grounding import EvidenceTexts
from veracity.language import Language, normalized, sentences
from veracity.language.citations import cited_numbers, without_marks
from veracity.models import Evidence

# The line above a passage that may answer.
PASSAGE_LEADS = frozenset(agent_text(language, "passage_may_answer") for language in get_args(Language))
LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")


@dataclass(frozen=True)
class Outcome:
    """`holds_gold` is None if the item has no gold answer."""

    answerable: bool
    answered: bool
    holds_gold: bool | None
    cites_gold: Sequence[bool]
    sentences: int
    sound: Sequence[bool]  # for each sentence: whether it cites one passage, which contains it verbatim
    seconds: float


def make_outcome(item: Item, evidence: Sequence[Evidence], written: WriterOutput, seconds: float) -> Outcome:
    if written.abstains:
        return Outcome(item.answerable, False, None, (), 0, (), seconds)
    answer = [sentence.text for sentence in sentences(written.text) if sentence.text not in PASSAGE_LEADS]
    texts = EvidenceTexts([passage.text for passage in evidence])
    cited = [cited_numbers(sentence) for sentence in answer]
    return Outcome(
        item.answerable,
        True,
        _holds_gold(item, answer),
        [evidence[numbers[0] - 1].document_id in item.gold for numbers in cited if item.gold and numbers],
        len(answer),
        [_is_sound(sentence, numbers, evidence, texts) for sentence, numbers in zip(answer, cited, strict=True)],
        seconds,
    )


def _holds_gold(item: Item, answer: Sequence[str]) -> bool | None:
    if item.answers:
        return any(bare(gold) in bare(" ".join(map(without_marks, answer))) for gold in item.answers)
    if item.support or item.set == "clapnq":
        stated = [bare(without_marks(sentence)) for sentence in answer]
        return any(text in bare(gold) or bare(gold) in text for gold in item.support for text in stated)
    return None


def _is_sound(sentence: str, numbers: list[int], evidence: Sequence[Evidence], texts: EvidenceTexts) -> bool:
    if len(numbers) != 1 or not 1 <= numbers[0] <= len(evidence):
        return False
    source = evidence[numbers[0] - 1].text
    words = bare(without_marks(LINK_TARGET.sub("", source)))  # answers contain no links
    support = texts.support(sentence, [numbers[0] - 1])
    return support.supported and support.quote in source and bare(without_marks(sentence)) in words


def bare(text: str) -> str:
    """Without case, punctuation and spaces, to compare answers."""
    return re.sub(r"[\W_]+", "", normalized(text).lower())
