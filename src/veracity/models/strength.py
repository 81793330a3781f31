"""One scale for evidence, relevance, confidence and scores: a word first, then a number from 0 to 100.

The page has the same words (`server/static/lib/strength.js`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.locales import text
from veracity.models.evaluation import points
from veracity.models.evidence import Grade

Strength = Literal["weak", "fair", "strong"]
Tone = Literal["good", "fair", "bad", ""]

GRADES: dict[Grade, Strength] = {"low": "weak", "medium": "fair", "high": "strong"}
TONES: dict[Strength, Tone] = {"weak": "bad", "fair": "fair", "strong": "good"}
FAIR_SCORE = 2 / 3  # of the threshold


class Scale(BaseModel):
    """The shares from which a value is fair and strong; below, it is weak."""

    model_config = ConfigDict(frozen=True)

    fair: float
    strong: float

    @classmethod
    def of_score(cls, threshold: float) -> Scale:
        """For scores: strong is what needs no approval."""
        return cls(fair=FAIR_SCORE * threshold, strong=threshold)

    def of_check(self, floor: float) -> Scale:
        """For a local check, which is fair from its floor on."""
        return Scale(fair=floor, strong=max(floor, self.strong))

    def rate(self, share: float) -> Strength:
        return "strong" if share >= self.strong else "fair" if share >= self.fair else "weak"

    def points(self, share: float) -> int:
        """From 0 to 100, never rounded up to a limit that the share does not reach."""
        return points(share, self.fair if share < self.fair else self.strong)

    def describe(self, share: float, language: str) -> str:
        """For example "weak (31)"."""
        word = text(language, "strength", self.rate(share))
        return text(language, "strength", "shown", word=word, points=self.points(share))


class Scales(BaseModel):
    """By the settings in force."""

    model_config = ConfigDict(frozen=True)

    evidence: Scale
    relevance: Scale
    confidence: Scale
    score: Scale

    def with_threshold(self, threshold: float) -> Scales:
        """For scores that were compared with another threshold than that of the settings."""
        return self.model_copy(update={"score": Scale.of_score(threshold)})
