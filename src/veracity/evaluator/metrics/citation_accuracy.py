"""Do the submission's `[n]` marks name evidence that exists and supports their sentences?"""

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding import EvidenceTexts
from veracity.grounding.statements import indexed, shown, statements
from veracity.language import guess_language
from veracity.language.citations import cited_numbers
from veracity.models import EvaluationRequest, MetricScore


class CitationAccuracy(BaseMetric):
    """Do the [n] marks resolve and support their statements? The share that do, by a local check.

    A statement without a mark counts as a fault: an answer that cites nothing scores 0, not 100.
    """

    needs_context = True

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        self.check(request)
        words = WORDS[guess_language(request.submission)]
        stated = statements(request.submission)
        if not stated:
            return self.score(0, words["nothing"])
        if not any(cited_numbers(sentence) for sentence in stated):
            return self.score(0, words["none"])
        evidence = indexed(tuple(request.context))
        found = [(sentence, *_checked(sentence, evidence, len(request.context))) for sentence in stated]
        faults = [words["fault"].format(sentence=sentence, why=words[fault]) for sentence, _, fault in found if fault]
        comment = words["count"].format(right=len(stated) - len(faults), total=len(stated))
        if faults:
            comment += words["faults"].format(faults=shown(faults, words["and"]))
        return self.score(100 * sum(credit for _, credit, _ in found) / len(stated), comment)


def _checked(sentence: str, evidence: EvidenceTexts, texts: int) -> tuple[float, str]:
    """How much of a sound citation this is (0 to 1), and what is wrong with it."""
    numbers = cited_numbers(sentence)
    known = [number - 1 for number in numbers if 1 <= number <= texts]
    if not numbers:
        return 0.0, "uncited"
    if not known:
        return 0.0, "unresolved"
    if not evidence.support(sentence, known).supported:
        return 0.0, "unsupported"
    return len(known) / len(numbers), "" if len(known) == len(numbers) else "unresolved"


WORDS = {
    "en": {
        "nothing": "The submission states nothing that could be held against the evidence.",
        "fault": "“{sentence}” ({why})",
        "none": "No statement carries a citation mark such as [1], so nothing can be traced to the evidence.",
        "count": "{right} of {total} statements carry citations that resolve and support them.",
        "faults": " Faults: {faults}.",
        "uncited": "no citation",
        "unresolved": "cites evidence that does not exist",
        "unsupported": "the cited evidence does not support it",
        "and": ", ",
    },
    "zh": {
        "nothing": "该回答没有任何可以用证据核对的陈述。",
        "fault": "“{sentence}”（{why}）",
        "none": "没有任何陈述带有 [1] 这样的引用标记，无法追溯到证据。",
        "count": "{total} 条陈述中有 {right} 条的引用存在且支持该陈述。",
        "faults": "问题：{faults}。",
        "uncited": "没有引用",
        "unresolved": "引用了不存在的证据",
        "unsupported": "所引证据不支持",
        "and": "、",
    },
    "ja": {
        "nothing": "根拠と照合できる記述がありません。",
        "fault": "“{sentence}”（{why}）",
        "none": "[1] のような引用記号を持つ記述がなく、根拠をたどれません。",
        "count": "{total} 件の記述のうち {right} 件は、引用が実在し内容を支持しています。",
        "faults": "問題：{faults}。",
        "uncited": "引用なし",
        "unresolved": "存在しない根拠を引用",
        "unsupported": "引用した根拠が支持しない",
        "and": "、",
    },
}
