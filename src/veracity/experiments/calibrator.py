"""Calibrates the gate of a workspace from the decisions in its ledger, and keeps the statement that results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veracity.experiments.conditions import Conditions
from veracity.experiments.decisions import CalibrationReport, calibrate
from veracity.experiments.statement import read_statement, with_current_mix, write_statement
from veracity.ledger import Ledger
from veracity.models import Approval
from veracity.models.calibration import Statement

MAX_DECISIONS = 100_000
RECENT_RUNS = 500  # whose languages are compared with those of the decisions


@dataclass(frozen=True, slots=True)
class Calibrator:
    """`ledger` is None for a workspace in which nothing was asked."""

    conditions: Conditions
    ledger: Ledger | None

    def calibrate(
        self, *, risk: float = 0.05, confidence: float = 0.95, separate: bool = False, write: bool = True
    ) -> CalibrationReport:
        """Find the lowest threshold of the gate that keeps a promise: of the answers released unseen, at most `risk`
        are wrong, with this confidence. Uses the decisions on audited and held answers that were made and scored as
        now. With `separate`, languages with enough decisions have thresholds of their own.

        With `write`, a promise that can be made is kept in the workspace. It counts if `approval.threshold` is
        "calibrated".
        """
        approvals = self.ledger.approvals(MAX_DECISIONS, None, "any") if self.ledger else []
        own = self.conditions
        labels = self._made_as_now(approvals)
        report = calibrate(labels, own.workspace, own.settings, risk, confidence, separate=separate)
        if write:
            self._keep(report.statement)
        return report

    def _keep(self, statement: Statement | None) -> None:
        """Write the statement to the workspace. A promise that can no longer be made withdraws the last one."""
        last = self.statement() if statement is None else None
        if last and not last.withdrawn:
            statement = last.model_copy(update={"withdrawn": "the decisions no longer show it"})
        if statement:
            write_statement(self.conditions.workspace.root, statement)

    def statement(self) -> Statement | None:
        """The statement of the last calibration, marked as withdrawn if what it relies on has changed: models, metrics,
        or the languages of the questions."""
        statement = read_statement(self.conditions.workspace, self.conditions.settings)
        if statement is None or statement.withdrawn or self.ledger is None:
            return statement
        current = with_current_mix(statement, self.ledger.recent_languages(RECENT_RUNS))
        if current.withdrawn:  # so that the next process does not use it
            write_statement(self.conditions.workspace.root, current)
        return current

    def _made_as_now(self, approvals: Sequence[Approval]) -> list[Approval]:
        """Those whose answer was written, reviewed and scored by the models and metrics in use now."""
        used, own = self.conditions.metrics_in_use(), self.conditions.settings.models
        roles = {"writer": own.writer or "extractive", "reviewer": own.reviewer or "local checks"}

        def is_same(approval: Approval) -> bool:
            assert self.ledger is not None
            evaluation, made = approval.draft.evaluation, self.ledger.models(approval.run_id)
            scored = {(score.metric_name, score.model) for score in evaluation.metrics} if evaluation else set()
            return scored == used and all(made.get(role) == model for role, model in roles.items())

        return [approval for approval in approvals if is_same(approval)]
