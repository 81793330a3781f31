"""What a person says to a draft that waits (SPEC D6)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

Verdict = Literal["approve", "reject"]


class Decision(BaseModel):
    """`edit` is the text that was put in the draft's place by whoever approved it."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    by: str
    at: datetime
    attempt: int = 1
    reason: str = ""
    edit: str | None = None
