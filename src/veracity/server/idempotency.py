"""Repeated questions: a question that is sent again follows its existing run instead of starting another.

Clients identify a question by an idempotency key. OpenAI's clients send no key but mark retries: for those it is the
run of the same question that is still running or has just ended.
"""

from __future__ import annotations

import re
import secrets
import threading
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from veracity.engine import Veracity
from veracity.errors import BusyLedgerError
from veracity.models import RunProgress, User
from veracity.printable import encodable
from veracity.secrets import presentable
from veracity.server.errors import RefusedError

RETRY_WINDOW = timedelta(seconds=60)  # after a run's end
STOPPED = "Stopped by "  # the problem of a stopped run: its client may have been gone for a while
MAX_CANDIDATES = 5  # runs of the same question to check for a retry
GENERATED_NAME = re.compile(r"chat-[0-9a-f]{16}")
_locks = [threading.Lock() for _ in range(64)]  # by user: concurrent requests would both find no run


def start_once(
    engine: Veracity, user: User, key: str, question: str, conversation: str, start: Callable[[], str]
) -> str:
    """Returns the run that the user started under this key, else calls `start`. Raises 422 if the key was used for
    another question. An empty `conversation` matches any."""
    with _locks[hash(user.name) % len(_locks)]:
        run = engine.asked(user=user.name, key=key) if key else None
        if run is None:
            try:
                return start()
            except BusyLedgerError:  # perhaps because another server started it under the same key just now
                run = engine.asked(user=user.name, key=key) if key else None
                if run is None:
                    raise
    is_elsewhere = bool(conversation) and run.conversation != unicodedata.normalize("NFC", conversation)
    if is_elsewhere or run.question != encodable(question.strip()):
        message = f'The key "{presentable(key)}" was used for another question: use a new key for each question.'
        raise RefusedError(422, "KeyInUse", message)
    return run.run_id


def generate_conversation_name() -> str:
    return f"chat-{secrets.token_hex(8)}"


def find_retried_run(engine: Veracity, user: User, question: str, conversation: str) -> str:
    """The run that a retry repeats, or "". Without a conversation, only the first turn of an unnamed one matches."""
    for run in engine.runs_asking(question, user=user.name, limit=MAX_CANDIDATES):
        is_same = run.conversation == conversation if conversation else _is_first_turn(engine, user, run.conversation)
        was_stopped = run.status == "failed" and run.problem.startswith(STOPPED)
        if is_same and not was_stopped and _is_recent(engine.progress(run.run_id)):
            return run.run_id
    return ""


def _is_first_turn(engine: Veracity, user: User, conversation: str) -> bool:
    return (
        bool(GENERATED_NAME.fullmatch(conversation)) and len(engine.turns(conversation, user=user.name, limit=2)) == 1
    )


def _is_recent(progress: RunProgress) -> bool:
    if progress.run.status == "running":
        return True
    ends = [step.started + timedelta(seconds=step.seconds) for step in progress.steps]
    return datetime.now(UTC) - max([progress.run.started, *ends]) < RETRY_WINDOW
