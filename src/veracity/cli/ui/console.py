"""Printing for people: text that models or files wrote is shown without markup and control characters."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veracity.locales import choose_language
from veracity.models import Usage
from veracity.printable import visible

UNLIMITED_WIDTH = 10_000  # columns without a terminal: programs expect unbroken lines
NARROW_WIDTH = 100  # columns below which tables drop optional columns


def make_console() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNLIMITED_WIDTH
    return console


console = make_console()
error_console = Console(stderr=True, highlight=False)


def plain(text: object, style: str = "") -> Text:
    return Text(visible(text), style=style)


def table(*columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> Table:
    """`right` columns are right-aligned, `whole` ones never wrapped, so that they can be copied."""
    made = Table(show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        side: Literal["left", "right"] = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", vertical="top", no_wrap=column in whole)
    return made


def print_json(value: BaseModel | Iterable[BaseModel]) -> None:
    if isinstance(value, BaseModel):
        print(value.model_dump_json(indent=2))
    else:
        print(json.dumps([item.model_dump(mode="json") for item in value], ensure_ascii=False, indent=2))


def print_error(error: object) -> None:
    """In the form in which `main` prints an error before it exits."""
    error_console.print(plain(f"veracity: {one_line(error)}", "red"), soft_wrap=True)


def print_limit(count: int, limit: int) -> None:
    if count == limit:
        console.print(plain(f"\nShowing the latest {limit:,}; use -n N for more.", "dim"))


def is_interactive() -> bool:
    """Whether a person types the input and sees the output."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def is_narrow() -> bool:
    return console.width < NARROW_WIDTH


def reader_language() -> str:
    """The language of the terminal's locale, if there are texts for it."""
    variables = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return choose_language(next(filter(None, variables), ""))


def one_line(text: object) -> str:
    return " ".join(visible(text).split())


def shorten_start(text: str, width: int) -> str:
    """Cut a path at its start: its end tells files apart."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) >= width:
        text = text[1:]
    return f"…{text}"


def shown_path(path: str) -> str:
    """On one line, and relative if it is below the current directory."""
    return path.removeprefix(f"{Path.cwd()}{os.sep}").replace("\n", "�").replace("\t", "�")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_usage(usage: Usage) -> str:
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{count(usage.calls, 'call')}, {usage.input_tokens:,}{cached} + {usage.output_tokens:,} tokens, {cost}"


def score_style(score: float) -> str:
    return "green" if score >= 75 else "yellow" if score >= 50 else "red"


def score_text(score: float) -> Text:
    return Text(f"{score:.1f}", style=score_style(score))
