"""Do the submission's `[n]` marks cite evidence that exists and supports their statements?"""

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding import EvidenceTexts
from veracity.grounding.statements import index_evidence, list_findings, statements
from veracity.language import guess_language
from veracity.language.citations import cited_numbers
from veracity.locales import section_texts
from veracity.models import EvaluationRequest, MetricScore


class CitationAccuracy(BaseMetric):
    """Do the [n] marks resolve and support their statements? The share that do, by a local check.

    A statement without a mark counts as a fault: an answer without citations scores 0, not 100. A statement that is
    supported but also cites evidence that does not exist counts in part.
    """

    needs_context = True

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        self.check(request)
        texts = section_texts(guess_language(request.submission), "metrics")
        stated = statements(request.submission)
        if not stated:
            return self.score(0, texts["nothing_stated"])
        if not any(cited_numbers(sentence) for sentence in stated):
            return self.score(0, texts["no_citations"])
        evidence = index_evidence(tuple(request.context))
        checked = [(sentence, *_check_citations(sentence, evidence, len(request.context))) for sentence in stated]
        faults = [
            texts["citation_fault"].format(sentence=sentence, why=texts[fault])
            for sentence, _, fault in checked
            if fault
        ]
        comment = texts["citation_count"].format(right=len(stated) - len(faults), total=len(stated))
        if partly := sum(0 < credit < 1 for _, credit, _ in checked):
            comment += texts["citation_partly"].format(count=partly)
        if faults:
            comment += texts["citation_faults"].format(faults=list_findings(faults, texts["separator"]))
        return self.score(100 * sum(credit for _, credit, _ in checked) / len(stated), comment)


def _check_citations(sentence: str, evidence: EvidenceTexts, texts: int) -> tuple[float, str]:
    """The credit for the sentence's citations (0 to 1), and the fault, if any."""
    numbers = cited_numbers(sentence)
    resolved = [number - 1 for number in numbers if 1 <= number <= texts]
    if not numbers:
        return 0.0, "uncited"
    if not resolved:
        return 0.0, "unresolved"
    if not evidence.support(sentence, resolved).supported:
        return 0.0, "unsupported"
    return len(resolved) / len(numbers), "" if len(resolved) == len(numbers) else "unresolved"
