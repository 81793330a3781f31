"""Running a command as a user does, and seeing what they see."""

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]
