"""The files of a form that is sent as multipart/form-data. Knows nothing about what becomes of them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import unquote

from fastapi import Request
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from veracity.errors import InputError

MOST_FILES = 1000  # in one upload
FIELD = "files"
BROKE_OFF = "The upload broke off: send it again."
EXTENDED_NAME = re.compile(r"(?i);\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)")


class _Form(MultiPartParser):
    """Starlette's takes a form that broke off for a whole one, without its last file."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers, self._until_its_end(stream), max_files=MOST_FILES, max_fields=MOST_FILES)
        self._is_whole = False

    def on_end(self) -> None:
        self._is_whole = True

    async def _until_its_end(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async for some in stream:
            yield some
        if not self._is_whole:
            raise InputError(BROKE_OFF)


async def files_of(request: Request) -> list[UploadFile]:
    """Read here and not by the framework, which would take in a whole upload before it asks whose it is."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise InputError(f'Files are uploaded as multipart/form-data, in the field "{FIELD}".')
    try:
        async with aclosing(request.stream()) as stream:
            form = await _Form(request.headers, stream).parse()
    except ClientDisconnect:
        raise InputError(BROKE_OFF) from None
    except MultiPartException as problem:
        raise InputError(f"The form cannot be read: {problem.message}") from None
    except ValueError:
        raise InputError("The form cannot be read: write it in UTF-8.") from None
    files = [value for name, value in form.multi_items() if isinstance(value, UploadFile) and name == FIELD]
    if not files:
        await form.close()
        raise InputError(f'The upload holds no file: send at least one in the field "{FIELD}".')
    return files


def name_of(file: UploadFile) -> str:
    """.NET sends names twice, once in a form that mail knows and we do not, and once percent-encoded."""
    extended = EXTENDED_NAME.search(file.headers.get("content-disposition", ""))
    return unquote(extended[1], errors="replace") if extended else file.filename or ""
