"""Are all parts of the question addressed? Judged by words: the part's own, and those of the kind it asks for.

An answer need not repeat the question: where there is evidence, the words of the places that support it count as its
own. A name that the question is about must stand in the answer or in what supports it, above all in its title: Dublin's
rule is no answer for Osaka. Knows nothing about whether the answer is right.
"""

from collections.abc import Iterator, Sequence

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import indexed, shown, statements
from veracity.grounding.support import Support
from veracity.language import content_tokens, guess_language, sentences
from veracity.language.citations import without_marks
from veracity.language.names import Name, names_in, other_names
from veracity.language.questions import kinds_answered, parts_addressed, question_parts
from veracity.models import EvaluationRequest, MetricScore

# Chosen so that few right answers, yet many that are beside the point, stay below what lets an answer go out unseen
# (`python -m benchmarks.gating`): every word of the question counts, the kind of thing it asks for three tenths.
ENOUGH = 1.0
KIND_SHARE = 0.3
ADDRESSED = 0.35  # less is told as not addressed
OF_SOMETHING_ELSE = 0.25  # no more for a good answer on something else: with the usual weights it does not pass
LONGEST_HEAD = 300  # characters of a first line that is title and headings


class QuestionCoverage(BaseMetric):
    """Are all parts of the question addressed? Judged by words, by a local check."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        words = WORDS[guess_language(request.submission)]
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, words["nothing"])
        answer = _said(request.submission)
        rests_on = list(_rests_on(request))
        given = set(content_tokens("\n".join((answer, *(place.quote for _, place in rests_on)))))
        found = parts_addressed(parts, given, kinds_answered(answer), ENOUGH, KIND_SHARE)
        missed = [f"“{part}”" for part, share in found.items() if share < ADDRESSED]
        comment = words["count"].format(addressed=len(parts) - len(missed), total=len(parts))
        if missed:
            comment += words["missed"].format(missed=shown(missed, words["and"]))
        share = sum(found.values()) / len(parts)
        if lacked := _lacked(names_in(request.user_query), answer, rests_on, request.context):
            comment += words["lacked"].format(names=shown([f"“{name.text}”" for name in lacked], words["and"]))
            share = min(share, OF_SOMETHING_ELSE)
        return self.score(100 * share, comment)


def _said(submission: str) -> str:
    """Without questions, and without marks: the [1] of a citation is no amount."""
    said = (without_marks(one.text).strip() for one in sentences(submission))
    return "\n".join(one for one in said if not one.endswith(("?", "？")))


def _rests_on(request: EvaluationRequest) -> Iterator[tuple[str, Support]]:
    """What the submission states, with the places in the evidence that support it."""
    if any(text.strip() for text in request.context):
        evidence = indexed(tuple(request.context))
        found = ((sentence, evidence.support(sentence)) for sentence in statements(request.submission))
        yield from ((sentence, one) for sentence, one in found if one.supported)


def _lacked(
    asked: list[Name], answer: str, rests_on: Sequence[tuple[str, Support]], context: Sequence[str]
) -> list[Name]:
    """Names of the question that neither the answer nor what it rests on knows, other places of the same document
    included; all of them where a statement rests on something that is headed otherwise, and does not say so."""
    if not asked or not rests_on:
        return []
    titles = {_title(context[place.source]) for _, place in rests_on} - {""}
    known = [context[place.source] for _, place in rests_on] + [text for text in context if _title(text) in titles]
    lacked = [name for name in asked if not any(name.stands_in(text) for text in (answer, *known))]
    if not lacked and any(_is_astray(sentence, context[place.source], asked) for sentence, place in rests_on):
        return asked
    return lacked


def _is_astray(sentence: str, text: str, asked: list[Name]) -> bool:
    others = other_names(_head(text), asked)
    named = any(name.stands_in(text) or name.stands_in(sentence) for name in asked)
    return bool(others) and not named and not any(other.stands_in(sentence) for other in others)


def _head(text: str) -> str:
    """The line above a text that holds its title and headings."""
    first, _, rest = text.partition("\n")
    return first if rest.strip() and len(first) <= LONGEST_HEAD and not first.rstrip().endswith(STOPS) else ""


def _title(text: str) -> str:
    return _head(text).split(" › ")[0]


STOPS = tuple(".!?。！？,，、;；")
WORDS = {
    "en": {
        "nothing": "The question holds no word to look for.",
        "count": "{addressed} of {total} parts of the question are addressed.",
        "missed": " Not addressed: {missed}.",
        "lacked": " What it rests on does not speak of {names}.",
        "and": ", ",
    },
    "zh": {
        "nothing": "问题中没有可供核对的词。",
        "count": "问题的 {total} 个部分中有 {addressed} 个得到回应。",
        "missed": "未回应：{missed}。",
        "lacked": "所依据的内容没有谈及{names}。",
        "and": "、",
    },
    "ja": {
        "nothing": "質問に照合できる語がありません。",
        "count": "質問の {total} 項目のうち {addressed} 項目に答えています。",
        "missed": "答えていないもの：{missed}。",
        "lacked": "根拠は{names}について述べていません。",
        "and": "、",
    },
}
