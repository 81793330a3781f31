"""E-mails: .eml and Outlook's .msg. The headers as labelled lines, the text, then every attachment as a section.

Attachments are read like files.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any

from veracity.reading.base import Format, Reading, Unreadable, as_title, failed, skipped, tidy
from veracity.reading.encodings import decode
from veracity.reading.sections import Part, ReadPart, read_parts

MAX_ATTACHMENTS = 200
HEADERS = ("Subject", "From", "To", "Cc", "Date")

_SURROGATE = re.compile("[\udc80-\udcff]")


def read_eml(content: bytes, read_part: ReadPart) -> Reading:
    message = BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(content.lstrip())
    headers = {name: _header(message, name) for name in HEADERS}
    if not any(headers.values()):
        raise failed("it is damaged: it has none of the headers of an e-mail")
    return _reading("eml", headers, _eml_body(message), _eml_attachments(message), read_part)


def _reading(
    kind: Format,
    headers: dict[str, str],
    body: str,
    attachments: Iterable[Part],
    read_part: ReadPart,
) -> Reading:
    lines = "\n".join(f"{name}: {value}" for name, value in headers.items() if value)
    sections = read_parts(attachments, read_part).all()
    text = "\n\n".join(filter(None, (lines, tidy(body), *sections)))
    return Reading(tidy(text), headers["Subject"], kind, markdown=True)


def _header(message: EmailMessage, name: str) -> str:
    """The header on one line; empty if it is missing or cannot be parsed."""
    try:
        value = str(message.get(name, ""))
    except Exception:  # noqa: BLE001 - the parser of headers raises any error for malformed ones
        value = next((str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    if _SURROGATE.search(value):  # bytes without a declared encoding
        value = decode(value.encode("utf-8", "surrogateescape"))
    return as_title(value)


def _eml_body(message: EmailMessage) -> str:
    """The plain text if there is any, else the HTML."""
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        if part is not None and (text := _part_text(part, is_html=kind == "html")):
            return text
    return ""


def _part_text(part: Any, *, is_html: bool) -> str:
    payload = _payload(part)
    if not payload.strip():
        return ""
    text = decode(payload, part.get_content_charset() or "")
    return _html_text(text) if is_html else text.strip()


def _payload(part: Any) -> bytes:
    content: bytes = part.get_payload(decode=True) or b""
    return content


def _html_text(text: str) -> str:
    from veracity.reading.html import read_html  # noqa: PLC0415 - slow to import, and few e-mails have no plain text

    try:
        return read_html(text.encode()).text
    except Unreadable:
        return ""


def _eml_attachments(message: EmailMessage) -> Iterator[Part]:
    for number, part in enumerate(message.iter_attachments(), 1):
        if number > MAX_ATTACHMENTS:
            raise failed(f"it has more than {MAX_ATTACHMENTS} attachments")
        if part.get_content_type() == "message/rfc822":
            inner: Any = part.get_payload(0)
            yield Part(_name(part, f"message {number}.eml"), inner.as_bytes())
        elif not part.is_multipart():
            yield Part(_name(part, f"attachment {number}"), _payload(part))


def _name(part: EmailMessage, default: str) -> str:
    try:
        return as_title(part.get_filename()) or default
    except Exception:  # noqa: BLE001 - as above
        return default


# --- Outlook ---------------------------------------------------------------------------------------------------------

# Numbers of MAPI properties.
_SUBJECT, _BODY, _HTML, _SENDER, _SENDER_ADDRESS, _TO, _CC = "0037", "1000", "1013", "0C1A", "0C1F", "0E04", "0E03"
_FILE_NAME, _SHORT_FILE_NAME, _FILE_CONTENT = "3707", "3704", "3701"
_SENT, _DELIVERED, _CODEPAGE = 0x0039, 0x0E06, 0x3FFD
_PROPERTIES = "__properties_version1.0"
_PROPERTIES_HEADER_BYTES, _PROPERTY_BYTES = 32, 16


def read_msg(content: bytes, read_part: ReadPart) -> Reading:
    import olefile  # type: ignore[import-untyped]  # noqa: PLC0415 - only for this format

    with olefile.OleFileIO(content) as message:
        mail = _Outlook(message)
        sender = " ".join(filter(None, (mail.text(_SENDER), f"<{address}>" if (address := mail.address()) else "")))
        headers = dict.fromkeys(HEADERS, "") | {
            "Subject": as_title(mail.text(_SUBJECT)),
            "From": as_title(sender),
            "To": as_title(mail.text(_TO)),
            "Cc": as_title(mail.text(_CC)),
            "Date": mail.date(),
        }
        body = mail.text(_BODY) or _html_text(mail.html())
        if not body and not any(headers.values()):
            raise skipped("it holds no text")
        return _reading("msg", headers, body, mail.attachments(), read_part)


class _Outlook:
    """The properties of a message: streams named by number and type, and a table of those with a fixed length."""

    def __init__(self, message: Any) -> None:
        self._message = message
        table = self._stream(_PROPERTIES)[_PROPERTIES_HEADER_BYTES:]
        entries = [table[at : at + _PROPERTY_BYTES] for at in range(0, len(table), _PROPERTY_BYTES)]
        self._fixed = {int.from_bytes(entry[2:4], "little"): entry[8:16] for entry in entries}
        self._encoding = f"cp{int.from_bytes(self._fixed.get(_CODEPAGE, b'')[:4], 'little')}"

    def text(self, number: str, folder: str = "") -> str:
        if wide := self._stream(f"{folder}__substg1.0_{number}001F"):
            return wide.decode("utf-16-le", "replace").strip("\0 \r\n")
        narrow = self._stream(f"{folder}__substg1.0_{number}001E").strip(b"\0 \r\n")
        return decode(narrow, self._encoding) if narrow else ""

    def html(self) -> str:
        content = self._stream(f"__substg1.0_{_HTML}0102")
        return decode(content, self._encoding) if content.strip() else self.text(_HTML)

    def address(self) -> str:
        """The sender's address; empty for the internal name that Exchange gives."""
        address = self.text(_SENDER_ADDRESS)
        return address if "@" in address else ""

    def date(self) -> str:
        """When it was sent, in UTC: stored in units of 100 ns since 1601."""
        value = int.from_bytes(self._fixed.get(_SENT, b"") or self._fixed.get(_DELIVERED, b""), "little")
        try:
            moment = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=value // 10)
        except OverflowError:
            return ""
        return moment.strftime("%Y-%m-%d %H:%M UTC") if value else ""

    def attachments(self) -> Iterator[Part]:
        paths = self._message.listdir(streams=False, storages=True)
        folders = sorted({path[0] for path in paths if path[0].startswith("__attach_version1.0_")})
        if len(folders) > MAX_ATTACHMENTS:
            raise failed(f"it has more than {MAX_ATTACHMENTS} attachments")
        for number, folder in enumerate(folders, 1):
            name = self.text(_FILE_NAME, f"{folder}/") or self.text(_SHORT_FILE_NAME, f"{folder}/")
            content = self._stream(f"{folder}/__substg1.0_{_FILE_CONTENT}0102")
            yield Part(as_title(name) or f"attachment {number}", content)

    def _stream(self, path: str) -> bytes:
        if not self._message.exists(path):
            return b""
        content: bytes = self._message.openstream(path).read()
        return content
