"""Markdown, without what only a site generator reads: front matter, anchors, containers, template tags, HTML, MDX.

`_Sorter` sorts the lines into code, which stays as it is, and text, and unwraps containers (`!!! note`, `::: tip`,
MyST directives). `markup.py` then removes the markup from the text. All of it takes linear time.
"""

import re
from collections.abc import Iterator
from html import unescape
from itertools import groupby
from operator import itemgetter
from textwrap import dedent

from veracity.patterns import lazy_pattern
from veracity.reading.base import Reading, as_title
from veracity.reading.inline_html import remove_html
from veracity.reading.markup import remove_markup

_FRONT_MATTER = lazy_pattern(r"\A\s*(---|\+\+\+)[ \t]*\n(?:(.{0,20000}?)\n)?(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = lazy_pattern(r"^[\w\"'][^\n:=]{0,100}\s*[:=]", re.MULTILINE)
_TITLE_FIELD = lazy_pattern(r"^[\"']?title[\"']?\s*[:=]\s*(?:[>|][+-]?\s*\n\s*)?(.+)$", re.MULTILINE | re.IGNORECASE)
_FENCED = lazy_pattern(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_HEADING = lazy_pattern(r"^ {0,3}#{1,6}[ \t]+([^\n]*)", re.MULTILINE)
_UNDERLINED = lazy_pattern(r"(?:\A|\n)(?![#>\-*|])([^\n]{1,200})\n(?:={3,}|-{3,})[ \t]*(?:\n|\Z)")

_FENCE = lazy_pattern(r"[ \t>]*+(`{3,}+(?=[^`]*\Z)|~{3,}+)")
_ITEM = lazy_pattern(r"[ \t]*+(?:[-*+:]|\d{1,9}[.)])[ \t]{1,4}")  # also of a definition list
_ADMONITION = lazy_pattern(
    r"[ \t]*+(?P<mark>!!!|\?\?\?\+?|===[!+]?)(?P<kind>(?:[ \t]+[\w-]{1,40}){0,4})"
    r"(?:[ \t]+\"(?P<title>[^\"]{0,500})\")?[ \t]*\Z"
)
_DIRECTIVE = lazy_pattern(r"[ \t]*+(`{3,}+|~{3,}+|:{3,}+)\{([A-Za-z][\w:+.-]{0,60})\}[ \t]*(.*)\Z")
_CODE_DIRECTIVES = frozenset(("code", "code-block", "code-cell", "sourcecode", "parsed-literal", "math"))
_EMPTY_DIRECTIVE = lazy_pattern(
    r"toctree|contents|tableofcontents|(?:current)?module|auto\w+|(?:literal)?include|image|raw|index|highlight|meta"
)
_OPTION = lazy_pattern(r"[ \t]*:[\w-]{1,60}:(?:[ \t].*)?\Z")
_RST_MARKUP = lazy_pattern(r"[ \t]*(?:\.\.(?:[ \t].*)?|:[\w-]{1,60}:(?:[ \t].*)?)\Z")
_HIDDEN = lazy_pattern(r"[ \t]*+(<!--|<(?:script|style)\b)", re.IGNORECASE)
_CLOSINGS = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}
ADMONITION_INDENT = 4
MAX_GAP = 5  # empty lines before the text of an admonition


def read_markdown(text: str, *, mdx: bool = False) -> Reading:
    """The title comes from the front matter or from the first heading."""
    title = ""
    front = _FRONT_MATTER.match(text)
    fields = (front[2] or "") if front else ""
    if front and (front[1] == "+++" or _FIELD.search(fields) or not fields.strip()):
        field = _TITLE_FIELD.search(fields)
        title = as_title(unescape(field[1].strip().strip("\"'"))) if field else ""
        text = text[front.end() :]
    text = without_markup(text, mdx=mdx)
    return Reading(text, title or first_heading(text), "markdown", markdown=True)


def first_heading(text: str) -> str:
    """The first Markdown heading outside of fenced code."""
    start = 0
    while (fence := _FENCED.search(text, start)) is not None:
        if heading := _heading_in(text[start : fence.start()]):
            return heading
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[1])}", re.MULTILINE).search(text, fence.end())
        if closing is None:
            return ""
        start = closing.end()
    return _heading_in(text[start:])


