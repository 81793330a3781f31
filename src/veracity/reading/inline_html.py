"""HTML and JSX inside of Markdown, as text: blocks are rendered as a page is, other tags are removed.

Code spans and escaped characters stay. Patterns are bounded or possessive: linear time.
"""

import re
from html import escape, unescape

from veracity.reading.base import BLOCK_TAGS, tags
from veracity.reading.markup import PROTECTED

_BLOCK_TAGS = BLOCK_TAGS | {"td", "th"}
_HTML_TAGS = _BLOCK_TAGS | tags(
    "a abbr audio b bdi bdo big br button cite code col colgroup data del dfn em font i iframe img input ins kbd label "
    "link mark meta noscript path picture q rp rt ruby s samp script slot small source span strike strong style sub "
    "sup svg template textarea time tt u use var video wbr"
)
_LONG_BLOCKS = ("table", "pre")  # an empty line does not end them
_BLOCK_START = re.compile(rf"[ \t]*+</?({'|'.join(sorted(_BLOCK_TAGS))})(?=[\s/>]|\Z)", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*>")

_SPACE = r"(?:[ \t]|\n(?![ \t]*\n))"
_JSX = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}+\}){0,1000}+\}){0,2000}+\}"
_VALUE = rf"\"[^\"]{{0,3000}}+\"|'[^']{{0,3000}}+'|{_JSX}|[^\s\"'=<>`{{}}]{{1,1000}}+"
_ATTRIBUTE = (
    rf"{_SPACE}{{1,200}}+(?:[A-Za-z_:@#*][\w.:@#\[\]-]{{0,100}}+(?:{_SPACE}{{0,50}}+={_SPACE}{{0,50}}+(?:{_VALUE}))?+"
    r"|\{\.\.\.[\w.]{1,100}\})"
)
_MARKUP = re.compile(
    rf"{PROTECTED}"
    rf"|<(?P<name>/?[A-Za-z][\w.:-]{{0,100}}+)(?P<attributes>(?:{_ATTRIBUTE}){{0,60}}+){_SPACE}{{0,200}}+(?P<end>/?)>"
    r"|(?P<blank>\{(?:\"[ ]{0,9}\"|'[ ]{0,9}')\})"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)",
    re.DOTALL,
)
_ALT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_CLOSED = re.compile(r"</([A-Za-z][\w.:-]{0,100})")


def remove_html(text: str) -> str:
    """The text without tags and with entities decoded. Unknown names in angle brackets stay: `<your-name>`."""
    if not any(mark in text for mark in "<&{"):
        return text
    closed = frozenset(_CLOSED.findall(text))
    lines = text.split("\n")
    last = {name: _last_line_with(f"</{name}>", lines) for name in _LONG_BLOCKS}
    parts: list[str] = []
    start = at = 0
    while at < len(lines):
        if _BLOCK_START.match(lines[at]):
            parts += [_replace_tags("\n".join(lines[start:at]), closed)] if start < at else []
            start = _block_end(lines, at, last)
            parts.append(_block_text("\n".join(lines[at:start]), closed))
        at = max(at + 1, start)
    return "\n".join((*parts, _replace_tags("\n".join(lines[start:]), closed)) if start < at else parts)


def _last_line_with(closing: str, lines: list[str]) -> int:
    return max((at for at, line in enumerate(lines) if closing in line.lower()), default=-1)


def _block_end(lines: list[str], start: int, last: dict[str, int]) -> int:
    """The line after the block: the next empty one outside of tables and preformatted text."""
    closing = ""
    for at in range(start, len(lines)):
        line = lines[at].lower()
        if not closing:
            if not line.strip():
                return at
            closing = next((f"</{name}>" for name in _LONG_BLOCKS if f"<{name}" in line and last[name] >= at), "")
        if closing and closing in line:
            closing = ""
    return len(lines)


def _block_text(block: str, closed: frozenset[str]) -> str:
    markup = _replace_tags(block, closed, for_html=True)
    if "alt=" not in markup and not _ANY_TAG.sub("", markup).strip():
        return ""
    from veracity.reading.visible_text import fragment_text  # noqa: PLC0415 - loads a library that few documents need

    indent = block[: len(block) - len(block.lstrip(" \t"))]
    lines = fragment_text(markup).split("\n")
    return "\n".join(("", *(f"{indent}{line}" if line else "" for line in lines), ""))


def _replace_tags(text: str, closed: frozenset[str], *, for_html: bool = False) -> str:
    """Replace tags by their text. `for_html` keeps HTML tags, and escapes all that is not a tag."""
    parts: list[str] = []
    at = 0
    for match in _MARKUP.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if for_html:
            parts[-1] = escape(parts[-1], quote=False)
            parts.append(_html_of(match, closed))
        else:
            parts.append(_text_of(match, closed))
    rest = text[at:]
    return "".join((*parts, escape(rest, quote=False) if for_html else rest))


def _html_of(match: re.Match[str], closed: frozenset[str]) -> str:
    if match["entity"]:
        return match[0]
    name = (match["name"] or "").lower()
    if name.lstrip("/") in _HTML_TAGS and name != "sup":
        return f"<{name}>" if "{" in match[0] else match[0]
    return escape(_text_of(match, closed), quote=False)


def _text_of(match: re.Match[str], closed: frozenset[str]) -> str:
    """The text that replaces a tag or an entity; the match itself if it is neither."""
    if match["entity"]:
        return " ".join(unescape(match[0]).split()) or " "
    if match["blank"]:
        return " "
    if not match["name"] or not _is_tag(match, closed):
        return match[0]
    name = match["name"].lower()
    if name == "img":
        alt = _ALT.search(match["attributes"])
        return (alt[1] or alt[2] or "") if alt else ""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    if name == "sup":
        return "^" if before.isalnum() and (after.isdigit() or after == "-") else ""
    is_gap = name == "br" or name.lstrip("/") in _BLOCK_TAGS
    return " " if is_gap and before.strip() and after.strip() else ""


def _is_tag(match: re.Match[str], closed: frozenset[str]) -> bool:
    """True for HTML, and for a component: with attributes, closed, or alone on its line. False for `List<String>`."""
    name = match["name"].lstrip("/")
    if name.lower() in _HTML_TAGS or name in closed or "=" in match["attributes"]:
        return True
    return name[0].isupper() and (bool(match["end"]) or _is_alone(match))


def _is_alone(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    after = match.string[match.end() : match.end() + 200].partition("\n")[0]
    return not before.strip() and not after.strip()
