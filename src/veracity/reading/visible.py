"""All the text of a web page that a reader would see, with headings, lists and tables as Markdown.

Walks the tree without recursion: pages nest as deeply as they like. Knows nothing about which part matters.
"""

from __future__ import annotations

import re
from typing import Any

from lxml import etree  # type: ignore[import-untyped]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_SHOWN = _names(
    "script style noscript template head title meta link svg math iframe object embed canvas audio video map "
    "datalist dialog"
)
AROUND = _names("nav footer aside")
_BLOCKS = _names(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr html legend li main menu nav ol option p pre section select summary table tbody tfoot thead tr ul "
    "caption center"
)
_SPACED = _names("p blockquote h1 h2 h3 h4 h5 h6 table ul ol dl pre article section figure")
_MARKED = "not-shown"
_CELLS = frozenset(("td", "th"))
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")


def is_hidden(element: Any) -> bool:
    """True for what a browser does not show: by its kind, by an attribute, or by a style of its own."""
    if not isinstance(element.tag, str):  # a comment or a processing instruction
        return True
    return (
        element.tag in NEVER_SHOWN
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or (element.tag == "input" and element.get("type") == "hidden")
        or _HIDING.search(element.get("style") or "") is not None
    )


def remove_hidden(tree: Any) -> None:
    """Take out of the page all that is not shown; the text that follows it stays."""
    for element in [one for one in tree.iterdescendants(etree.Element) if is_hidden(one)]:
        element.tag = _MARKED
    etree.strip_elements(tree, _MARKED, etree.Comment, etree.ProcessingInstruction, with_tail=False)


def remove_around(tree: Any) -> None:
    """Take out navigation, footers and asides."""
    etree.strip_elements(tree, *AROUND, with_tail=False)


def visible_text(tree: Any) -> str:
    page = _Page()
    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start":
            if is_hidden(element):
                walk.skip_subtree()
            else:
                page.open(element)
        elif event == "end" and not is_hidden(element):
            page.close(element)
        if event != "start" and element is not tree:
            page.add(element.tail)
    return page.text()


class _Page:
    """Collects lines. Inside of a table's row, all is one line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._rows = 0
        self._preformatted = 0

    def open(self, element: Any) -> None:
        tag = element.tag
        if tag in _BLOCKS or tag == "br":
            self._end_line(empty_after=tag in _SPACED)
        self._rows += tag == "tr"
        self._preformatted += tag == "pre"
        if tag in _HEADINGS and not self._rows:
            self._line.append(_HEADINGS[tag])
        elif tag == "li" and not self._rows:
            self._line.append("- ")
        elif tag in _CELLS:
            self._line.append(" | ")
        self.add(element.get("alt") if tag == "img" else element.text)

    def close(self, element: Any) -> None:
        tag = element.tag
        if tag == "tr":
            self._rows -= 1
            self._line.append(" |")
        if tag in _BLOCKS:
            self._end_line(empty_after=tag in _SPACED)
        self._preformatted -= tag == "pre"

    def add(self, text: str | None) -> None:
        if not text:
            return
        if self._preformatted and not self._rows:
            *whole, rest = text.split("\n")
            for line in whole:
                self._lines.append("".join([*self._line, line]))
                self._line = []
            self._line.append(rest)
        else:
            self._line.append(_SPACE.sub(" ", text))

    def text(self) -> str:
        self._end_line(empty_after=False)
        return "\n".join(self._lines).strip("\n")

    def _end_line(self, empty_after: bool) -> None:
        if self._rows:
            self._line.append(" ")
            return
        line = "".join(self._line)
        shown = line.rstrip() if self._preformatted else _SPACE.sub(" ", line).strip()
        if shown.strip("|#- "):
            self._lines.append(shown)
        self._line = []
        if empty_after and self._lines and self._lines[-1]:
            self._lines.append("")
