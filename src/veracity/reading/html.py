"""HTML: the main text of a page, or all its visible text where the main text cannot be told apart.

Parses only: nothing is fetched, no entity is resolved. Knows nothing about where the page comes from.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]

from veracity.reading.base import Reading, as_title, failed, skipped, tidy
from veracity.reading.encodings import decode
from veracity.reading.text import first_heading


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


SHORT_PAGE = 600  # characters; so short a page is taken whole
LEAST_SHARE = 0.3  # of the visible text, below which the main text was not found

_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_DECLARED_XML = re.compile(rb"\A\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]{2,40})")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_EMPHASIS = ("b", "strong", "em", "i", "u", "s", "del", "ins", "mark", "small", "font", "code", "kbd", "samp", "tt")


def page_text(content: bytes) -> str:
    """The page decoded, its own word on its encoding heard."""
    found = _DECLARED.search(content, 0, 4_096) or _DECLARED_XML.match(content)
    return decode(content, found[1].decode("ascii") if found else "")


def read(text: str, name: str) -> Reading:
    tree = _parsed(text)
    title = _title(tree)
    remove_hidden(tree)
    whole = _core(tree)
    if not whole:
        raise skipped("it holds no text")
    main = _main_text(tree) if len(whole) >= SHORT_PAGE else ""
    found = main if len(main) >= LEAST_SHARE * len(whole) else whole
    return Reading(found, title or first_heading(found), "html", markdown=True)


def _parsed(text: str) -> Any:
    parser = html.HTMLParser(no_network=True, huge_tree=True, remove_pis=True)
    try:
        tree = html.document_fromstring(_XML_DECLARATION.sub("", text), parser=parser)
    except etree.ParserError:
        raise skipped("it holds no text") from None
    except (etree.LxmlError, ValueError) as problem:
        raise failed(f"it is damaged: {problem}") from None
    for element in tree.iter(etree.Element):
        if element.tag.startswith("{") or ":" in element.tag:  # XHTML's names, and those of Office
            element.tag = element.tag.rpartition("}")[2].rpartition(":")[2] or "span"
    return tree


def _title(tree: Any) -> str:
    found = tree.find(".//title")
    named = tree.xpath("string(//meta[@property='og:title']/@content)")
    return as_title(found.text_content() if found is not None else "") or as_title(str(named))


def _core(tree: Any) -> str:
    """All visible text; without what stands around it, unless there is nothing else."""
    inner = copy.deepcopy(tree)
    remove_around(inner)
    return tidy(visible_text(inner)) or tidy(visible_text(tree))


def _main_text(tree: Any) -> str:
    """Changes the tree. It is written out and parsed anew, since the gaps where parts were taken out slow a search."""
    etree.strip_tags(tree, *_EMPHASIS)
    _wrap_body(tree)
    found = trafilatura.extract(
        html.tostring(tree, encoding="unicode"),
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_formatting=True,
        favor_recall=True,
    )
    return tidy(found or "")


def _wrap_body(tree: Any) -> None:
    """Make the body of a page that has no article one: text that stands in the bare body would lose its headings."""
    body = tree.find("body")
    if body is None or tree.find(".//article") is not None or tree.find(".//main") is not None:
        return
    article = body.makeelement("article")
    article.text, body.text = body.text, None
    article.extend(list(body))
    body.append(article)
