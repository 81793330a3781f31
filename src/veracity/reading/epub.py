"""EPUB: the chapters in the order of the book, as Markdown. A zip file of XHTML."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from defusedxml import DefusedXmlException, ElementTree  # type: ignore[import-untyped]

from veracity.reading.base import ArchiveLimits, Reading, Unreadable, failed, stored_title, tidy
from veracity.reading.encodings import declared_in_xml, decode
from veracity.reading.markdown import first_heading
from veracity.reading.visible_text import parse_html, visible_text
from veracity.reading.zip_check import BROKEN_ZIP, check_zip

CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CHAPTER_TYPES = frozenset(("application/xhtml+xml", "text/html", "application/xml", "text/xml"))


def read_epub(content: bytes, limits: ArchiveLimits | None = None) -> Reading:
    check_zip(content, limits or ArchiveLimits())
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            package = _package_path(archive)
            book = _parse(archive, package)
            chapters = list(_chapter_names(archive, book, posixpath.dirname(package)))
            _refuse_protected(archive, chapters)
            text = "\n\n".join(filter(None, (_chapter(archive.read(name)) for name in chapters)))
    except BROKEN_ZIP as problem:
        raise failed("it is damaged: its archive is broken or cut off") from problem
    title = next((stored_title(element.text) for element in _named(book, "title")), "")
    return Reading(text, title or first_heading(text), "epub", markdown=True)


def _package_path(archive: zipfile.ZipFile) -> str:
    paths = [element.get("full-path", "") for element in _named(_parse(archive, CONTAINER), "rootfile")]
    return next(filter(None, paths), "")


def _parse(archive: zipfile.ZipFile, name: str) -> Element:
    try:
        root: Element = ElementTree.fromstring(archive.read(name))
    except KeyError:
        raise failed("it is damaged: it lacks the list of its chapters") from None
    except ElementTree.ParseError:
        raise failed(f'it is damaged: its part "{name}" is not valid XML') from None
    except DefusedXmlException:
        raise failed("it declares XML entities, which are not expanded") from None
    return root


def _chapter_names(archive: zipfile.ZipFile, book: Element, folder: str) -> Iterator[str]:
    """The parts that hold text, in the order of the spine. Addresses are relative to the package and may be escaped."""
    items = {item.get("id", ""): item for item in _named(book, "item")}
    names, seen = set(archive.namelist()), set[str]()
    for reference in _named(book, "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or item.get("media-type", "application/xhtml+xml") not in _CHAPTER_TYPES:
            continue
        addresses = (unquote(item.get("href", "")), item.get("href", ""))
        paths = [posixpath.normpath(posixpath.join(folder, address)) for address in addresses]
        if (path := next((path for path in paths if path in names), "")) and path not in seen:
            seen.add(path)
            yield path


def _refuse_protected(archive: zipfile.ZipFile, chapters: list[str]) -> None:
    """Raise Unreadable if chapters are encrypted. Many books encrypt their fonts only."""
    if ENCRYPTION not in archive.namelist():
        return
    encrypted = {unquote(element.get("URI", "")) for element in _named(_parse(archive, ENCRYPTION), "CipherReference")}
    if encrypted.intersection(chapters):
        raise failed("it is encrypted: only the shop's own program can read it")


def _chapter(content: bytes) -> str:
    """The text of a chapter; empty if it shows none, such as a cover."""
    try:
        return tidy(visible_text(parse_html(decode(content, declared_in_xml(content)))))
    except Unreadable:
        return ""


def _named(element: Element, name: str) -> Iterator[Element]:
    """The elements with this name, in any namespace."""
    return (part for part in element.iter() if str(part.tag).rpartition("}")[2] == name)
