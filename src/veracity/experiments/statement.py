"""The statement of a calibrated threshold: kept in the workspace, and withdrawn when what it relies on has changed."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from veracity.errors import ConfigurationError, InputError, VeracityError, reason_of
from veracity.models.calibration import Statement
from veracity.settings import ApprovalSettings, Settings
from veracity.settings.toml import read_bytes
from veracity.workspace import Workspace, hash_parts

log = logging.getLogger("veracity")

FILE = "calibration.json"
CONDITIONS = ("writer", "reviewer", "judge", "embedder")  # the models that a statement relies on
MAX_SHIFT = 0.2  # of the languages: the share of answers that would have to change their language


def find_conditions(workspace: Workspace, settings: Settings) -> dict[str, str]:
    """What a statement relies on: the models that write, review and judge, and the metrics."""
    models = {role: str(getattr(settings.models, role) or "") for role in CONDITIONS}
    parts, approval = hash_parts(workspace, settings), settings.approval
    gate = f"{approval.policy} {approval.on_failed_review} {approval.grounding_floor:g}"
    return {**models, "metrics": parts["metrics"], "prompts": parts["prompts"], "other checks of the gate": gate}


def read_statement(workspace: Workspace, settings: Settings) -> Statement | None:
    """The statement, marked as withdrawn if a condition has changed. None without one."""
    content = read_bytes(workspace.root / FILE)
    if content is None:
        return None
    try:
        statement = Statement.model_validate_json(content)
    except ValidationError:
        raise ConfigurationError(f"{workspace.root / FILE} is not a statement: run veracity calibrate again.") from None
    if statement.withdrawn:
        return statement
    now = find_conditions(workspace, settings)
    changed = [name for name, value in now.items() if statement.conditions.get(name) != value]
    return statement.model_copy(update={"withdrawn": f"changed since: {', '.join(changed)}"}) if changed else statement


def write_statement(root: Path, statement: Statement) -> Path:
    """Raises `InputError` if the workspace cannot be written."""
    file = root / FILE
    try:
        partial = file.with_suffix(".part")
        partial.write_text(statement.model_dump_json(indent=2), encoding="utf-8")
        partial.replace(file)
    except OSError as problem:
        raise InputError(f"{file} cannot be written ({reason_of(problem)}).") from None
    return file


class CalibratedSettings:
    """Settings whose threshold is that of the statement in force. Without one, the default counts, or a withdrawn
    threshold that is higher.

    Follows the statement and what it relies on, by content (ADR 3), so that a server needs no restart. Thread-safe.
    """

    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        self._workspace, self._given = workspace, settings
        self._lock = threading.Lock()
        self._last: tuple[float, dict[str, float], str] | None = None
        self.settings = settings
        self.refresh()

    def refresh(self) -> Settings:
        """Read the statement again. A threshold that has changed is logged."""
        with self._lock:
            found = threshold, languages, problem = self._find_thresholds()
            if found != self._last:
                self._log(threshold, problem)
                approval = self._given.approval.with_thresholds(threshold, languages)
                self._last, self.settings = found, self._given.model_copy(update={"approval": approval})
            return self.settings

    def _find_thresholds(self) -> tuple[float, dict[str, float], str]:
        """The threshold, those of languages, and why they are not those of a statement in force."""
        default = float(ApprovalSettings().threshold)
        try:
            statement = read_statement(self._workspace, self._given)
        except VeracityError as problem:  # veracity calibrate writes it again
            return default, {}, f"cannot be read ({problem})"
        if statement is None:
            return default, {}, "does not exist"
        lowest = default if statement.withdrawn else 0.0
        own = max(lowest, statement.certificate.threshold)
        named = statement.languages if statement.separate else {}
        languages = {language: max(lowest, certificate.threshold) for language, certificate in named.items()}
        return own, languages, f"was withdrawn ({statement.withdrawn})" if statement.withdrawn else ""

    def _log(self, threshold: float, problem: str) -> None:
        if problem:
            log.warning(
                'approval.threshold is "calibrated", but the statement %s: %g is in force. Run veracity calibrate.',
                problem,
                threshold,
            )
        elif self._last:
            log.info("The calibrated threshold %g is in force.", threshold)


def language_mix(languages: Iterable[str]) -> dict[str, float]:
    counts = Counter(languages)
    return {language: count / counts.total() for language, count in sorted(counts.items())}


def with_current_mix(statement: Statement, languages: Sequence[str]) -> Statement:
    """The statement, withdrawn if the languages of recent questions are others than those of the decisions."""
    moved = _shift(statement.mix, language_mix(languages)) if languages else 0.0
    if statement.withdrawn or moved <= MAX_SHIFT:
        return statement
    return statement.model_copy(update={"withdrawn": f"the languages of the questions have changed ({moved:.0%})"})


def _shift(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """The share of answers that would have to change their language to make both mixes equal."""
    return sum(abs(before.get(name, 0.0) - after.get(name, 0.0)) for name in {*before, *after}) / 2
