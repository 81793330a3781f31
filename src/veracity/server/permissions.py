"""Permissions: users see their own resources, approvers see everyone's; settings decide who sees drafts."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from veracity.errors import NotFoundError
from veracity.models import Approval, Receipt, Role, User
from veracity.secrets import presentable
from veracity.settings import ServerSettings

ROLES_ASCENDING: tuple[Role, ...] = ("asker", "approver", "admin")
FULL_IDS = {
    "run": re.compile(r"\d{8}-\d{6}-[a-z0-9]{6}"),
    "approval": re.compile(r"\d{8}-\d{6}-[a-z0-9]{6}\.\d{1,6}"),
}
RELEASED_STATUSES = ("answered", "abstained", "rejected")  # the receipt shows a rejected draft (SPEC D7)

SHORTENED = "…/"
PATH_FIELDS = ("location", "origin", "only", "suite_file")
SENTENCE_FIELDS = ("problem", "failed", "outcome", "warnings", "notices")  # their text may quote a path
_ABSOLUTE = re.compile(r"(?i)[/\\]|[a-z]:[/\\]|file:")
# A path in a sentence ends at punctuation. "and/or" and web addresses do not start one.
_START = r"(?<![\w.…/\\])(?:[A-Za-z]:)?(?:/|\\\\?)(?=[^\s/\\])"
_PART = r"[^\"'“”「」\n,;:()，；：。（）]*"
# Folder names may contain such punctuation: the path continues if a slash follows that starts no other path.
_MORE = r"(?:[,;:()，；：（）]|(?<=\w)'(?=\w))[^\"“”「」\n。/\\]*(?<=[^\s,;:(，；：（])(?=[/\\][^\s/\\])"
_PATH_IN_SENTENCE = re.compile(f"{_START}{_PART}(?:{_MORE}{_PART})*", re.ASCII)

T = TypeVar("T")


def has_role(user: User, role: Role) -> bool:
    """Whether the user has this role or a higher one."""
    return ROLES_ASCENDING.index(user.role) >= ROLES_ASCENDING.index(role)


def can_see(user: User, owner: str) -> bool:
    return user.name == owner or has_role(user, "approver")


def can_see_drafts(user: User, settings: ServerSettings) -> bool:
    return settings.drafts == "everyone" or has_role(user, "approver")


def require_visible(user: User, owner: str, kind: str, name: str) -> None:
    """Other users' resources are reported as 404, not 403."""
    if not can_see(user, owner):
        raise NotFoundError(f'There is no {kind} "{presentable(name)}".')


def require_full_id(name: str, kind: Literal["run", "approval"]) -> str:
    """The command line accepts id prefixes; here they would reveal other users' ids."""
    if not FULL_IDS[kind].fullmatch(name):
        raise NotFoundError(f'There is no {kind} "{presentable(name)}".')
    return name


def hide_event_drafts(data: dict[str, Any]) -> dict[str, Any] | None:
    """A run's event for users who may not see drafts; None if the event is a draft."""
    if data["kind"] == "draft":
        return None
    return {**data, "step": data["step"].hide_texts()} if "step" in data else data


def redact_receipt(receipt: Receipt, user: User, settings: ServerSettings) -> Receipt:
    """Shortens paths, and hides drafts from users who may not see them until the run has released an answer."""
    if not can_see_drafts(user, settings) and receipt.run.status not in RELEASED_STATUSES:
        hidden: dict[str, Any] = {"drafts": [], "scorings": [], "approvals": [], "calls": [], "answer": None}
        steps = [step.hide_texts() for step in receipt.steps]
        receipt = receipt.model_copy(update={**hidden, "steps": steps})
    return redact_paths(receipt, user)


def hide_approval_draft(approval: Approval) -> Approval:
    lists: dict[str, Any] = {"sentences": [], "evidence": [], "missing": [], "grounding": []}
    hidden = {**lists, "text": "", "review": None, "evaluation": None}
    return approval.model_copy(update={"draft": approval.draft.model_copy(update=hidden)})


def limit_patterns(only: list[str], user: User) -> list[str]:
    """Patterns for documents. Those of others than admins match only what `redact_paths` shows of a path."""
    if has_role(user, "admin"):
        return only
    return [f"{SHORTENED}{pattern.removeprefix(SHORTENED)}" for pattern in only]


def redact_paths(value: T, user: User) -> T:
    """Shortens file system paths in a response, unless the user is an admin."""
    return value if has_role(user, "admin") else _redact(value, "")


def redact_paths_in_text(text: str, user: User | None) -> str:
    """The same for an error message. `user` is None before authentication."""
    return text if user and has_role(user, "admin") else _shorten_paths(text)


def _redact(value: Any, field: str) -> Any:
    """`field` is the name of the field that holds the value; everything below "notices" is a sentence."""
    if isinstance(value, str):
        if field in PATH_FIELDS and _ABSOLUTE.match(value):
            return _shorten(value, min_parts=1)
        return _shorten_paths(value) if field in SENTENCE_FIELDS else value
    if isinstance(value, list):
        return [_redact(item, field) for item in value]
    if isinstance(value, dict):
        return {key: _redact(item, field if field == "notices" else key) for key, item in value.items()}
    if isinstance(value, BaseModel):
        fields = [(key, item) for key, item in value if key in value.model_fields_set]
        return value.model_copy(update=_redact(dict(fields), field))
    return value


def _shorten_paths(sentence: str) -> str:
    return _PATH_IN_SENTENCE.sub(lambda match: _shorten(match[0], min_parts=2), sentence)


def _shorten(path: str, min_parts: int) -> str:
    """Keeps the last two parts, but never the first of several."""
    parts = [part for part in re.split(r"[/\\]+", path) if part]
    if len(parts) < min_parts:
        return path
    return SHORTENED + "/".join(parts[-2:] if len(parts) > 2 else parts[-1:])
