"""Printing for people. Text that models or files wrote is shown as text: no markup, no control characters."""

from __future__ import annotations

import os
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veracity.printable import visible

UNBROKEN = 10_000  # columns of what no terminal shows: what reads it looks for whole lines
NARROW = 100  # columns: tables leave out what can be done without


def made_console() -> Console:
    made = Console(highlight=False, soft_wrap=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = UNBROKEN
    return made


console = made_console()


def plain(text: object, style: str = "") -> Text:
    return Text(visible(text), style=style)


def table(*columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> Table:
    """What stands in the `whole` columns is never broken into lines, so that it can be copied."""
    made = Table(show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        side: Literal["left", "right"] = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", vertical="top", no_wrap=column in whole)
    return made


def is_narrow() -> bool:
    return console.width < NARROW


def ending(text: str, most: int) -> str:
    """The end of it, on at most so many columns: of a path that is what tells files apart."""
    if cell_len(text) <= most:
        return text
    while cell_len(text) >= most:
        text = text[1:]
    return f"…{text}"


def tell_limit(shown: int, limit: int) -> None:
    if shown == limit:
        console.print(plain(f"\nThe latest {limit:,} are shown: -n N shows more.", "dim"))


def score_style(score: float) -> str:
    return "green" if score >= 75 else "yellow" if score >= 50 else "red"


def score_text(score: float) -> Text:
    return Text(f"{score:.1f}", style=score_style(score))
