"""Questions that are sent again: the run that is there is followed, and no other one begun.

A client names a question by a key of its own. OpenAI's clients name nothing and only say that they try again: then it
is the run of the same question, if it is there still or has just ended. Knows nothing about HTTP.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from veracity.engine import Veracity
from veracity.errors import BusyLedgerError
from veracity.ledger.rows.users import conversation_name
from veracity.models import RunProgress, User
from veracity.printable import encodable
from veracity.secrets import presentable
from veracity.server.errors import RefusedError

JUST_NOW = timedelta(seconds=60)
ALIKE = 5  # runs of the same question that are looked at
UNNAMED = re.compile(r"chat-[0-9a-f]{16}")
_turns = [threading.Lock() for _ in range(64)]  # by caller: two that come at once would both find nothing there


def begun_once(
    engine: Veracity, caller: User, key: str, question: str, conversation: str, begin: Callable[[], str]
) -> str:
    """The run that the caller began under the key, perhaps at another server at this moment; where there is none, or no
    key, what `begin` begins or finds. An empty `conversation` is any."""
    with _turns[hash(caller.name) % len(_turns)]:
        known = engine.asked(user=caller.name, key=key) if key else None
        if known is None:
            try:
                return begin()
            except BusyLedgerError:
                known = engine.asked(user=caller.name, key=key) if key else None
                if known is None:
                    raise
    is_elsewhere = bool(conversation) and known.conversation != conversation_name(conversation)
    if is_elsewhere or known.question != encodable(question.strip()):
        told = f'Another question was asked under the key "{presentable(key)}": each needs a key of its own.'
        raise RefusedError(422, "KeyInUse", told)
    return known.run_id


def new_conversation() -> str:
    """For a client that names none."""
    return f"chat-{secrets.token_hex(8)}"


def tried_before(engine: Veracity, caller: User, question: str, conversation: str) -> str:
    """The run of an attempt that the client has given up. Without a conversation, the first of one that nobody
    named. Empty where there is none."""
    for run in engine.runs_asking(question, user=caller.name, limit=ALIKE):
        is_there = run.conversation == conversation if conversation else _is_first(engine, caller, run.conversation)
        if is_there and _is_recent(engine.progress(run.run_id)):
            return run.run_id
    return ""


def _is_first(engine: Veracity, caller: User, conversation: str) -> bool:
    return bool(UNNAMED.fullmatch(conversation)) and len(engine.turns(conversation, user=caller.name, limit=2)) == 1


def _is_recent(known: RunProgress) -> bool:
    if known.run.status == "running":
        return True
    ended = [step.started + timedelta(seconds=step.seconds) for step in known.steps]
    return datetime.now(UTC) - max([known.run.started, *ended]) < JUST_NOW
