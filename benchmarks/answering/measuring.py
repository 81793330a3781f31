"""What is counted of an answer: was it to be given, is the right thing in it, does every citation hold?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.answering.sets import Item
from veracity.agents.writer import Written
from veracity.grounding import EvidenceTexts
from veracity.language import normalized, sentences
from veracity.language.citations import cited_numbers, without_marks
from veracity.models import Evidence

LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
HEADINGS = ("balanced", "answers", "abstains", "gold in it", "gold cited", "sentences", "citations", "ms")


@dataclass(frozen=True)
class Outcome:
    """`holds_gold` is None where there is no gold to look for."""

    answerable: bool
    answered: bool
    holds_gold: bool | None
    cites_gold: Sequence[bool]
    sentences: int
    sound: Sequence[bool]  # of each sentence: it cites one evidence, which has it word for word
    seconds: float


def outcome(item: Item, evidence: Sequence[Evidence], written: Written, seconds: float) -> Outcome:
    if written.abstains:
        return Outcome(item.answerable, False, None, (), 0, (), seconds)
    given = [sentence.text for sentence in sentences(written.text)]
    texts = EvidenceTexts([one.text for one in evidence])
    cited = [cited_numbers(sentence) for sentence in given]
    return Outcome(
        item.answerable,
        True,
        _holds_gold(item, given),
        [evidence[numbers[0] - 1].document_id in item.gold for numbers in cited if item.gold and numbers],
        len(given),
        [_is_sound(sentence, numbers, evidence, texts) for sentence, numbers in zip(given, cited, strict=True)],
        seconds,
    )


def _holds_gold(item: Item, given: Sequence[str]) -> bool | None:
    if item.answers:
        return any(_bare(answer) in _bare(" ".join(map(without_marks, given))) for answer in item.answers)
    if item.support or item.set == "clapnq":
        said = [_bare(without_marks(sentence)) for sentence in given]
        return any(one in _bare(gold) or _bare(gold) in one for gold in item.support for one in said)
    return None


def _is_sound(sentence: str, numbers: list[int], evidence: Sequence[Evidence], texts: EvidenceTexts) -> bool:
    if len(numbers) != 1 or not 1 <= numbers[0] <= len(evidence):
        return False
    source = evidence[numbers[0] - 1].text
    words = _bare(without_marks(LINK_TARGET.sub("", source)))  # an answer shows no links
    found = texts.support(sentence, [numbers[0] - 1])
    return found.supported and found.quote in source and _bare(without_marks(sentence)) in words


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalized(text).lower())


def row(outcomes: Sequence[Outcome]) -> list[str]:
    """The cells under `HEADINGS`. Gold counts over all answers given, those that should not have been among them."""
    answered = [one for one in outcomes if one.answered]
    right, wrong = ([one.answered for one in outcomes if one.answerable is kind] for kind in (True, False))
    gold = [one.holds_gold for one in answered if one.holds_gold is not None]
    cites = [hit for one in answered for hit in one.cites_gold]
    sound = [hit for one in answered for hit in one.sound]
    return [
        f"{(fmean(right) + 1 - fmean(wrong)) / 2:.3f}",
        f"{fmean(right):.3f}",
        f"{1 - fmean(wrong):.3f}",
        f"{fmean(gold):.3f}" if gold else "–",
        f"{fmean(cites):.3f}" if cites else "–",
        f"{fmean(one.sentences for one in answered):.2f}" if answered else "–",
        f"{fmean(sound):.1%}" if sound else "–",
        f"{fmean(one.seconds for one in outcomes) * 1000:.1f}",
    ]
