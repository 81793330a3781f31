"""HTML: the main text of a page, or all its visible text where the main text cannot be told apart.

Parses only: nothing is fetched, no entity is resolved. Knows nothing about where the page comes from.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import trafilatura
from lxml import etree, html  # type: ignore[import-untyped]

from veracity.reading.cleaning import as_title, tidy
from veracity.reading.encodings import decode
from veracity.reading.plaintext import first_heading
from veracity.reading.result import Reading, failed, skipped
from veracity.reading.visible import remove_around, remove_hidden, visible_text

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
