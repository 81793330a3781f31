"""What an Office file says of itself: its title.

Knows nothing about its text.
"""

from __future__ import annotations

import io
import re
import zipfile

from defusedxml import ElementTree  # type: ignore[import-untyped]

from veracity.reading.cleaning import as_title

_DC_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
# Titles that PowerPoint and Word give of themselves.
_NO_TITLE = re.compile(r"(?i)(?:powerpoint presentation|presentation|word document|untitled|document ?\d*)?")


def stored_title(content: bytes) -> str:
    """The title among the document's properties; those that nobody chose do not count."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = ElementTree.fromstring(archive.read("docProps/core.xml")).findtext(_DC_TITLE)
    except (KeyError, ElementTree.ParseError, ValueError):
        return ""
    title = as_title(found)
    return "" if _NO_TITLE.fullmatch(title) else title
