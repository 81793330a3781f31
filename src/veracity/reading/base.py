"""What a reader returns (`Reading`) or raises (`Unreadable`), and text clean-up that all readers share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TextFormat = Literal["text", "markdown", "html", "xml", "csv", "json", "jsonl", "eml"]
BinaryFormat = Literal["pdf", "docx", "pptx", "xlsx", "xls", "epub", "msg", "image", "zip", "tar"]
Format = TextFormat | BinaryFormat
Status = Literal["skipped", "failed"]

ENCRYPTED = "it is encrypted: remove the password first"
MAX_TITLE_LENGTH = 300


def tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


# The elements of HTML that begin a line.
BLOCK_TAGS = tags(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol option p pre section select summary table tbody tfoot "
    "thead tr ul"
)

_TERMINAL_COLOUR = re.compile("\x1b\\[[0-9;?]{0,20}[A-Za-z]")
_LINE_BREAK = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")  # control characters, BOM
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRAILING_SPACE = re.compile(r"(?<![ \t\u3000\xa0])[ \t\u3000\xa0]++(?=\n|\Z)")  # in linear time
_MANY_EMPTY_LINES = re.compile(r"\n{4,}")
_DEFAULT_TITLE = re.compile(  # what programs store if nobody gave a title: nothing, a default, the name of a file
    r"[\W_]*|(?:untitled|no title|title|none|null|\(?anonymous\)?|無題|名称未設定|无标题|未命名)(?:[ -]?\d{1,3})?"
    r"|(?:word document|document|presentation|slide|book|sheet|文档|文件|文書|演示文稿|プレゼンテーション) ?\d{0,3}"
    r"|powerpoint ?(?:presentation|演示文稿|プレゼンテーション)|microsoft (?:word|powerpoint|excel) - .*|[a-z]:\\.*"
    r"|.*\.(?:docx?|pptx?|xlsx?|pdf|odt|rtf|indd|qxd|pages|tex|dvi|txt|html?|md)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a document, never blank. Line breaks are \\n.

    `markdown`: lines that begin with # are headings. `pages`: the offset of each page of a PDF or slide of a
    presentation; empty if the format has no pages. `metadata`: how sure text recognition was; empty without it.
    """

    text: str
    title: str
    format: Format
    markdown: bool = False
    pages: tuple[int, ...] = ()
    metadata: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits on the unpacked content of an Office file, an EPUB or an archive."""

    entries: int = 10_000
    unpacked_megabytes: int = 512
    ratio: int = 200


class Unreadable(Exception):
    """The document gives no text. `reason` continues "… was skipped: " or "… failed: ".

    A document without anything to read is skipped. One that should have been readable failed.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


def skipped(reason: str) -> Unreadable:
    return Unreadable("skipped", reason)


def failed(reason: str) -> Unreadable:
    return Unreadable("failed", reason)


def clean(text: str) -> str:
    """Normalize line breaks to \\n; remove control characters, byte order marks and lone surrogates."""
    return _SURROGATE.sub("\ufffd", _NOT_TEXT.sub("", _LINE_BREAK.sub("\n", _TERMINAL_COLOUR.sub("", text))))


def tidy(text: str) -> str:
    """Clean the text; remove trailing spaces, surrounding blank lines, and runs of empty lines."""
    return _MANY_EMPTY_LINES.sub("\n\n\n", _TRAILING_SPACE.sub("", clean(text))).strip("\n")


def as_title(text: object) -> str:
    """The text on one line, cut to the maximum length; empty for anything but a string."""
    return " ".join(clean(text).split())[:MAX_TITLE_LENGTH].strip() if isinstance(text, str) else ""


def stored_title(text: object) -> str:
    """The title in the properties of a document; empty if it is the default of the program that wrote it."""
    title = as_title(text)
    return "" if _DEFAULT_TITLE.fullmatch(title) else title


def join_pages(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    """The pages as one text, separated by empty lines, and the offset of each."""
    starts, parts, length = [], [], 0
    for page in pages:
        starts.append(length)
        if page:
            parts.append(page)
            length += len(page) + 2
    text = "\n\n".join(parts)
    return text, tuple(min(start, len(text)) for start in starts)
