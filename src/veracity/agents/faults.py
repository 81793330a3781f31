"""What is wrong with the sentences of a draft, each fault told so that a writer can mend it (SPEC A6, X1).

A fault is `sure` where code knows it: a mark that names no evidence, a missing mark, a number the source does not have
or has otherwise. That the words of a sentence are not those of its source is no such proof: it may be a paraphrase.
Knows nothing about the question but its language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from veracity.agents.excerpts import CUT, excerpt
from veracity.agents.sentences import CheckedSentence
from veracity.citations import without_marks
from veracity.grounding import SUPPORT_THRESHOLD
from veracity.grounding.quantities import quantities
from veracity.language import Language, guess_language, normalized
from veracity.language.scripts import HIRAGANA
from veracity.models import Evidence

MOST_PARTS = 5
LONGEST_SENTENCE = 120
LONGEST_QUOTE = 200
_ENDINGS = re.compile(f"[{HIRAGANA}]+")  # Japanese word endings say nothing by themselves

_SPACE_BEFORE_STOP = re.compile(r" (?=[.,;:!?。，、；：！？])")  # where a mark stood


@dataclass(frozen=True, slots=True)
class Fault:
    """`sure` as above; `confidence` is the chance that it is one."""

    dimension: Literal["reasonableness", "evidence"]
    suggestion: str
    confidence: float
    sure: bool = False


def sentence_faults(
    checked: Sequence[CheckedSentence], evidence: Sequence[Evidence], language: Language
) -> Iterator[Fault]:
    words = WORDS[language]
    for place, one in enumerate(checked, 1):
        sentence = one.sentence
        told = {"place": place, "sentence": _short(without_marks(sentence.text), "", LONGEST_SENTENCE)}
        if sentence.unresolved:
            marks = "".join(f"[{number}]" for number in sentence.unresolved[:MOST_PARTS])
            text = words["unresolved"].format(**told, marks=marks, count=len(evidence))
            yield Fault("evidence", text, 1.0, sure=True)
        if sentence.states and not sentence.supported:
            yield from _support_fault(one, evidence, words, told)


def _support_fault(
    one: CheckedSentence, evidence: Sequence[Evidence], words: dict[str, str], told: dict[str, object]
) -> Iterator[Fault]:
    mend = words["other"].format(number=one.supporting) if one.supporting else words["remove"]
    marks = "".join(f"[{citation.number}]" for citation in one.sentence.citations[:MOST_PARTS])
    if not marks:
        if not one.sentence.unresolved:  # which is the same fault, and told already
            mend = words["add"].format(number=one.supporting) if one.supporting else words["nowhere"]
            yield Fault("evidence", words["uncited"].format(**told) + mend, 0.8, sure=True)
    elif one.found.contradicted:
        numbers = _has_number(one.found.contradicted)
        said = _listed(one.found.contradicted, words) if numbers else told["sentence"]
        quote = _short(one.found.quote, one.sentence.text, LONGEST_QUOTE)
        text = words["contradicted"].format(place=told["place"], said=said, marks=marks, quote=quote)
        yield Fault("evidence", text, 0.9 if numbers else 0.7, sure=True)
    else:
        parts = _listed(one.found.missing, words)
        text = words["unsupported"].format(**told, marks=marks)
        text += (words["missing"].format(parts=parts) if parts else "") + mend
        yield Fault("evidence", text, _confidence(one, evidence), sure=_has_number(one.found.missing))


def _confidence(one: CheckedSentence, evidence: Sequence[Evidence]) -> float:
    """The surer, the less of the sentence was found. A source in another language has none of its words anyway."""
    language = guess_language(one.sentence.text)
    same = any(evidence[citation.number - 1].language == language for citation in one.sentence.citations)
    if _has_number(one.found.missing):
        return 0.8 if same else 0.6
    return 0.5 + 0.4 * (1 - one.found.score / SUPPORT_THRESHOLD) if same else 0.3


def _has_number(parts: Sequence[str]) -> bool:
    return any(quantities(normalized(part)) for part in parts)


def _listed(parts: Sequence[str], words: dict[str, str]) -> str:
    telling = [part for part in parts if not _ENDINGS.fullmatch(part)]
    return words["and"].join(telling[:MOST_PARTS]) + (CUT if len(telling) > MOST_PARTS else "")


def _short(text: str, wanted: str, longest: int) -> str:
    return excerpt(_SPACE_BEFORE_STOP.sub("", " ".join(text.split())), wanted, longest)


WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "unresolved": "Sentence {place} (“{sentence}”) cites {marks}, but there are only {count} pieces of evidence: "
        "cite one that exists, or remove the mark.",
        "uncited": "Sentence {place} (“{sentence}”) cites nothing: ",
        "add": "[{number}] supports it, so add that mark.",
        "nowhere": "add the mark of the evidence that says it, or remove the sentence if none does.",
        "contradicted": "Sentence {place} says “{said}”, but the cited {marks} says “{quote}”: "
        "correct it accordingly, or remove it.",
        "unsupported": "Sentence {place} (“{sentence}”) is not what the cited {marks} says",
        "missing": " (not found there: {parts})",
        "other": ": [{number}] supports it, so cite that one.",
        "remove": ": keep to what the source says, cite another that says it, or remove the sentence.",
        "and": ", ",
    },
    "zh": {
        "unresolved": "第 {place} 句（“{sentence}”）引用了 {marks}，但证据只有 {count} 条："
        "请改引存在的证据，或删去该标记。",
        "uncited": "第 {place} 句（“{sentence}”）没有引用：",
        "add": "[{number}] 支持它，请加上这个标记。",
        "nowhere": "请加上说明此事的证据标记；若没有证据支持，请删去此句。",
        "contradicted": "第 {place} 句称“{said}”，而所引 {marks} 的原文是“{quote}”：请按原文更正，或删去。",
        "unsupported": "第 {place} 句（“{sentence}”）与所引 {marks} 的内容不符",
        "missing": "（其中未找到：{parts}）",
        "other": "：[{number}] 支持它，请改引该条。",
        "remove": "：请以原文为准，改引支持它的证据，或删去此句。",
        "and": "、",
    },
    "ja": {
        "unresolved": "{place} 文目（「{sentence}」）は {marks} を引用していますが、根拠は {count} 件しかありません。"
        "実在する根拠を引用するか、記号を削除してください。",
        "uncited": "{place} 文目（「{sentence}」）には引用がありません。",
        "add": "[{number}] が裏付けているので、その記号を付けてください。",
        "nowhere": "裏付ける根拠の記号を付けるか、根拠がなければ文を削除してください。",
        "contradicted": "{place} 文目は「{said}」としていますが、引用した {marks} には「{quote}」とあります。"
        "原文に合わせて訂正するか、文を削除してください。",
        "unsupported": "{place} 文目（「{sentence}」）は、引用した {marks} の内容と一致しません",
        "missing": "（見つからない語：{parts}）",
        "other": "。[{number}] が裏付けているので、そちらを引用してください。",
        "remove": "。原文に沿って書き直すか、裏付ける別の根拠を引用するか、文を削除してください。",
        "and": "、",
    },
}
