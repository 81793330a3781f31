"""The metrics that score answers, for who wants to look at them or to try them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veracity.assembly import Assembly
from veracity.deadlines import Deadline
from veracity.inputs import listed_texts, require_text
from veracity.models import LOCAL, EvaluationRequest, EvaluationResult
from veracity.providers.texts import encodable

if TYPE_CHECKING:
    from veracity.evaluator.describing import EvaluatorDescription


class Scoring(Assembly):
    """A part of Veracity."""

    def describe_metrics(self) -> EvaluatorDescription:
        """The metrics there are, and which of them score the answers of runs."""
        self._require_workspace()
        return self._gate.describe()

    def evaluate(
        self,
        question: str,
        answer: str,
        context: str | Sequence[str] = (),
        *,
        metrics: str | Sequence[str] | None = None,
        user: str = LOCAL,
    ) -> EvaluationResult:
        """Score an answer as those of runs are scored, or by the `metrics` of these names, in equal parts. `context` is
        the evidence it was given, in the order in which [1], [2], … name it."""
        passages, chosen = listed_texts(context, "passages of the context"), listed_texts(metrics or (), "metrics")
        for text, what in ((question, "A question"), (answer, "An answer"), (user, "A user")):
            require_text(text, what)
        self._require_workspace()
        gate = self._gate
        request = EvaluationRequest(
            user_query=encodable(question),
            submission=encodable(answer),
            team_id=user,
            context=[encodable(text) for text in passages],
            config=gate.choose(chosen) if chosen else None,
        )
        return gate.evaluate(request, deadline=Deadline.within(self._settings.answering.run_deadline))
