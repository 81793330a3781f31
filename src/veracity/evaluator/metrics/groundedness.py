"""Are the submission's statements supported by the evidence?"""

from statistics import fmean

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding import Support
from veracity.grounding.statements import index_evidence, list_findings, statements
from veracity.language import guess_language
from veracity.locales import section_texts
from veracity.models import EvaluationRequest, MetricScore


class Groundedness(BaseMetric):
    """Are the submission's statements supported by the context? The mean support, by a local check."""

    needs_context = True

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        self.check(request)
        texts = section_texts(guess_language(request.submission), "metrics")
        stated = statements(request.submission)
        if not stated:
            return self.score(0, texts["nothing_stated"])
        evidence = index_evidence(tuple(request.context))
        supports = [(sentence, evidence.support(sentence)) for sentence in stated]
        faults = [_describe(sentence, support, texts) for sentence, support in supports if not support.supported]
        score = 100 * fmean(support.score for _, support in supports)
        counts = {"supported": len(stated) - len(faults), "total": len(stated), "mean": f"{score:.4g}"}
        comment = texts["supported_count"].format(**counts)
        if faults:
            comment += texts["unsupported_list"].format(faults=list_findings(faults, texts["separator"]))
        return self.score(score, comment)


def _describe(sentence: str, support: Support, texts: dict[str, str]) -> str:
    """The sentence and its fault: contradicted parts first, then missing ones."""
    for reason, parts in (("contradicted", support.contradicted), ("missing", support.missing)):
        if parts:
            return f"“{sentence}”" + texts[reason].format(parts=texts["separator"].join(parts[:5]))
    return f"“{sentence}”"
