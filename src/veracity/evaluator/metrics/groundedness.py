"""Are the submission's sentences supported by the evidence it was given?"""

from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.statements import shown, statements
from veracity.grounding import EvidenceTexts, Support
from veracity.language import guess_language
from veracity.models import EvaluationRequest, MetricScore


class Groundedness(BaseMetric):
    """Are the submission's statements supported by the context? Their supported share, by a local check."""

    needs_context = True

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        self.check(request)
        words = WORDS[guess_language(request.submission)]
        stated = statements(request.submission)
        if not stated:
            return self.score(0, words["nothing"])
        evidence = EvidenceTexts(request.context)
        found = [(sentence, evidence.support(sentence)) for sentence in stated]
        faults = [_told(sentence, support, words) for sentence, support in found if not support.supported]
        supported = len(stated) - len(faults)
        comment = words["count"].format(supported=supported, total=len(stated))
        if faults:
            comment += words["faults"].format(faults=shown(faults, words["and"]))
        return self.score(100 * supported / len(stated), comment)


def _told(sentence: str, support: Support, words: dict[str, str]) -> str:
    missing = words["and"].join(support.missing[:5])
    return f"“{sentence}”" + (words["missing"].format(missing=missing) if missing else "")


WORDS = {
    "en": {
        "nothing": "The submission states nothing that could be held against the evidence.",
        "count": "{supported} of {total} statements are supported by the evidence.",
        "faults": " Not supported: {faults}.",
        "missing": " (not found: {missing})",
        "and": ", ",
    },
    "zh": {
        "nothing": "该回答没有任何可以用证据核对的陈述。",
        "count": "{total} 条陈述中有 {supported} 条得到证据支持。",
        "faults": "未获支持：{faults}。",
        "missing": "（未找到：{missing}）",
        "and": "、",
    },
    "ja": {
        "nothing": "根拠と照合できる記述がありません。",
        "count": "{total} 件の記述のうち {supported} 件が根拠に支持されています。",
        "faults": "支持されないもの：{faults}。",
        "missing": "（見つからない：{missing}）",
        "and": "、",
    },
}
