"""XML: feeds (RSS and Atom) as articles, other documents by their structure. Entities are refused, never expanded.

A first child that is a title becomes a heading, text with elements in it becomes prose, and all other elements become
lines of `name: value`. Elements that repeat are records: each is a paragraph of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from defusedxml import DefusedXmlException, ElementTree  # type: ignore[import-untyped]

from veracity.reading.base import Reading, as_title, failed
from veracity.reading.encodings import declared_in_xml, decode
from veracity.reading.markdown import first_heading
from veracity.reading.visible_text import fragment_text

MAX_DEPTH = 200
MAX_LABELLED = 200  # characters; a longer value is prose and gets no label
TOO_DEEP = "it nests its parts too deeply"

_HTML = re.compile(r"</[A-Za-z][A-Za-z0-9]{0,20}>|<(?:br|p|img)\b|&(?:#\w{1,8}|\w{2,31});", re.IGNORECASE)
_XHTML = "{http://www.w3.org/1999/xhtml}"
_TITLES = frozenset(("title", "heading", "head"))
_PROSE = frozenset(("p", "para", "simpara", "paragraph", "text", "body", "abstract", "subtitle"))
_ITEMS = frozenset(("li", "listitem"))
_CODE = frozenset(("programlisting", "screen", "literallayout", "pre"))
_CELLS = frozenset(("td", "th", "entry"))
# The parts of a feed, each with the names that it has in the formats.
_FIELDS = {
    "published": ("pubDate", "published", "issued", "date"),
    "updated": ("updated", "modified", "lastBuildDate"),
    "link": ("link",),
    "author": ("author", "creator"),
    "category": ("category",),
}
_CONTENTS = ("encoded", "content", "description", "summary", "subtitle", "tagline")


def read_xml(content: bytes) -> Reading:
    root = _parse(decode(content, declared_in_xml(content)))
    is_feed = _name(root) in ("rss", "feed") or (_name(root) == "RDF" and any(_name(part) == "item" for part in root))
    if is_feed:
        text = "\n\n".join(_feed(root))
    else:
        text = "\n\n".join(_blocks(root, "", 1)) if _is_container(root) else _prose(root)
    return Reading(text, first_heading(text), "xml", markdown=True)


def _parse(text: str) -> Element:
    try:
        root: Element = ElementTree.fromstring(text.lstrip())
    except ElementTree.ParseError as problem:
        line, column = problem.position
        reason = str(problem).partition(":")[0]
        raise failed(f"it is damaged: not valid XML at line {line}, column {column + 1} ({reason})") from None
    except DefusedXmlException:
        raise failed("it declares XML entities, which are not expanded: replace them by their text") from None
    return root


def _feed(root: Element) -> Iterator[str]:
    yield from _article(next((part for part in root if _name(part) == "channel"), root), 1)
    for element in root.iter():
        if _name(element) in ("item", "entry"):
            yield from _article(element, 2)


def _article(element: Element, level: int) -> Iterator[str]:
    """The title of a feed or of one of its entries, then the fields, then the first content there is."""
    parts: dict[str, list[Element]] = {}
    for part in element:
        parts.setdefault(_name(part), []).append(part)
    if title := as_title(" ".join(_text(part) for part in parts.get("title", [])[:1])):
        yield f"{'#' * level} {title}"
    fields = [
        f"{label}: {value}"
        for label, names in _FIELDS.items()
        for name in names
        for part in parts.get(name, [])
        if (value := _field(part))
    ]
    if fields:
        yield "\n".join(fields)
    contents = (_text(part) for name in _CONTENTS for part in parts.get(name, []))
    if content := next(filter(None, contents), ""):
        yield content


def _field(part: Element) -> str:
    """The text, the address of a link, or the name of an author."""
    name = next((child for child in part if _name(child) == "name"), part)
    return as_title(_text(name)) or part.get("href", "") or part.get("term", "")


def _blocks(element: Element, path: str, level: int, depth: int = 1) -> Iterator[str]:
    """The paragraphs of an element that holds elements only. `path` is the place of its values: `limits.`."""
    if depth > MAX_DEPTH:
        raise failed(TOO_DEEP)
    parts = list(element)
    attributes = _attributes(element) if depth > 1 else ""
    lines = [f"{path.rstrip('.') or _name(element)}: {attributes}"] if attributes else []
    if _name(parts[0]) in _TITLES and (title := as_title(_text(parts[0]))):
        yield f"{'#' * min(level, 6)} {title}"
        parts, lines, path, level = parts[1:], [], "", level + 1
    counts = Counter(map(_name, parts))
    for part in parts:
        if _is_container(part):
            yield from _paragraph(lines)
            inner = "" if counts[_name(part)] > 1 else f"{path}{_name(part)}."
            yield from _blocks(part, inner, level, depth + 1)
        elif _is_prose(part):
            yield from _paragraph(lines)
            yield from filter(None, [_prose(part)])
        elif line := _line(part, path):
            lines.append(line)
    yield from _paragraph(lines)


def _paragraph(lines: list[str]) -> Iterator[str]:
    """The lines so far, if any, as one paragraph."""
    if lines:
        yield "\n".join(lines)
        lines.clear()


def _is_container(element: Element) -> bool:
    """True if it holds elements and no text between them, and is not a line by itself."""
    if not len(element) or _name(element) in _ITEMS or _name(element) in _CODE or _is_row(element):
        return False
    return not any(text and text.strip() for text in (element.text, *(part.tail for part in element)))


def _is_row(element: Element) -> bool:
    return bool(len(element)) and all(_name(part) in _CELLS for part in element)


def _is_prose(element: Element) -> bool:
    name = _name(element)
    if name in _ITEMS or _is_row(element):
        return False
    return bool(len(element)) or name in _PROSE or name in _CODE or len(element.text or "") > MAX_LABELLED


def _prose(element: Element) -> str:
    if _name(element) in _CODE and (code := "".join(element.itertext()).strip("\n")):
        return f"```\n{code}\n```"
    return _text(element)


def _line(element: Element, path: str) -> str:
    """A table row, a list item, or `name: value` with the attributes."""
    if _is_row(element):
        return f"| {' | '.join(_text(cell) for cell in element)} |"
    value, attributes = _text(element), _attributes(element)
    if _name(element) in _ITEMS:
        return f"- {value}" if value else ""
    if not value:
        return f"{path}{_name(element)}: {attributes}" if attributes else ""
    return f"{path}{_name(element)}: {value}" + (f" ({attributes})" if attributes else "")


def _attributes(element: Element) -> str:
    pairs = ((name, " ".join(value.split())) for name, value in element.items() if not name.startswith("{"))
    return "; ".join(f"{name}: {value}" for name, value in pairs if value)


def _text(element: Element) -> str:
    """All text inside of the element on one line. HTML is rendered and keeps its paragraphs."""
    if any(part.tag.startswith(_XHTML) for part in element):
        return fragment_text(ElementTree.tostring(element, encoding="unicode"))
    text = "".join(element.itertext())
    return fragment_text(text) if _HTML.search(text) else " ".join(text.split())


def _name(element: Element) -> str:
    """The name without its namespace."""
    return str(element.tag).rpartition("}")[2]
