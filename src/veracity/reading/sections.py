"""Documents inside of a document, such as attachments and the files of an archive: each becomes a section."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from veracity.reading.base import Reading, Unreadable
from veracity.reading.sandbox.progress import begin_part

# Reads a part by its content and name. Raises Unreadable.
ReadPart = Callable[[bytes, str], Reading]


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
            text = read_part(part.content, part.name).text
        except Unreadable as problem:
            sections.not_read.append(f"- {part.name}: {problem.reason}")
        else:
            sections.texts.append(f"# {part.name}\n\n{text}")
    return sections
