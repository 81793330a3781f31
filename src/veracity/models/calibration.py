"""A calibrated threshold of the gate: what it promises, and under which conditions."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class Certificate(BaseModel):
    """Of the answers with at least this score, at most `risk` are wrong, with this confidence. `labels` and `wrong` are
    the decisions that show it, after thinning."""

    model_config = ConfigDict(frozen=True)

    threshold: float = Field(ge=0, le=1, allow_inf_nan=False)
    risk: float
    confidence: float
    labels: int
    wrong: int


class Statement(BaseModel):
    """What `veracity calibrate` found. `conditions` are hashes of the metrics and the names of the models, `mix` the
    share of each language among the labels. A `withdrawn` statement says why it no longer holds.

    `languages` are the certificates of languages with enough labels. With `separate`, the gate uses their thresholds,
    and that of `certificate` for all other languages; else they are for information.
    """

    model_config = ConfigDict(frozen=True)

    certificate: Certificate
    languages: dict[str, Certificate] = {}
    separate: bool = Field(default=False, description="whether the languages have thresholds of their own")
    mix: dict[str, float] = Field(default={}, description="share of each language among the decisions")
    conditions: dict[str, str]
    created: datetime
    withdrawn: str = ""

    @property
    def problem(self) -> str:
        """Why it no longer holds, in a sentence; empty if it does."""
        if not self.withdrawn:
            return ""
        return f"The calibration of the threshold was withdrawn ({self.withdrawn}): veracity calibrate."

    @property
    def sentence(self) -> str:
        """The promise in words."""
        own = self.certificate
        return (
            f"At most {100 * own.risk:g} % of the answers that are released unseen, with a score of at least "
            f"{self._thresholds}, are wrong ({100 * own.confidence:g} % sure, {own.labels} decisions)."
        )

    @property
    def _thresholds(self) -> str:
        if not self.separate:
            return f"{self.certificate.threshold:g}"
        named = [f"{own.threshold:g} in {language}" for language, own in self.languages.items()]
        return ", ".join([*named, f"{self.certificate.threshold:g} in other languages"])
