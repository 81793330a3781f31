"""HTML: the main text of a page, or all visible text if the main text cannot be told apart.

Parses only: fetches nothing and resolves no entities.
"""

import copy
import re
from typing import Any

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]

from veracity.reading.base import Reading, as_title, failed, skipped, tidy
from veracity.reading.encodings import decode
from veracity.reading.text import first_heading

MIN_LENGTH_FOR_MAIN_TEXT = 600  # characters; a shorter page is used whole
MIN_MAIN_TEXT_SHARE = 0.3  # of the visible text; below it the extraction has missed the main text


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_INVISIBLE_TAGS = _tags(
    "script style noscript template head title meta link svg math iframe object embed canvas audio video map "
    "datalist dialog"
)
_BLOCKS = _tags(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr html legend li main menu nav ol option p pre section select summary table tbody tfoot thead tr ul "
    "caption center"
)
_SPACED_BLOCKS = _tags("p blockquote h1 h2 h3 h4 h5 h6 table ul ol dl pre article section figure")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_EMPHASIS = ("b", "strong", "em", "i", "u", "s", "del", "ins", "mark", "small", "font", "code", "kbd", "samp", "tt")
_REMOVED = "not-shown"
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_DECLARED_XML = re.compile(rb"\A\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w:.-]{2,40})")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")


def read_html(content: bytes) -> Reading:
    text = _decode(content)
    if not text.strip():
        raise skipped("it is empty")
    tree = _parse(text)
    title = _title(tree)
    _remove_hidden(tree)
    whole = _visible_text_without_navigation(tree)
    if not whole:
        raise skipped("it holds no text")
    main = _main_text(tree) if len(whole) >= MIN_LENGTH_FOR_MAIN_TEXT else ""
    chosen = main if len(main) >= MIN_MAIN_TEXT_SHARE * len(whole) else whole
    return Reading(chosen, title or first_heading(chosen), "html", markdown=True)


def _decode(content: bytes) -> str:
    """Respects the encoding that the page declares."""
    declared = _DECLARED.search(content, 0, 4_096) or _DECLARED_XML.match(content)
    return decode(content, declared[1].decode("ascii") if declared else "")


def _parse(text: str) -> Any:
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


def _title(tree: Any) -> str:
    element = tree.find(".//title")
    og_title = tree.xpath("string(//meta[@property='og:title']/@content)")
    return as_title(element.text_content() if element is not None else "") or as_title(str(og_title))


def _remove_hidden(tree: Any) -> None:
    """Remove the elements that are not shown. The text after them stays."""
    for element in [element for element in tree.iterdescendants(etree.Element) if _is_hidden(element)]:
        element.tag = _REMOVED
    etree.strip_elements(tree, _REMOVED, etree.Comment, etree.ProcessingInstruction, with_tail=False)


def _is_hidden(element: Any) -> bool:
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


def _visible_text_without_navigation(tree: Any) -> str:
    """The visible text without navigation, footers and asides, unless the page has nothing else."""
    inner = copy.deepcopy(tree)
    etree.strip_elements(inner, "nav", "footer", "aside", with_tail=False)
    return tidy(_visible_text(inner)) or tidy(_visible_text(tree))


def _main_text(tree: Any) -> str:
    """Changes the tree. Serializes it for trafilatura, which is slow on a tree with removed elements."""
    etree.strip_tags(tree, *_EMPHASIS)
    _wrap_body(tree)
    markdown = trafilatura.extract(
        html.tostring(tree, encoding="unicode"),
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_formatting=True,
        favor_recall=True,
    )
    return tidy(markdown or "")


def _wrap_body(tree: Any) -> None:
    """Wrap the body in an article if the page has none: trafilatura drops headings directly in the body."""
    body = tree.find("body")
    if body is None or tree.find(".//article") is not None or tree.find(".//main") is not None:
        return
    article = body.makeelement("article")
    article.text, body.text = body.text, None
    article.extend(list(body))
    body.append(article)


def _visible_text(tree: Any) -> str:
    page = _PageText()
    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start":
            if _is_hidden(element):
                walk.skip_subtree()
            else:
                page.open(element)
        elif event == "end" and not _is_hidden(element):
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

    def open(self, element: Any) -> None:
        tag = element.tag
        if tag in _BLOCKS or tag == "br":
            self._end_line(empty_after=tag in _SPACED_BLOCKS)
        self._row_depth += tag == "tr"
        self._pre_depth += tag == "pre"
        if tag in _HEADINGS and not self._row_depth:
            self._line.append(_HEADINGS[tag])
        elif tag == "li" and not self._row_depth:
            self._line.append("- ")
        elif tag in ("td", "th"):
            self._line.append(" | ")
        self.add(element.get("alt") if tag == "img" else element.text)

    def close(self, element: Any) -> None:
        tag = element.tag
        if tag == "tr":
            self._row_depth -= 1
            self._line.append(" |")
        if tag in _BLOCKS:
            self._end_line(empty_after=tag in _SPACED_BLOCKS)
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
