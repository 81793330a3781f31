"""What people's decisions say about the gate: labels of released and held answers, and the threshold they certify."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict

from veracity.errors import InputError
from veracity.experiments.calibration import Calibration, Label, calibrate_languages
from veracity.experiments.calibration import calibrate as find_threshold
from veracity.experiments.statement import find_conditions, language_mix
from veracity.models import Approval
from veracity.models.calibration import Certificate, Statement
from veracity.settings import Settings
from veracity.workspace import Workspace

# Reasons that the threshold decides about. Answers that wait for another reason wait whatever the threshold.
COUNTED = ("audit", "low_score", "policy")

LEAST = 0.0001  # risk, or doubt


class CalibrationReport(BaseModel):
    """`statement` is None if the risk cannot be certified; `calibration` is then that of `language`, or of all answers.
    `undecided` labels count as wrong."""

    model_config = ConfigDict(frozen=True)

    calibration: Calibration
    statement: Statement | None
    undecided: int
    audited: int
    risk: float
    confidence: float
    language: str | None = None

    @property
    def sentence(self) -> str:
        found = self.calibration
        if self.statement:
            return self.statement.sentence
        if found.labels < found.needed:
            hint = "" if self.audited else ": set approval.audit, so that people check some of what is released"
            return f"Not enough labels{self._where}: {found.labels} of at least {found.needed}{hint}."
        return (
            f"A risk of {100 * self.risk:g} % cannot be certified{self._where} with {found.labels} decisions: the "
            f"smallest that can be is {100 * found.smallest_risk:.1f} %."
        )

    @property
    def _where(self) -> str:
        return "" if self.language is None else f" in {self.language or 'other languages'}"


def labels_of(approvals: Iterable[Approval]) -> list[Label]:
    """A rejected or edited answer is wrong. One that is not decided counts as wrong: leaving it out would hide it."""
    return [
        Label(
            score=approval.draft.score,
            wrong=approval.state != "approved" or bool(approval.decision and approval.decision.edit is not None),
            inclusion=approval.inclusion,
            language=approval.draft.language,
        )
        for approval in approvals
        if approval.draft.score is not None
    ]


def calibrate(
    approvals: Sequence[Approval],
    workspace: Workspace,
    settings: Settings,
    risk: float,
    confidence: float,
    *,
    separate: bool = False,
) -> CalibrationReport:
    """With `separate`, languages with enough labels have thresholds of their own. Raises `InputError` for a risk or a
    confidence that is not between 0 and 1."""
    for name, value in (("risk", risk), ("confidence", confidence)):
        if not LEAST <= value <= 1 - LEAST:
            raise InputError(f"The {name} must be between {LEAST} and {1 - LEAST}, not {value:g}.")
    counted = [
        approval
        for approval in approvals
        if approval.why in COUNTED and approval.state != "superseded" and approval.draft.score is not None
    ]
    labels, threshold = labels_of(counted), settings.approval.threshold
    groups = calibrate_languages(labels, threshold, risk, confidence) if separate and labels else {}
    failed = next((name for name, group in groups.items() if group.certificate is None), None)
    found = groups[failed] if failed is not None else find_threshold(labels, threshold, risk, confidence)
    certificate = _join(groups, risk, confidence) if groups and failed is None else found.certificate
    statement = None
    if certificate:
        named = groups or _by_language(labels, threshold, risk, confidence)
        statement = Statement(
            certificate=certificate,
            languages={name: own.certificate for name, own in named.items() if name and own.certificate},
            separate=bool(groups),
            mix=language_mix(label.language for label in labels),
            conditions=find_conditions(workspace, settings),
            created=datetime.now(UTC),
        )
    return CalibrationReport(
        calibration=found,
        statement=statement,
        undecided=sum(approval.state in ("pending", "expired") for approval in counted),
        audited=sum(approval.why == "audit" for approval in counted),
        risk=risk,
        confidence=confidence,
        language=failed,
    )


def _by_language(labels: Sequence[Label], threshold: float, risk: float, confidence: float) -> dict[str, Calibration]:
    return {
        language: find_threshold([label for label in labels if label.language == language], threshold, risk, confidence)
        for language in sorted({label.language for label in labels})
    }


def _join(groups: Mapping[str, Calibration], risk: float, confidence: float) -> Certificate:
    """What all groups show together. Its threshold is that of the other languages; without labels in those, the highest
    of all, because nothing is known about them."""
    found = {name: group.certificate for name, group in groups.items() if group.certificate}
    highest = max(own.threshold for own in found.values())
    return Certificate(
        threshold=found[""].threshold if "" in found else highest,
        risk=risk,
        confidence=confidence,
        labels=sum(own.labels for own in found.values()),
        wrong=sum(own.wrong for own in found.values()),
    )
