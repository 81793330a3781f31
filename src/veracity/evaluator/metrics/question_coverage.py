"""Are all parts of the question addressed? Judged by words: the part's own, and those of the kind it asks for."""

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import shown
from veracity.language import content_tokens, guess_language, sentences
from veracity.models import EvaluationRequest, MetricScore
from veracity.questions import ADDRESSED, kinds_answered, parts_addressed, question_parts


class QuestionCoverage(BaseMetric):
    """Are all parts of the question addressed? Judged by words, by a local check."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        words = WORDS[guess_language(request.submission)]
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, words["nothing"])
        answer = "\n".join(one.text for one in sentences(request.submission) if not one.text.endswith(("?", "？")))
        given, kinds = set(content_tokens(answer)), kinds_answered(answer)
        found = parts_addressed(parts, given, kinds)
        missed = [f"“{part}”" for part, share in found.items() if share < ADDRESSED]
        comment = words["count"].format(addressed=len(parts) - len(missed), total=len(parts))
        if missed:
            comment += words["missed"].format(missed=shown(missed, words["and"]))
        return self.score(100 * sum(found.values()) / len(parts), comment)


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
