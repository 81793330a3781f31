"""What a user may see: what is his own, and as an approver what is others'; drafts as the settings say."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from veracity.errors import NotFoundError
from veracity.models import Approval, Receipt, Role, User
from veracity.secrets import presentable
from veracity.settings import ServerSettings

ORDER: tuple[Role, ...] = ("asker", "approver", "admin")
WHOLE = {"run": re.compile(r"\d{8}-\d{6}-[a-z0-9]{6}"), "approval": re.compile(r"\d{8}-\d{6}-[a-z0-9]{6}\.\d{1,6}")}
GONE_OUT = ("answered", "abstained", "rejected")  # what was rejected for good is shown, with a notice (SPEC D7)


def reaches(user: User, role: Role) -> bool:
    return ORDER.index(user.role) >= ORDER.index(role)


def may_see(user: User, owner: str) -> bool:
    return user.name == owner or reaches(user, "approver")


def require_sight(user: User, owner: str, what: str, name: str) -> None:
    """What is somebody else's is not there."""
    if not may_see(user, owner):
        raise NotFoundError(f'There is no {what} "{presentable(name)}".')


def whole(name: str, what: Literal["run", "approval"]) -> str:
    """At the command line the beginning of an id will do; here it would tell of what is others'."""
    if not WHOLE[what].fullmatch(name):
        raise NotFoundError(f'There is no {what} "{presentable(name)}".')
    return name


def sees_drafts(user: User, settings: ServerSettings) -> bool:
    return settings.drafts == "everyone" or reaches(user, "approver")


def without_drafts(data: dict[str, Any]) -> dict[str, Any] | None:
    """An event of a run for who may not see drafts. None: not at all."""
    if data["kind"] == "draft":
        return None
    return {**data, "step": {**data["step"], "texts": {}}} if data["kind"] == "finished" else data


def receipt_without_drafts(receipt: Receipt) -> Receipt:
    """While nothing has gone out. What has was examined, and may be seen with all that led to it."""
    if receipt.run.status in GONE_OUT:
        return receipt
    steps = [step.model_copy(update={"texts": {}}) for step in receipt.steps]
    hidden: dict[str, Any] = {"drafts": [], "scorings": [], "approvals": [], "answer": None}
    return receipt.model_copy(update={**hidden, "steps": steps})


def approval_without_draft(approval: Approval) -> Approval:
    hidden: dict[str, Any] = {
        "text": "",
        "sentences": [],
        "evidence": [],
        "missing": [],
        "review": None,
        "evaluation": None,
    }
    return approval.model_copy(update={"draft": approval.draft.model_copy(update=hidden)})


T = TypeVar("T")

PLACES = ("location", "origin")  # fields that hold a path, or an address
SENTENCES = ("problem", "failed", "outcome", "warnings", "notices")  # fields whose words may name one
ABSOLUTE = re.compile(r"(?i)[/\\]|[a-z]:[/\\]|file:")
# In a sentence: up to what may end it. Neither "and/or" nor an address on the web is one.
BEGINS = r"(?<![\w.…/\\])(?:[A-Za-z]:)?(?:/|\\\\?)(?=[^\s/\\])"
ON = r"[^\"'“”「」\n,;:()，；：。（）]*"
# A folder may hold what may end a path: it goes on where the next slash begins no other path.
HELD = r"(?:[,;:()，；：（）]|(?<=\w)'(?=\w))[^\"“”「」\n。/\\]*(?<=[^\s,;:(，；：（])(?=[/\\][^\s/\\])"
NAMED = re.compile(f"{BEGINS}{ON}(?:{HELD}{ON})*", re.ASCII)


def shown(value: T, user: User) -> T:
    """As this user may see it."""
    return value if reaches(user, "admin") else _walked(value, "")


def shown_sentence(sentence: str, user: User | None) -> str:
    """None: nobody knows who it is."""
    return sentence if user and reaches(user, "admin") else _without_paths(sentence)


def _walked(value: Any, name: str) -> Any:
    """`name` is that of the field it stands in."""
    if isinstance(value, str):
        return _shortened(value, name)
    if isinstance(value, list):
        return [_walked(one, name) for one in value]
    if isinstance(value, dict):
        return {key: _walked(one, _below(name, key)) for key, one in value.items()}
    if isinstance(value, BaseModel):
        return value.model_copy(update={key: _walked(one, _below(name, key)) for key, one in value})
    return value


def _below(name: str, key: str) -> str:
    return name if name == "notices" else key


def _shortened(text: str, name: str) -> str:
    if name in PLACES and ABSOLUTE.match(text):
        return _end_of(text, least=1)
    return _without_paths(text) if name in SENTENCES else text


def _without_paths(sentence: str) -> str:
    return NAMED.sub(lambda found: _end_of(found[0], least=2), sentence)


def _end_of(path: str, least: int) -> str:
    """Its last two parts, and never the first of several."""
    parts = [part for part in re.split(r"[/\\]+", path) if part]
    if len(parts) < least:
        return path
    return "…/" + "/".join(parts[-2:] if len(parts) > 2 else parts[-1:])
