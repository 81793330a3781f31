"""HTML: the main text of a page, or all visible text if the main text cannot be told apart.

Parses only: fetches nothing and resolves no entities.
"""

import copy
import re
from typing import Any

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]

from veracity.reading.base import Reading, as_title, skipped, tidy
from veracity.reading.encodings import declared_in_xml, decode
from veracity.reading.markdown import first_heading
from veracity.reading.visible_text import is_hidden, parse_html, visible_text

MIN_LENGTH_FOR_MAIN_TEXT = 600  # characters; a shorter page is used whole
MIN_MAIN_TEXT_SHARE = 0.3  # of the visible text; below it the extraction has missed the main text

_EMPHASIS = ("b", "strong", "em", "i", "u", "s", "del", "ins", "mark", "small", "font", "code", "kbd", "samp", "tt")
_REMOVED = "not-shown"
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)


def read_html(content: bytes) -> Reading:
    text = _decode(content)
    if not text.strip():
        raise skipped("it is empty")
    tree = parse_html(text)
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
    declared = _DECLARED.search(content, 0, 4_096)
    return decode(content, declared[1].decode("ascii") if declared else declared_in_xml(content))


def _title(tree: Any) -> str:
    element = tree.find(".//title")
    og_title = tree.xpath("string(//meta[@property='og:title']/@content)")
    return as_title(element.text_content() if element is not None else "") or as_title(str(og_title))


def _remove_hidden(tree: Any) -> None:
    """Remove the elements that are not shown. The text after them stays."""
    for element in [element for element in tree.iterdescendants(etree.Element) if is_hidden(element)]:
        element.tag = _REMOVED
    etree.strip_elements(tree, _REMOVED, etree.Comment, etree.ProcessingInstruction, with_tail=False)


def _visible_text_without_navigation(tree: Any) -> str:
    """The visible text without navigation, footers and asides, unless the page has nothing else."""
    inner = copy.deepcopy(tree)
    etree.strip_elements(inner, "nav", "footer", "aside", with_tail=False)
    return tidy(visible_text(inner)) or tidy(visible_text(tree))


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
