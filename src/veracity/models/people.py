"""Who uses a workspace together, and what they say of answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

Role = Literal["asker", "approver", "admin"]
Thumb = Literal["up", "down"]
LOCAL = "local"  # whoever is at the command line


class User(BaseModel):
    """An asker asks and sees what is his own. An approver also sees and decides on the drafts of others. An admin also
    changes the documents. `last_seen` is true to the hour."""

    model_config = ConfigDict(frozen=True)

    name: str
    role: Role
    created: datetime
    last_seen: datetime | None = None


class Feedback(BaseModel):
    """What somebody says of an answer. A new word of the same person takes the place of the last one."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    by: str
    thumb: Thumb
    why: str = ""
    at: datetime
