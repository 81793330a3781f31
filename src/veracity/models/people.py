"""Users of a workspace and their feedback on answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

Role = Literal["asker", "approver", "admin"]
Thumb = Literal["up", "down"]
LOCAL = "local"  # the user at the command line
EXPERIMENT_PREFIX = "experiment:"  # of the users whose runs are cases of an experiment; nobody can log in as one


def experiment_user(name: str) -> str:
    return f"{EXPERIMENT_PREFIX}{name}"


def is_experiment(user: str) -> bool:
    """Whether its runs are cases of an experiment: nothing is learned from them, and nobody is asked about them."""
    return user.startswith(EXPERIMENT_PREFIX)


class User(BaseModel):
    """An asker sees their own questions and answers, an approver also sees and decides on other users' drafts, an admin
    also changes documents and manages users. `last_seen` is accurate to the hour."""

    model_config = ConfigDict(frozen=True)

    name: str
    role: Role
    created: datetime
    last_seen: datetime | None = None


class Feedback(BaseModel):
    """A user's rating of an answer. A later one by the same user replaces it."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    by: str
    thumb: Thumb
    why: str = ""
    at: datetime


class Traffic(BaseModel):
    """Of users of several servers: the requests that they have `spent` of those that a minute allows, and the streams
    that are open on other servers than this one."""

    model_config = ConfigDict(frozen=True)

    spent: dict[str, float] = {}
    streams_elsewhere: dict[str, int] = {}


class Member(BaseModel):
    """A server or a worker that shares the ledger. `configuration` is a hash of its settings, metrics and prompts."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: Literal["server", "worker"]
    host: str
    configuration: str
    started: datetime
    seen: datetime
