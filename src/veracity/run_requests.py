"""Turns the arguments of `Veracity.ask` into the parameters of a new run."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict

from veracity.assembly import Assembly
from veracity.errors import InputError
from veracity.inputs import MAX_DEADLINE_SECONDS, MAX_REWRITES, check_question, check_texts, require_text
from veracity.knowledge.document_filter import check_patterns
from veracity.models import LOCAL, RunParameters
from veracity.models.people import is_experiment
from veracity.printable import encodable
from veracity.secrets import presentable

RUN_ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # without characters that look alike


class RunOptions(TypedDict, total=False):
    """The options of `Veracity.ask`."""

    conversation: str
    user: str
    max_rewrites: int | None
    deadline: float | None
    only: str | Sequence[str]


def make_run(
    parts: Assembly,
    question: str,
    *,
    conversation: str = "",
    user: str = LOCAL,
    max_rewrites: int | None = None,
    deadline: float | None = None,
    only: str | Sequence[str] = (),
) -> RunParameters:
    """Raises `InputError` for an argument out of range, and if the workspace has no documents."""
    settings = parts.settings
    rewrites = settings.quality.max_rewrites if max_rewrites is None else max_rewrites
    seconds = settings.answering.run_deadline if deadline is None else deadline
    question = check_question(question)
    if not isinstance(rewrites, int) or not 0 <= rewrites <= MAX_REWRITES:
        raise InputError(f"max_rewrites must be between 0 and {MAX_REWRITES}, not {rewrites}.")
    if not isinstance(seconds, int | float) or not 0 < seconds <= MAX_DEADLINE_SECONDS:
        raise InputError(f"deadline must be more than 0 and at most {MAX_DEADLINE_SECONDS} seconds, not {seconds}.")
    require_text(user, "The user")
    require_text(conversation, "The conversation")
    if is_experiment(user):
        raise InputError(f'A user must not be called "{presentable(user)}": that is for the cases of experiments.')
    parts.require_workspace()
    if not parts.library.store.languages():
        raise InputError("The workspace has no documents yet: add some with veracity ingest PATH.", "no_documents")
    return RunParameters(
        run_id=new_run_id(),
        question=question,
        user=user,
        conversation=conversation,
        max_rewrites=rewrites,
        deadline=seconds,
        only=check_only(parts, only),
    )


def check_only(parts: Assembly, only: str | Sequence[str]) -> tuple[str, ...]:
    """The paths and patterns as they are stored. Raises `InputError` for one that matches no document."""
    texts = check_texts(only, "paths and patterns")
    patterns = check_patterns([encodable(parts.uploads.locations.location_of(text)) for text in texts])
    for pattern, text in zip(patterns, texts, strict=True):
        if not parts.documents.has_document(pattern):
            message = f'No document matches "{presentable(text)}": run "veracity documents" to list them.'
            raise InputError(message, "no_match", name=presentable(text))
    return patterns


def new_run_id() -> str:
    """A random id that starts with the time, so that ids sort by it."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(RUN_ID_ALPHABET) for _ in range(6))}"
