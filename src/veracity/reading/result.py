"""What reading a document gives: its text, or the reason why there is none.

Knows nothing about formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["text", "markdown", "html", "pdf", "docx", "pptx", "xlsx", "csv", "json", "jsonl"]
Status = Literal["skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a document. Its only line break is \\n, and it is never blank.

    `markdown`: lines that begin with # are headings. `pages`: where in the text each page of a PDF, each slide of a
    presentation begins, the first page first; empty for what has no pages.
    """

    text: str
    title: str
    format: Format
    markdown: bool = False
    pages: tuple[int, ...] = ()


class Unreadable(Exception):
    """No text comes of this document. `reason` goes on from "… was skipped: " or "… failed: ".

    Skipped is what holds nothing for us to read, failed is what should have been readable.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


def skipped(reason: str) -> Unreadable:
    return Unreadable("skipped", reason)


def failed(reason: str) -> Unreadable:
    return Unreadable("failed", reason)
