"""Where files lie on this machine, kept from whoever does not run it: of a path the end is left, to tell files apart.

Knows nothing about routes, nor about where files are. The ledger and the log keep paths whole.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import BaseModel

from veracity.models import User
from veracity.server.standing import reaches

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
