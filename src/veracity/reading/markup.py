"""Removes the markup of site generators from Markdown text: comments, template tags, containers, anchors, roles.

The text holds no code blocks. Code spans and escaped characters stay. Patterns are bounded or possessive: linear time.
"""

import re
from collections.abc import Callable

from veracity.patterns import lazy_pattern

MAX_TEMPLATE_TAG = 2_000  # characters

# An escaped character or a code span, which does not go beyond its paragraph.
PROTECTED = (
    r"\\[!-/:-@\[-`{-~]"
    r"|(?<!`)(?P<ticks>`{1,20}+)(?P<code>(?:(?!\n[ \t]*\n).){1,2000}?)(?<!`)(?P=ticks)(?!`)"
)

_CLOSINGS = {"<!--": "-->", "{%": "%}", "{{%": "%}}", "{{<": ">}}", "{#": "#}", "{*": "*}", "{/*": "*/}"}
_OPENING = lazy_pattern(
    rf"{PROTECTED}|(?P<open><!--|\{{\{{[%<]|\{{%|\{{/\*|\{{\*(?=\s)|\{{#(?![\w.:-]{{1,200}}[ \t]?\}}))", re.DOTALL
)
_EMPTY_LINE = lazy_pattern(r"\n[ \t]*\n")
_STRINGS = lazy_pattern(r"[\w.]{1,60}((?:\s+(?:\"[^\"]{0,500}\"|'[^']{0,500}'))+)")
_STRING = lazy_pattern(r"\"([^\"]*)\"|'([^']*)'")
_FILE_NAME = lazy_pattern(r"\S*(?:/\S*|\.\w{1,5})")
_TITLE_ATTRIBUTES = lazy_pattern(r"\{[^{}]{0,200}\}\Z")
_ROLE_TITLE = lazy_pattern(r"\s*(.{1,1000}?)\s*<[^<>]{1,1000}>\s*", re.DOTALL)
_TEXT_ROLES = frozenset(("ref", "doc", "term", "numref", "any", "abbr", "dfn", "guilabel", "menuselection", "download"))


def remove_markup(text: str) -> str:
    text = _remove_hidden(text)
    for marks, pattern, replacement in _RULES:
        if any(mark in text for mark in marks):
            text = pattern.sub(replacement, text)
    return text


def _remove_hidden(text: str) -> str:
    """Remove comments and template tags. What is opened and never closed stays."""
    if not any(mark in text for mark in _CLOSINGS):
        return text
    parts: list[str] = []
    at, unclosed = 0, set[str]()
    while opening := _OPENING.search(text, at):
        end = _end_of_hidden(text, opening, unclosed)
        parts.append(text[at : opening.start() if end else opening.end()])
        at = end or opening.end()
        if end:
            parts.append(_text_of_tag(text, opening, end))
            is_between_spaces = text[at : at + 1] == text[opening.start() - 1 : opening.start()] == " "
            at += is_between_spaces and not parts[-1]
    return "".join((*parts, text[at:]))


def _end_of_hidden(text: str, opening: re.Match[str], unclosed: set[str]) -> int:
    """Where the comment or tag ends; 0 for a code span and for what is not closed. Only a comment has no size limit."""
    mark = opening["open"]
    if not mark or mark in unclosed:
        return 0
    is_comment = mark == "<!--"
    limit = len(text) if is_comment else opening.end() + MAX_TEMPLATE_TAG
    end = text.find(_CLOSINGS[mark], opening.end(), limit)
    if end < 0 and is_comment:
        unclosed.add(mark)
    if end < 0 or (not is_comment and _EMPTY_LINE.search(text, opening.end(), end)):
        return 0
    return end + len(_CLOSINGS[mark])


def _text_of_tag(text: str, opening: re.Match[str], end: int) -> str:
    """The target in `[a]({% page "/b" %})`; the last string of `{% channel "b" %}` if it is not the name of a file."""
    if opening["open"] != "{%":
        return ""
    content = text[opening.end() : end - 2].strip(" \t\n-")
    if text[max(0, opening.start() - 3) : opening.start()].endswith(("](", "]: ")):
        return content.rpartition(" ")[2].strip("\"'")
    strings = _STRINGS.fullmatch(content)
    last = [first or second for first, second in _STRING.findall(strings[1])][-1] if strings else ""
    return "" if _FILE_NAME.fullmatch(last) else last


