"""Word and PowerPoint, as Markdown.

Parsers see the file only after `archives` has looked into it. Pictures give their description, links their text.
Knows nothing about zip archives.
"""

from __future__ import annotations

import io
import re
import zipfile

from markitdown import StreamInfo
from markitdown.converters import DocxConverter, PptxConverter

from veracity.reading.cleaning import tidy
from veracity.reading.pdf import joined
from veracity.reading.plaintext import first_heading
from veracity.reading.properties import stored_title
from veracity.reading.result import Reading

_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]\n]{0,2000})\]\([^)\n]{0,2000}\)")
_PLAIN = ["a", "b", "strong", "em", "i", "u", "s", "del", "sub", "sup"]


def read_docx(content: bytes, name: str) -> Reading:
    converted = DocxConverter().convert(  # type: ignore[no-untyped-call]
        _without_pictures(content),
        StreamInfo(extension=".docx"),
        strip=_PLAIN,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    text = tidy(_PICTURE.sub(r"\1", converted.markdown))
    return Reading(text, stored_title(content) or first_heading(text), "docx", markdown=True)


def read_pptx(content: bytes, name: str) -> Reading:
    converter = PptxConverter()  # type: ignore[no-untyped-call]
    converted = converter.convert(io.BytesIO(content), StreamInfo(extension=".pptx"), escape_misc=False)
    slides = [tidy(_PICTURE.sub(_description, slide)).strip() for slide in _slides(converted.markdown)]
    text, starts = joined(slides)
    return Reading(text, stored_title(content) or first_heading(text), "pptx", markdown=True, pages=starts)


def _without_pictures(content: bytes) -> io.BytesIO:
    """The same document with its pictures empty: the converter would carry every byte of them along as text."""
    lighter = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(lighter, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"" if name.startswith("word/media/") else source.read(name))
    lighter.seek(0)
    return lighter


def _slides(markdown: str) -> list[str]:
    """Cut at the converter's marks; only the next number is one, so that a slide's own text cannot fake it."""
    starts: list[re.Match[str]] = []
    for mark in _SLIDE.finditer(markdown):
        if int(mark[1]) == len(starts) + 1:
            starts.append(mark)
    ends = [mark.start() for mark in starts[1:]] + [len(markdown)]
    return [markdown[mark.end() : end] for mark, end in zip(starts, ends, strict=True)]


def _description(picture: re.Match[str]) -> str:
    """`Picture 4` and `photo.png` are names, not descriptions."""
    named = re.fullmatch(
        r"(?i)(?:picture|image|bild|图片|図|grafik|content placeholder)? ?\d*|\S+\.\w{3,4}", picture[1]
    )
    return "" if named else picture[1]
