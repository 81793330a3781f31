"""Does a sentence of the submission answer the question? Judged by the bundled answer reader."""

from math import exp

from veracity.evaluator.metrics.base import BaseMetric
from veracity.grounding.statements import list_findings
from veracity.language import guess_language, sentences
from veracity.language.citations import without_marks
from veracity.language.questions import question_parts
from veracity.locales import section_texts
from veracity.models import EvaluationRequest, MetricScore

MAX_SENTENCES = 24
PER_PASSAGE = 8  # the reader sees this many sentences at once
# From the reader's score of a single sentence to a probability (`python -m benchmarks.answers.sentences`).
BIAS, FACTOR = 3.24, 0.89


class AnswersQuestion(BaseMetric):
    """Does a sentence answer each part of the question? Judged by the bundled answer reader."""

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        texts = section_texts(guess_language(request.submission), "metrics")
        parts = question_parts(request.user_query)
        if not parts:
            return self.score(0, texts["empty_question"])
        stated = [text for sentence in sentences(request.submission) if (text := without_marks(sentence.text).strip())]
        if not stated:
            return self.score(0, texts["nothing_stated"])
        best = [_best_answer(part, stated[:MAX_SENTENCES]) for part in parts]
        found = [
            texts["answer_probability"].format(part=part, percent=f"{100 * probability:.0f}", sentence=sentence)
            for part, (probability, sentence) in zip(parts, best, strict=True)
        ]
        score = 100 * sum(probability for probability, _ in best) / len(best)
        return self.score(score, list_findings(found, texts["separator"]))


def _best_answer(part: str, stated: list[str]) -> tuple[float, str]:
    """The probability that a sentence answers, and that sentence."""
    from veracity.answer_reader import Passage  # noqa: PLC0415 - other metrics need no model
    from veracity.answer_reader.bundled import BundledReader  # noqa: PLC0415 - loads onnxruntime

    groups = [stated[start : start + PER_PASSAGE] for start in range(0, len(stated), PER_PASSAGE)]
    found = BundledReader().read(part, [Passage("", [("prose", text) for text in group]) for group in groups])
    scores = [score for group in found for score in group]
    best = max(scores)
    return 1 / (1 + exp(-BIAS - FACTOR * best)), stated[scores.index(best)]
