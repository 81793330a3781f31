"""Unpacks what a server packed, piece by piece, and never more than is wanted. Knows nothing about HTTP."""

from __future__ import annotations

import zlib

GZIP = 16 + zlib.MAX_WBITS


class TooMuch(Exception):
    """More came of it than may."""


class Plain:
    """What is not packed, counted."""

    def __init__(self, most: int) -> None:
        self._left = most

    def feed(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise TooMuch
        return data


class Gzip:
    """Raises zlib.error for what is damaged."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._unpacker = zlib.decompressobj(GZIP)

    def feed(self, data: bytes) -> bytes:
        pieces = []
        while data:
            piece = self._unpacker.decompress(data, self._left + 1)
            self._left -= len(piece)
            if self._left < 0:
                raise TooMuch
            pieces.append(piece)
            data = self._unpacker.unused_data
            if self._unpacker.eof:  # another part may follow
                self._unpacker = zlib.decompressobj(GZIP)
        return b"".join(pieces)


UNPACKERS: dict[str, type[Plain] | type[Gzip]] = {"": Plain, "identity": Plain, "gzip": Gzip, "x-gzip": Gzip}
