"""The reviewer without a model: what code can tell of a draft, and how sure it is (SPEC A6, X1).

Sentences are held against what they cite, the question's parts are looked for in the answer, and the names that it asks
about in what is cited. Knows nothing about meaning: a paraphrase far from its source looks unsupported to it, and its
confidence says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veracity.agents.citation_check import CheckedSentence, check_sentences
from veracity.agents.extract.answerability import of_something_else
from veracity.agents.extract.excerpts import CUT, excerpt
from veracity.grounding import SUPPORT_THRESHOLD
from veracity.grounding.quantities import quantities
from veracity.grounding.statements import SILENCE
from veracity.language import Language, content_tokens, guess_language, normalized
from veracity.language.citations import without_marks
from veracity.language.names import names_in, other_names
from veracity.language.questions import (
    ADDRESSED,
    ANSWERS,
    kind_asked_for,
    kinds_answered,
    parts_addressed,
    question_parts,
)
from veracity.language.scripts import HIRAGANA
from veracity.models import Dimension, Evidence, Review

if TYPE_CHECKING:
    from veracity.agents.reviewer import ReviewTask


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
    words = WORDS_FAULTS[language]
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


WORDS_FAULTS: dict[Language, dict[str, str]] = {
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


MOST_SUGGESTIONS = 20
LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class LocalCheck:
    """`parts` is how many the question has."""

    language: Language
    checked: list[CheckedSentence]
    faults: list[Fault]
    parts: int

    def detail(self, dimension: Literal["reasonableness", "evidence"]) -> str:
        words = WORDS[self.language]
        if dimension == "reasonableness":
            missed = sum(fault.dimension == dimension for fault in self.faults)
            return words["parts"].format(addressed=max(0, self.parts - missed), total=self.parts)
        stated = [one.sentence for one in self.checked if one.sentence.states]
        supported = sum(sentence.supported for sentence in stated)
        return words["statements"].format(supported=supported, total=len(stated))

    @property
    def weakest_support(self) -> float:
        """Of what is stated; an answer that states nothing has shown nothing."""
        return min((one.sentence.support for one in self.checked if one.sentence.states), default=0.5)


def check(question: str, draft: str, evidence: Sequence[Evidence]) -> LocalCheck:
    language = guess_language(question)
    checked = check_sentences(draft, evidence)
    parts = question_parts(question)
    stands_on = _cited_words(checked, evidence)
    faults = [
        *sentence_faults(checked, evidence, language),
        *_answer_faults(parts, draft, stands_on, checked, language),
        *_name_faults(question, checked, evidence, language),
    ]
    return LocalCheck(language, checked, faults[:MOST_SUGGESTIONS], len(parts))


class LocalReviewer:
    """Needs no model, and gives the same review of the same draft every time."""

    @property
    def model(self) -> str:
        return ""

    def review(self, task: ReviewTask) -> Review:
        found = check(task.question, task.draft, task.evidence)
        failed = {fault.dimension for fault in found.faults}
        return Review(
            passed=not failed,
            suggestions=[fault.suggestion for fault in found.faults],
            outcome="failed" if failed else "passed",
            reasonableness=Dimension(passed="reasonableness" not in failed, detail=found.detail("reasonableness")),
            evidence=Dimension(passed="evidence" not in failed, detail=found.detail("evidence")),
            confidence=max((fault.confidence for fault in found.faults), default=found.weakest_support),
        )


def _cited_words(checked: Sequence[CheckedSentence], evidence: Sequence[Evidence]) -> str:
    """The quotes that support the answer, and what stands above them: "24 days [1]" answers a question for leave."""
    cited = [citation for one in checked if one.sentence.supported for citation in one.sentence.citations]
    above = {at: (evidence[at].title, *evidence[at].headings) for at in {citation.number - 1 for citation in cited}}
    return "\n".join([*(citation.quote for citation in cited), *(line for lines in above.values() for line in lines)])


def _answer_faults(
    parts: list[str], draft: str, stands_on: str, checked: Sequence[CheckedSentence], language: Language
) -> Iterator[Fault]:
    """An answer that states nothing, unless it says that the documents are silent; else the parts it leaves open."""
    silent = SILENCE.search(without_marks(draft)) is not None
    if not silent and not any(one.sentence.states for one in checked):
        yield Fault("reasonableness", WORDS[language]["nothing"], 0.8, sure=True)
        return
    for part, confidence in _open_parts(parts, draft, stands_on, silent):
        yield Fault("reasonableness", WORDS[language]["open"].format(part=part), confidence)


def _name_faults(
    question: str, checked: Sequence[CheckedSentence], evidence: Sequence[Evidence], language: Language
) -> Iterator[Fault]:
    """What is cited speaks of another office than the one that is asked about. Beside an answer that cites the right
    one, a sentence may speak of another that it names. The other may be the same by another name: below "sure"."""
    cited = [(one.sentence, {citation.number - 1 for citation in one.sentence.citations}) for one in checked]
    cited = [(sentence, numbers) for sentence, numbers in cited if sentence.states and numbers]
    others = of_something_else(question, evidence) if cited else {}
    astray = [(sentence, numbers) for sentence, numbers in cited if numbers <= others.keys()]
    if len(astray) < len(cited):
        asked = names_in(question)
        astray = [one for one in astray if not other_names(f": {without_marks(one[0].text)}", asked)]
    for number in sorted({min(numbers) for _, numbers in astray}):
        names = ", ".join(name.text for name in others[number])
        title = " ".join(evidence[number].title.split())[:LONGEST_TITLE]
        text = WORDS[language]["astray"].format(names=names, number=number + 1, title=title)
        yield Fault("reasonableness", text, 0.6)


def _open_parts(parts: list[str], draft: str, stands_on: str, silent: bool) -> Iterator[tuple[str, float]]:
    """Words alone rarely show that a question was passed over, since a good answer need not repeat it: below one half.
    They do where the answer speaks to another part and shows no sign of the kind of thing that this one asks for."""
    answer = without_marks(draft)
    cuts: tuple[Language, ...] = ("zh", "ja")  # a short text of Han characters alone may be either
    given = {token for cut in cuts for token in content_tokens(f"{answer}\n{stands_on}", cut)}
    kinds = set(ANSWERS) if silent else kinds_answered(answer)
    shares = parts_addressed(parts, given, kinds)
    for part, share in shares.items():
        if share < ADDRESSED:
            kind_is_missing = kind_asked_for(part) not in {None, *kinds}
            beside_another = max(shares.values()) >= ADDRESSED
            yield part, 0.55 if kind_is_missing and beside_another else 0.4


WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "nothing": "The answer states nothing that could be checked: answer the question in full sentences, each with "
        "the mark of its evidence.",
        "open": "The question asks “{part}”, and the answer does not say: answer it from the evidence, or say that the "
        "documents do not.",
        "astray": "The question is about “{names}”, but the cited [{number}] (“{title}”) does not speak of it: answer "
        "from evidence that does, or say that the documents do not.",
        "parts": "{addressed} of {total} parts of the question are addressed.",
        "statements": "{supported} of {total} statements are supported by the evidence they cite.",
    },
    "zh": {
        "nothing": "回答没有任何可以核对的陈述：请用完整的句子回答问题，并逐句标明证据。",
        "open": "问题问到“{part}”，回答没有涉及：请根据证据作答，或说明资料没有提及。",
        "astray": "问题问的是“{names}”，而所引的 [{number}]（“{title}”）说的不是它：请根据谈及“{names}”的证据作答，"
        "或说明资料没有提及。",
        "parts": "问题的 {total} 个部分中有 {addressed} 个得到回应。",
        "statements": "{total} 条陈述中有 {supported} 条得到所引证据的支持。",
    },
    "ja": {
        "nothing": "照合できる記述がありません。質問に文で答え、各文に根拠の記号を付けてください。",
        "open": "質問の「{part}」に答えていません。根拠に基づいて答えるか、資料に記載がないと述べてください。",
        "astray": "質問は「{names}」についてですが、引用した [{number}]（「{title}」）は別のものについての記述です。"
        "「{names}」についての根拠に基づいて答えるか、資料に記載がないと述べてください。",
        "parts": "質問の {total} 項目のうち {addressed} 項目に答えています。",
        "statements": "{total} 件の記述のうち {supported} 件が、引用した根拠に裏付けられています。",
    },
}
