"""Are the submission's sentences supported by the evidence it was given?"""

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding import Support
from veracity.grounding.statements import indexed, shown, statements
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
        evidence = indexed(tuple(request.context))
        found = [(sentence, evidence.support(sentence)) for sentence in stated]
        faults = [_told(sentence, support, words) for sentence, support in found if not support.supported]
        supported = len(stated) - len(faults)
        comment = words["count"].format(supported=supported, total=len(stated))
        if faults:
            comment += words["faults"].format(faults=shown(faults, words["and"]))
        return self.score(100 * supported / len(stated), comment)


def _told(sentence: str, support: Support, words: dict[str, str]) -> str:
    """The sentence, and what is wrong with it: first what the evidence says otherwise, then what it does not say."""
    for reason, parts in (("contradicted", support.contradicted), ("missing", support.missing)):
        if parts:
            return f"“{sentence}”" + words[reason].format(parts=words["and"].join(parts[:5]))
    return f"“{sentence}”"


WORDS = {
    "en": {
        "nothing": "The submission states nothing that could be held against the evidence.",
        "count": "{supported} of {total} statements are supported by the evidence.",
        "faults": " Not supported: {faults}.",
        "contradicted": " (contradicted by the evidence: {parts})",
        "missing": " (not found: {parts})",
        "and": ", ",
    },
    "zh": {
        "nothing": "该回答没有任何可以用证据核对的陈述。",
        "count": "{total} 条陈述中有 {supported} 条得到证据支持。",
        "faults": "未获支持：{faults}。",
        "contradicted": "（与证据不符：{parts}）",
        "missing": "（未找到：{parts}）",
        "and": "、",
    },
    "ja": {
        "nothing": "根拠と照合できる記述がありません。",
        "count": "{total} 件の記述のうち {supported} 件が根拠に支持されています。",
        "faults": "支持されないもの：{faults}。",
        "contradicted": "（根拠と食い違う：{parts}）",
        "missing": "（見つからない：{parts}）",
        "and": "、",
    },
}
