"""Printing for people. Text that models or files wrote is shown as text: no markup, no control characters."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veracity.visible import visible

console = Console(highlight=False, soft_wrap=False)


def plain(text: object, style: str = "") -> Text:
    return Text(visible(text), style=style)


def table(*columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> Table:
    """What stands in the `whole` columns is never broken into lines, so that it can be copied."""
    made = Table(show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        side: Literal["left", "right"] = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", vertical="top", no_wrap=column in whole)
    return made


def tell_limit(shown: int, limit: int) -> None:
    if shown == limit:
        console.print(plain(f"\nThe latest {limit:,} are shown: -n N shows more.", "dim"))


def score_style(score: float) -> str:
    return "green" if score >= 75 else "yellow" if score >= 50 else "red"


def score_text(score: float) -> Text:
    return Text(f"{score:.1f}", style=score_style(score))
