"""HTML elements out of hostile text: whatever is not an element made here is text, and stays text.

Knows nothing about what the elements mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TypeAlias

from veracity.printable import visible

VOID = frozenset(("meta", "br"))


class Safe(str):
    """HTML that was made here."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | bool | None"


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Safe:
    """`tag("p", "a < b", class_="x")`: children that are no elements are escaped, None is left out."""
    head = "".join([name, *(_attribute(key, value) for key, value in attributes.items())])
    return Safe(f"<{head}>" if name in VOID else f"<{head}>{''.join(_rendered(children))}</{name}>")


def joined(*children: Child) -> Safe:
    return Safe("".join(_rendered(children)))


def text(value: object) -> Safe:
    return Safe(escape(visible(str(value).replace("\r\n", "\n"))))


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(value)}"'


def _rendered(children: Iterable[Child]) -> Iterator[str]:
    for child in children:
        if isinstance(child, Safe):
            yield child
        elif isinstance(child, str):
            yield text(child)
        elif child is not None:
            yield from _rendered(child)
