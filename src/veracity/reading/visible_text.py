"""The visible text of HTML, as Markdown: headings, list items, table rows. Parses only, fetches nothing."""

import re
from typing import Any

from lxml import etree, html  # type: ignore[import-untyped]

from veracity.reading.base import BLOCK_TAGS, Unreadable, failed, skipped, tags

_INVISIBLE_TAGS = tags(
    "script style noscript template head title meta link svg math iframe object embed canvas audio video map "
    "datalist dialog"
)
_SPACED_BLOCKS = tags("p blockquote h1 h2 h3 h4 h5 h6 table ul ol dl pre article section figure")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")


def parse_html(text: str) -> Any:
    parser = html.HTMLParser(no_network=True, huge_tree=True, remove_pis=True)
    try:
        tree = html.document_fromstring(_XML_DECLARATION.sub("", text), parser=parser)
    except etree.ParserError:
        raise skipped("it holds no text") from None
    except (etree.LxmlError, ValueError) as problem:
        raise failed(f"it is damaged: {problem}") from None
    for element in tree.iter(etree.Element):
        if element.tag.startswith("{") or ":" in element.tag:  # namespaces of XHTML and Office
            element.tag = element.tag.rpartition("}")[2].rpartition(":")[2] or "span"
    return tree


def is_hidden(element: Any) -> bool:
    """True if a browser does not show the element: by its tag, an attribute, or an inline style."""
    if not isinstance(element.tag, str):  # a comment or a processing instruction
        return True
    return (
        element.tag in _INVISIBLE_TAGS
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or (element.tag == "input" and element.get("type") == "hidden")
        or _HIDING_STYLE.search(element.get("style") or "") is not None
    )


def fragment_text(markup: str) -> str:
    """The visible text of a piece of HTML; empty if it has none."""
    try:
        return visible_text(parse_html(markup))
    except Unreadable:
        return ""


def visible_text(tree: Any) -> str:
    page = _PageText()
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


class _PageText:
    """Collects lines. A table row is one line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._row_depth = 0
        self._pre_depth = 0
        self._row_cells: list[str] = []  # the tags of the cells of the current row
        self._is_first_row = True

    def open(self, element: Any) -> None:
        tag = element.tag
        if tag in BLOCK_TAGS or tag == "br":
            self._end_line(empty_after=tag in _SPACED_BLOCKS)
        self._row_depth += tag == "tr"
        self._is_first_row |= tag == "table" and not self._row_depth
        self._pre_depth += tag == "pre"
        if tag in _HEADINGS and not self._row_depth:
            self._line.append(_HEADINGS[tag])
        elif tag == "li" and not self._row_depth:
            self._line.append("- ")
        elif tag in ("td", "th"):
            self._line.append(" | ")
            self._row_cells.append(tag)
        self.add(element.get("alt") if tag == "img" else element.text)

    def close(self, element: Any) -> None:
        tag = element.tag
        if tag == "tr":
            self._row_depth -= 1
            self._line.append(" |")
        if tag in BLOCK_TAGS:
            self._end_line(empty_after=tag in _SPACED_BLOCKS)
        if tag == "tr" and not self._row_depth:
            self._end_row()
        self._pre_depth -= tag == "pre"

    def add(self, text: str | None) -> None:
        if not text:
            return
        if self._pre_depth and not self._row_depth:
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

    def _end_row(self) -> None:
        """Add the rule that marks a first row of header cells as the header of the table."""
        if self._is_first_row and set(self._row_cells) == {"th"} and self._lines and self._lines[-1]:
            self._lines.append(f"|{' --- |' * len(self._row_cells)}")
        self._is_first_row, self._row_cells = False, []

    def _end_line(self, empty_after: bool) -> None:
        if self._row_depth:
            self._line.append(" ")
            return
        line = "".join(self._line)
        shown = line.rstrip() if self._pre_depth else _SPACE.sub(" ", line).strip()
        if shown.strip("|#- "):
            self._lines.append(shown)
        self._line = []
        if empty_after and self._lines and self._lines[-1]:
            self._lines.append("")
