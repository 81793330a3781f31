"""Are all parts of the question addressed? Judged by words: the part's own, and those of the kind it asks for.

An answer need not repeat the question: where there is evidence, the words of the places that support it count as its
own. Knows nothing about whether the answer is right.
"""

from collections.abc import Iterator

from veracity.citations import without_marks
from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import indexed, shown, statements
from veracity.language import content_tokens, guess_language, sentences
from veracity.models import EvaluationRequest, MetricScore
from veracity.questions import kinds_answered, parts_addressed, question_parts

# Chosen so that few right answers, yet many that are beside the point, stay below what lets an answer go out unseen
# (`python -m benchmarks.gating`): every word of the question counts, the kind of thing it asks for three tenths.
ENOUGH = 1.0
KIND_SHARE = 0.3
ADDRESSED = 0.35  # less is told as not addressed


class QuestionCoverage(BaseMetric):
    """Are all parts of the question addressed? Judged by words, by a local check."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        words = WORDS[guess_language(request.submission)]
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, words["nothing"])
        answer = _said(request.submission)
        given = set(content_tokens("\n".join((answer, *_rests_on(request)))))
        found = parts_addressed(parts, given, kinds_answered(answer), ENOUGH, KIND_SHARE)
        missed = [f"“{part}”" for part, share in found.items() if share < ADDRESSED]
        comment = words["count"].format(addressed=len(parts) - len(missed), total=len(parts))
        if missed:
            comment += words["missed"].format(missed=shown(missed, words["and"]))
        return self.score(100 * sum(found.values()) / len(parts), comment)


def _said(submission: str) -> str:
    """Without questions, and without marks: the [1] of a citation is no amount."""
    said = (without_marks(one.text).strip() for one in sentences(submission))
    return "\n".join(one for one in said if not one.endswith(("?", "？")))


def _rests_on(request: EvaluationRequest) -> Iterator[str]:
    """The places in the evidence that support what the submission states."""
    if any(text.strip() for text in request.context):
        evidence = indexed(tuple(request.context))
        found = (evidence.support(sentence) for sentence in statements(request.submission))
        yield from (one.quote for one in found if one.supported)


WORDS = {
    "en": {
        "nothing": "The question holds no word to look for.",
        "count": "{addressed} of {total} parts of the question are addressed.",
        "missed": " Not addressed: {missed}.",
        "and": ", ",
    },
    "zh": {
        "nothing": "问题中没有可供核对的词。",
        "count": "问题的 {total} 个部分中有 {addressed} 个得到回应。",
        "missed": "未回应：{missed}。",
        "and": "、",
    },
    "ja": {
        "nothing": "質問に照合できる語がありません。",
        "count": "質問の {total} 項目のうち {addressed} 項目に答えています。",
        "missed": "答えていないもの：{missed}。",
        "and": "、",
    },
}
