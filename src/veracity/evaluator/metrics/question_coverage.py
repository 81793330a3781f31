"""Are all parts of the question addressed? Judged by words: the part's own, and those of the kind it asks for."""

from collections import Counter

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import shown
from veracity.language import content_tokens, guess_language, sentences
from veracity.models import EvaluationRequest, MetricScore
from veracity.questions import kind_asked_for, kinds_answered, question_parts, terms_of

ENOUGH = 0.6  # the share of a part's words that an answer need repeat: a good answer does not echo the question
KIND_SHARE = 0.4  # what the presence of the kind asked for (a date, a person, …) counts beside the words
ADDRESSED = 0.5


class QuestionCoverage(BaseMetric):
    """Are all parts of the question addressed? Judged by words, by a local check."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        words = WORDS[guess_language(request.submission)]
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, words["nothing"])
        answer = "\n".join(one.text for one in sentences(request.submission) if not one.text.endswith(("?", "？")))
        given, kinds = set(content_tokens(answer)), kinds_answered(answer)
        found = {part: _addressed(part, terms, given, kinds) for part, terms in _own_terms(parts).items()}
        missed = [f"“{part}”" for part, share in found.items() if share < ADDRESSED]
        comment = words["count"].format(addressed=len(parts) - len(missed), total=len(parts))
        if missed:
            comment += words["missed"].format(missed=shown(missed, words["and"]))
        return self.score(100 * sum(found.values()) / len(parts), comment)


def _own_terms(parts: list[str]) -> dict[str, set[str]]:
    """The words that tell each part from the others; all of its words where none do."""
    terms = {part: terms_of(part) for part in parts}
    count = Counter(term for of_part in terms.values() for term in of_part)
    return {part: {term for term in of_part if count[term] == 1} or of_part for part, of_part in terms.items()}


def _addressed(part: str, terms: set[str], given: set[str], kinds: set[str]) -> float:
    """How far the part's own words, and the kind of thing it asks for, stand in the answer: 0 to 1."""
    share = min(1.0, len(terms & given) / len(terms) / ENOUGH) if terms else 0.0
    kind = kind_asked_for(part)
    return share if kind is None else KIND_SHARE * (kind in kinds) + (1 - KIND_SHARE) * share


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