def _container_title(container: re.Match[str]) -> str:
    """The title of `::: tip Title` becomes a line of its own, in bold. Without a title nothing is left."""
    indent, title = container.groups()
    title = _TITLE_ATTRIBUTES.sub("", (title or "").strip()).strip()
    if title.startswith("[") and title.endswith("]"):
        title = title[1:-1]
    return f"\n{indent}**{title}**\n" if title else ""


def _without_role(match: re.Match[str]) -> str:
    if match["attributes"] or match["icon"]:
        return ""
    role, code = match["role"], match["code"]
    if not role:
        return match[0]
    if titled := _ROLE_TITLE.fullmatch(code):
        return titled[1]
    if role[1:-1] in _TEXT_ROLES:
        return code
    return f"`{code.rpartition('.')[2] if code.startswith('~') else code.removeprefix('!')}`"


def _line(pattern: str) -> re.Pattern[str]:
    """The pattern for whole lines."""
    return re.compile(rf"^[ \t]*+(?:{pattern})[ \t]*$", re.MULTILINE | re.IGNORECASE)


# The marks of which a text must hold one, the pattern (slower to search for), and what replaces it, in this order.
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (  # `::: tip Title`, `:::{note} Title`, `:::info[Title]`, `:::`
        (":::",),
        lazy_pattern(r"^([ \t]*+):{3,}+[ \t]*+(?:\{[^}\n]{0,200}\}|[\w-]{0,40})[ \t]*+([^\n]*)$", re.MULTILINE),
        _container_title,
    ),
    (  # `/// tip | Title`, `///`
        ("///",),
        lazy_pattern(r"^([ \t]*+)/{3,}+[ \t]*+(?:[A-Za-z][\w-]{0,40}[ \t]*+(?:\|([^\n]*))?)?$", re.MULTILINE),
        _container_title,
    ),
    (  # imports of MDX; one over several lines ends at the next empty line
        ("import",),
        lazy_pattern(
            r"^import[ \t]+(?:[\w$*{][\w$*{}, \t]{0,500}[ \t]from[ \t]+)?"
            r"(?:\"[^\"\n]{1,300}\"|'[^'\n]{1,300}');?[ \t]*$"
            r"|^import[ \t]+(?:\w{1,60},[ \t]*)?\{[^}\n]{0,500}(?:\n(?![ \t]*$)[^\n]++)*+$",
            re.MULTILINE,
        ),
        "",
    ),
    (
        ("export",),
        lazy_pattern(
            r"^(?:export[ \t]*\{|export[ \t]+default[ \t]+[\w({\[]|export[ \t]+(?:async[ \t]+)?"
            r"(?:const|let|var|function|class)[ \t]+\w{1,60}[ \t]*(?:[=:({]|extends\b))"
            r"[^\n]*(?:\n(?![ \t]*$)[^\n]++)*+",
            re.MULTILINE,
        ),
        "",
    ),
    ((")=",), _line(r"\([\w.:/-]{1,100}\)="), ""),  # the target of a reference in MyST
    (("[toc]", "[TOC]"), _line(r"\[toc\]|\[\[toc\]\]"), ""),
    (("8<-", "<<<"), _line(r";?-{1,9}8<-{1,9}[^\n]*|<<<[ \t]+[@\w./][^\n]*"), ""),  # included files
    (("{",), _line(r"\{:[^{}\n]{0,300}\}|\{[ \t]?[.#][^{}\n]{0,300}\}"), ""),  # attributes of the block above
    (  # `## Title { #anchor .class }`
        ("{",),
        lazy_pattern(
            r"^([ \t]{0,3}#{1,6}[ \t](?:[^{\n]|\{(?![^{}\n]{1,200}\}[ \t#]*+$))*+)"
            r"\{[ \t]?[.#:][^{}\n]{1,200}\}[ \t#]*+$",
            re.MULTILINE,
        ),
        r"\1",
    ),
    (("{#", "{ #"), lazy_pattern(r"(?<!\\)\{[ \t]?#[\w.:-]{1,200}[ \t]?\}[ \t]*+$", re.MULTILINE), ""),
    (  # the roles of MyST before code spans, attributes after links and images, icons of MkDocs
        ("{", ":fontawesome-", ":octicons-", ":material-", ":simple-"),
        lazy_pattern(
            rf"(?P<role>\{{[A-Za-z][\w:+.-]{{0,60}}\}}(?=`))?(?:{PROTECTED})"
            r"|(?P<attributes>(?<=[)\]`*_:])\{[ \t]?[:.#][^{}\n]{0,300}\})"
            r"|(?P<icon>:(?:fontawesome|octicons|material|simple)-[a-z0-9-]{1,60}:[ \t]?)",
            re.DOTALL,
        ),
        _without_role,
    ),
)