def _heading_in(text: str) -> str:
    headings = [match for match in (_HEADING.search(text), _UNDERLINED.search(text)) if match]
    return as_title(min(headings, key=lambda match: match.start())[1]).rstrip("#").rstrip() if headings else ""


def without_markup(text: str, *, mdx: bool = False) -> str:
    """The text without markup of site generators. Code stays as it is. In MDX, indented lines are not code."""
    lines: list[tuple[bool, str]] = []
    for is_code, group in groupby(_Sorter(text.split("\n"), has_indented_code=not mdx).sort(), key=itemgetter(0)):
        part = "\n".join(line for _, line in group)
        lines += [(is_code, line) for line in (part if is_code else remove_html(remove_markup(part))).split("\n")]
    cleaned = "\n".join(line for _, line in lines)
    return cleaned if cleaned == text else "\n".join(_without_gaps(lines))


def _without_gaps(lines: list[tuple[bool, str]]) -> Iterator[str]:
    """The lines without a second empty one in the text: removed lines leave them behind."""
    after_empty = False
    for is_code, line in lines:
        is_empty = not is_code and not line.strip()
        if not (is_empty and after_empty):
            yield line
        after_empty = is_empty


class _Sorter:
    """Sorts lines into code and text, and unwraps containers."""

    def __init__(self, lines: list[str], *, has_indented_code: bool) -> None:
        self._lines = lines
        self._has_indented_code = has_indented_code
        self._sorted: list[tuple[bool, str]] = []
        self._admonitions: list[int] = []  # the indentation of the open ones
        self._directives: list[str] = []  # the fences of the open directives that hold text
        self._fence = ""  # the open fence of code
        self._is_quoted = False  # the fence is in a quotation
        self._held: list[str] | None = None  # the lines of the open directive that holds no text
        self._is_rst = False  # this directive is reStructuredText
        self._in_options = False  # the lines after the first one of a directive
        self._hidden_until = ""
        self._list_indent = 0  # the indentation of the text of the last list item
        self._after_blank = True
        self._in_code = False  # indented code
        self._last_closing = {
            closing: max((at for at, line in enumerate(lines) if closing in line.lower()), default=-1)
            for closing in _CLOSINGS.values()
        }

    def sort(self) -> list[tuple[bool, str]]:
        """Pairs of `is_code` and the line."""
        for at, line in enumerate(self._lines):
            self._add(at, self._dedent(line))
        self._end_fence()
        return self._sorted

    def _dedent(self, line: str) -> str:
        """The line without the indentation of the admonitions that it is in. Ends those that it is not in."""
        if not self._admonitions or not line.strip():
            return line
        line = line.expandtabs(4) if line[0] == "\t" else line
        while self._admonitions and _indent(line) < self._admonitions[-1] + ADMONITION_INDENT:
            self._admonitions.pop()
            self._end_fence()
        return line[len(self._admonitions) * ADMONITION_INDENT :]

    def _add(self, at: int, line: str) -> None:
        if self._is_quoted and not line.lstrip().startswith(">"):
            self._end_fence()
        if self._hidden_until:
            self._add_hidden(line)
        elif self._in_options and _OPTION.match(line):
            pass
        elif self._fence:
            self._add_fenced(line)
        elif self._is_indented_code(line):
            self._in_code = True
            self._sorted.append((True, line))
        else:
            self._in_code = self._in_options = False
            self._add_text(at, line)
            self._after_blank = not line.strip()

    def _add_hidden(self, line: str) -> None:
        end = line.lower().find(self._hidden_until)
        if end >= 0:
            self._sorted.append((False, line[end + len(self._hidden_until) :]))
            self._hidden_until = ""

    def _add_fenced(self, line: str) -> None:
        self._in_options = False
        bare = line.strip(" \t>")
        is_end = len(bare) >= len(self._fence) and bare == self._fence[0] * len(bare)
        if self._held is None:
            self._sorted.append((True, line))
        elif not is_end:
            self._held.append(line)
        if is_end:
            self._end_fence()

    def _end_fence(self) -> None:
        """Of reStructuredText the examples stay, as code. Of other directives without text nothing is left."""
        held = self._held if self._held and self._is_rst else []
        example = dedent("\n".join(line for line in held if not _RST_MARKUP.match(line))).strip("\n")
        if example.strip():
            self._sorted += [(True, line) for line in ("```", *example.split("\n"), "```")]
        self._fence, self._is_quoted, self._held = "", False, None

    def _is_indented_code(self, line: str) -> bool:
        """Also keeps track of the list that the line is in."""
        if not line.strip():
            return False
        indent = _indent(line)
        if self._after_blank or self._in_code:
            if self._has_indented_code and indent >= self._list_indent + 4:
                return True
            self._list_indent = min(self._list_indent, indent)
        if item := _ITEM.match(line):
            self._list_indent = len(item[0].expandtabs(4))
        return False

    def _add_text(self, at: int, line: str) -> None:
        if self._opens_hidden(at, line):
            return
        if directive := _DIRECTIVE.match(line):
            self._open_directive(line, *directive.groups())
        elif fence := _FENCE.match(line):
            self._open_fence(line, fence[1])
        elif admonition := self._admonition(at, line):
            self._admonitions.append(_indent(line) + ADMONITION_INDENT * len(self._admonitions))
            self._add_title(line, admonition["title"] or "")
        else:
            self._sorted.append((False, line))

    def _opens_hidden(self, at: int, line: str) -> bool:
        """True if the line opens a comment or script that a later line closes."""
        opening = _HIDDEN.match(line)
        closing = _CLOSINGS[opening[1].lower()] if opening else ""
        if not closing or closing in line.lower() or self._last_closing[closing] <= at:
            return False
        self._hidden_until = closing
        return True

    def _open_directive(self, line: str, marker: str, name: str, argument: str) -> None:
        self._in_options = True
        self._is_rst = name == "eval-rst"
        if self._is_rst or _EMPTY_DIRECTIVE.fullmatch(name):
            self._fence, self._held = marker, []
        elif name in _CODE_DIRECTIVES and marker[0] != ":":
            self._fence = marker
            self._sorted.append((True, f"{line[: _indent(line)]}{marker}{argument}"))
        else:
            self._directives += [marker] if marker[0] != ":" else []  # `markup.py` removes closing colons
            self._add_title(line, argument)

    def _open_fence(self, line: str, marker: str) -> None:
        if self._directives and line.strip(" \t") == marker and marker.startswith(self._directives[-1]):
            self._directives.pop()
            self._sorted.append((False, ""))
        else:
            self._fence, self._is_quoted = marker, line.lstrip().startswith(">")
            self._sorted.append((True, line))

    def _admonition(self, at: int, line: str) -> re.Match[str] | None:
        """An admonition has a title, or a kind and indented lines. `===` without a title underlines a heading."""
        match = _ADMONITION.match(line)
        if not match or match["title"]:
            return match
        if match["mark"].startswith("=") or not match["kind"]:
            return None
        body = next((after for after in self._lines[at + 1 : at + 1 + MAX_GAP] if after.strip()), "").expandtabs(4)
        needed = _indent(line) + ADMONITION_INDENT * (len(self._admonitions) + 1)
        return match if _indent(body) >= needed else None

    def _add_title(self, line: str, title: str) -> None:
        """A title is a line of its own, in bold."""
        lines = ("", f"{line[: _indent(line)]}**{title.strip()}**", "") if title.strip() else ("",)
        self._sorted += [(False, line) for line in lines]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
