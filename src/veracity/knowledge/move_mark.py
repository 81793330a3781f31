"""A mark beside documents or uploads that were moved to another place, or that are not yet complete there."""

import json
from typing import Literal, Protocol, get_args

from veracity.errors import ConfigurationError
from veracity.settings.store import MoveState, explain_move

MARK = ".relocation"


class Marked(Protocol):
    def content(self, name: str) -> bytes | None: ...


def require_here(location: Marked, setting: Literal["knowledge", "uploads"]) -> None:
    """Raise `ConfigurationError` if the location is marked."""
    mark = read_mark(location)
    if mark is not None:
        raise ConfigurationError(explain_move(setting, *mark))


def read_mark(location: Marked) -> tuple[MoveState, str] | None:
    """The state and where it was moved to, or comes from."""
    content = location.content(MARK)
    if content is None:
        return None
    try:
        state, place = json.loads(content)
    except (ValueError, TypeError):
        return None
    return (state, str(place)) if state in get_args(MoveState) else None


def encode_mark(state: MoveState, place: str) -> bytes:
    return json.dumps([state, place]).encode()
