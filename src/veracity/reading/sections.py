"""Documents inside of a document, such as attachments and the files of an archive: each becomes a section."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from veracity.language.layout import FENCE
from veracity.reading.base import Reading, Unreadable
from veracity.reading.sandbox.progress import begin_part

# Reads a part by its content and name. Raises Unreadable.
ReadPart = Callable[[bytes, str], Reading]


_HEADING = re.compile(r"#{1,5}\s")


class Part(NamedTuple):
    name: str
    content: bytes


class Sections(NamedTuple):
    """`texts` are Markdown: the name as a heading, then the text. `not_read` says why, for each part without text."""

    texts: list[str]
    not_read: list[str]

    def all(self) -> list[str]:
        """The texts, and a list of the parts that cannot be read, so that nothing is left out silently."""
        return [*self.texts, "# Not read\n\n" + "\n".join(self.not_read)] if self.not_read else self.texts


def read_parts(parts: Iterable[Part], read_part: ReadPart) -> Sections:
    """Read each part within a time limit of its own."""
    sections = Sections([], [])
    for part in parts:
        begin_part()
        try:
            reading = read_part(part.content, part.name)
        except Unreadable as problem:
            sections.not_read.append(f"- {part.name}: {problem.reason}")
        else:
            sections.texts.append(f"# {part.name}\n\n{_below_a_heading(reading)}")
    return sections


def _below_a_heading(reading: Reading) -> str:
    """The text with its headings one level lower. Lines of plain text that begin with # are no headings, so they are
    indented."""
    lines, in_code = [], False
    for line in reading.text.split("\n"):
        in_code ^= FENCE.match(line) is not None
        if not reading.markdown:
            lines.append(f"    {line}" if line.startswith("#") else line)
        else:
            lines.append(f"#{line}" if _HEADING.match(line) and not in_code else line)
    return "\n".join(lines)
