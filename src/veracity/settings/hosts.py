"""Names under which a server is reached, in the form in which a browser sends them. Knows nothing about requests."""

from __future__ import annotations

import ipaddress
import re

ALONE = 'write the name alone, such as "answers.example.com"'
_PORT = re.compile(r"(?<=[^:]):\d{1,5}\Z")  # of an address with colons, the last part is none
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def host_name(given: str) -> str:
    """Without its port, and with letters that names have not as they are written for them."""
    name = _PORT.sub("", given.strip()).rstrip(".").lower()
    if not name.isascii():
        import idna  # noqa: PLC0415 - large, and few need it

        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            raise ValueError(ALONE) from None
    if not (_NAME.fullmatch(name) or is_address(name.strip("[]"))):
        raise ValueError(ALONE)
    return name


def is_address(name: str) -> bool:
    """Of numbers, and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
