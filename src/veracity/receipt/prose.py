"""Answers and drafts as HTML or plain text: their Markdown is rendered as on the page.

Text is escaped; links, addresses and images appear as text and lead nowhere. Headings become paragraphs, because the
receipt has headings of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from veracity.language.citations import MARK
from veracity.models import AnswerSentence
from veracity.printable import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markupsafe import Markup

MAX_LENGTH = 50_000  # characters; a longer text is shown as it is
CELL_SEPARATOR = " · "
_RULES = ["emphasis", "escape", "newline", "backticks", "link", "image", "heading", "list", "fence", "blockquote", "hr"]
_LIST_NUMBER = re.compile(r"\s*\d{1,9}[.)]\s+")
_OPENINGS = {
    "paragraph": "<p>",
    "heading": '<p class="heading">',
    "bullet_list": "<ul>",
    "list_item": "<li>",
    "blockquote": "<blockquote>",
    "table": '<div class="wide"><table>',
    "thead": "<thead>",
    "tbody": "<tbody>",
    "tr": "<tr>",
    "th": '<th scope="col">',
    "td": "<td>",
    "strong": "<strong>",
    "em": "<em>",
}
_TEXTS = {"text": "{}", "code_inline": "<code>{}</code>", "fence": "<pre><code>{}</code></pre>"}
_CLOSINGS = {"table": "</table></div>", "heading": "</p>", "ordered_list": "</ol>", "th": "</th>"}

Cite = Callable[[str], "Markup"]  # renders a citation mark such as [1, 2]
Range = tuple[int, int]


def render_prose(text: str, sentences: Sequence[AnswerSentence], cite: Cite, note: str) -> Markup:
    """The HTML of a text. Unsupported sentences are marked, and followed by `note` for screen readers."""
    tokens = list(_parse(text))
    key = "".join(_key(token.content) for token in tokens if token.type in _TEXTS)
    return _Renderer(cite, note, list(_find_unsupported(key, sentences))).render(tokens)


def plain_text(text: str) -> str:
    """The text as it reads when it is rendered. List items keep a mark, the cells of a row are separated by dots."""
    lines: list[str] = []
    markers: list[str] = []  # of the lists that are open
    line = ""
    for token in _parse(text):
        kind = token.type
        if kind == "list_item_open":
            line += markers[-1] if markers[-1] == "• " else f"{token.info}{token.markup} "
        elif kind in ("bullet_list_open", "ordered_list_open"):
            markers.append("• " if kind == "bullet_list_open" else "1.")
        elif kind in ("bullet_list_close", "ordered_list_close"):
            markers.pop()
            lines += [] if markers else [""]
        elif kind in ("th_open", "td_open"):
            line += CELL_SEPARATOR if line else ""
        elif kind in ("text", "code_inline"):
            line += token.content
        elif kind == "fence":
            lines += [*token.content.rstrip("\n").split("\n"), ""]
        elif kind == "br" or kind in ("paragraph_close", "heading_close", "tr_close"):
            lines.append(line)
            line = ""
            lines += [""] if kind in ("paragraph_close", "heading_close") and not markers else []
        elif kind == "table_close":
            lines.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only receipts need it

    parser = MarkdownIt("zero", {"maxNesting": 20}).enable([*_RULES, "table", "balance_pairs", "fragments_join"])
    parser.inline.ruler.at("emphasis", _tokenize_emphasis)
    parser.inline.ruler.before("link", "citation", _tokenize_citation)
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _parse(text: str) -> Iterator[Token]:
    """Blocks and what they contain, in the order of the text. Adjacent texts are joined."""
    from markdown_it.token import Token  # noqa: PLC0415 - see above

    if len(text) > MAX_LENGTH:
        yield Token("fence", "", 0, content=text)
        return
    for token in _parser().parse(text):
        if token.type != "inline":
            yield token
            continue
        pending = ""
        for child in _flatten(token.children or []):
            if child.type == "text":
                pending += child.content
                continue
            if pending:
                yield Token("text", "", 0, content=pending)
            pending = ""
            yield child
        if pending:
            yield Token("text", "", 0, content=pending)


def _flatten(children: Iterable[Token]) -> Iterator[Token]:
    """The address of a link follows its text."""
    from markdown_it.token import Token  # noqa: PLC0415 - see above

    addresses: list[str] = []
    for child in children:
        if child.type == "link_open":
            addresses.append(str(child.attrs.get("href", "")))
        elif child.type == "link_close":
            yield Token("text", "", 0, content=f" ({addresses.pop()})")
        elif child.type == "image":
            yield Token("text", "", 0, content=f"{child.content} ({child.attrs.get('src', '')})")
        elif child.type in ("softbreak", "hardbreak"):
            yield Token("br", "", 0)
        else:
            yield child


def _tokenize_emphasis(state: StateInline, silent: bool) -> bool:
    """As in the library, except that emphasis may touch anything but a space: Chinese and Japanese put none around it.
    An underscore inside a word is part of a name."""
    from markdown_it.rules_inline.state_inline import Delimiter  # noqa: PLC0415 - see above

    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    end = state.pos
    while end < state.posMax and state.src[end] == marker:
        end += 1
    before = state.src[state.pos - 1] if state.pos else " "
    after = state.src[end] if end < state.posMax else " "
    opens = not after.isspace() and not (marker == "_" and _is_word(before))
    closes = not before.isspace() and not (marker == "_" and _is_word(after))
    for _ in range(end - state.pos):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(ord(marker), end - state.pos, len(state.tokens) - 1, end=-1, open=opens, close=closes)
        )
    state.pos = end
    return True


def _is_word(char: str) -> bool:
    return char.isalnum() and char < "\u2e80"  # Chinese and Japanese characters are none


def _tokenize_citation(state: StateInline, silent: bool) -> bool:
    """Before links: "[1](…)" cites and leads nowhere."""
    mark = MARK.match(state.src, state.pos) if state.src[state.pos] == "[" else None
    if not mark:
        return False
    if not silent:
        state.push("text", "", 0).content = mark[0]
    state.pos = mark.end()
    return True


def _key(text: str) -> str:
    """What Markdown leaves as it is: letters and digits."""
    return "".join(filter(str.isalnum, text))


def _find_unsupported(key: str, sentences: Sequence[AnswerSentence]) -> Iterator[Range]:
    """Where unsupported sentences are in the key of the rendered text. One that is not there is skipped."""
    at = 0
    for sentence in sentences:
        wanted = _key(_LIST_NUMBER.sub("", sentence.text, count=1))
        start = key.find(wanted, at) if wanted else -1
        if start < 0:
            continue
        at = start + len(wanted)
        if sentence.states and not sentence.supported:
            yield start, at


class _Renderer:
    def __init__(self, cite: Cite, note: str, unsupported: list[Range]) -> None:
        self._cite = cite
        self._note = note
        self._unsupported = unsupported
        self._at = 0  # in the key

    def render(self, tokens: Iterable[Token]) -> Markup:
        from markupsafe import Markup  # noqa: PLC0415 - see above

        return Markup("").join(map(self._render, tokens))

    def _render(self, token: Token) -> Markup:
        from markupsafe import Markup  # noqa: PLC0415 - see above

        name, _, edge = token.type.rpartition("_")
        if token.hidden:
            return Markup("")
        if token.type in _TEXTS:
            return Markup(_TEXTS[token.type]).format(self._text(token.content))
        if token.type in ("br", "hr"):
            return Markup(f"<{token.type}>")
        if token.type == "ordered_list_open":
            return Markup('<ol start="{}">').format(token.attrs.get("start", 1))
        if edge == "open":
            return Markup(_OPENINGS[name])
        opening = _OPENINGS.get(name, "")
        return Markup(_CLOSINGS.get(name, opening.replace("<", "</")))

    def _text(self, text: str) -> Markup:
        from markupsafe import Markup  # noqa: PLC0415 - see above

        pieces = []
        for piece, is_unsupported, is_last in self._split(text):
            inner = self._with_citations(piece)
            note = Markup('<span class="spoken"> ({})</span>').format(self._note) if is_last else ""
            pieces.append(
                Markup('<span class="unsupported">{}{}</span>').format(inner, note) if is_unsupported else inner
            )
        return Markup("").join(pieces)

    def _split(self, text: str) -> Iterator[tuple[str, bool, bool]]:
        """Pieces, whether they are unsupported, and whether they end an unsupported sentence."""
        current = self._current()
        begin, was = 0, current is not None and current[0] < self._at
        for index, char in enumerate(text):
            if not char.isalnum():
                if was and char.isspace() and self._current() is None:
                    yield text[begin:index], True, True
                    begin, was = index, False
                continue
            current = self._current()
            if (current is not None) != was:
                yield text[begin:index], was, was
                begin, was = index, current is not None
            self._at += 1
            if current and self._at == current[1]:
                self._unsupported.pop(0)
        if text[begin:]:
            yield text[begin:], was, was and self._current() is None

    def _current(self) -> Range | None:
        first = self._unsupported[0] if self._unsupported else None
        return first if first and first[0] <= self._at < first[1] else None

    def _with_citations(self, text: str) -> Markup:
        from markupsafe import Markup, escape  # noqa: PLC0415 - see above

        pieces, at = [], 0
        for mark in MARK.finditer(text):
            pieces += [escape(visible(text[at : mark.start()])), self._cite(mark[0])]
            at = mark.end()
        return Markup("").join([*pieces, escape(visible(text[at:]))])
