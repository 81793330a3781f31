"""Reads TOML files of the workspace. Every error is one sentence with the place in the file."""

from __future__ import annotations

import difflib
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from veracity.errors import ConfigurationError, reason_of
from veracity.secrets import key_place, looks_like_key, presentable

MAX_FILE_BYTES = 1_000_000
# A key of a hundred dotted parts: the parser's memory grows with the square of their number.
DEEP_NAME = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')[ \t]*+\.[ \t]*+){100}""", re.ASCII
)

# Pydantic's error types in words for the author of a file.
ERROR_SENTENCES = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a section: write [{place}] above its settings",
    "extra_forbidden": "there is no such setting",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_type": "must be a whole number",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list: write [[{place}]], in double brackets, above each entry",
    "literal_error": "must be {expected}",
    "missing": "this is missing; add it",
    "model_type": "must be a section: write [{place}] above its settings",
    "too_short": "must not be empty",
    "string_pattern_mismatch": "must not be blank",
    "string_too_short": "must not be empty",
    "string_type": "must be text in quotes",
    "string_unicode": "must be UTF-8 text",
}


def read_bytes(path: Path) -> bytes | None:
    """The content of the file, or None if it does not exist. Raises `ConfigurationError`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise ConfigurationError(f"{path} is not a file: make it one or remove it.")
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigurationError(f"{path} is a broken link: fix the link or remove it.") from None
        return None
    except OSError as problem:
        raise ConfigurationError(
            f"{path} cannot be read ({reason_of(problem)}): make it a readable file or remove it."
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigurationError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes: make it smaller.")
    return content


def parse(content: bytes, path: Path) -> dict[str, Any]:
    """The parsed document. Raises `ConfigurationError` if it is not valid TOML or contains a credential."""
    text = _decode(content, path)
    if DEEP_NAME.search(text):
        raise _too_deep(path)
    try:
        document = tomllib.loads(text)
        place = key_place(document)
    except RecursionError:
        raise _too_deep(path) from None
    except tomllib.TOMLDecodeError as problem:
        _refuse_credentials(text, path)
        raise ConfigurationError(f"{path} is not valid TOML: {_parser_message(problem)}: fix it there.") from None
    except ValueError:  # Python's own limit on the digits of a number
        raise ConfigurationError(f"{path} has a number with too many digits: write a smaller one.") from None
    if place is not None:
        raise _credential(f"{path}, {dotted(place)}")
    return document


def explain(problem: ValidationError, where: str, allowed: Mapping[str, Iterable[str]]) -> str:
    """One sentence for Pydantic's first error. `allowed` lists the keys of each section."""
    first = problem.errors(include_url=False)[0]
    location = f"{where}, {dotted(first['loc'])}"
    if first["type"] != "extra_forbidden":
        return f"{location}{assigned(first['input'])}: {complaint(first)}."
    section = ".".join(part for part in first["loc"][:-1] if isinstance(part, str))
    return f"{location}: {complaint(first)}{alternatives(str(first['loc'][-1]), allowed[section])}."


def complaint(error: ErrorDetails) -> str:
    """The error of a value, without its location."""
    context = {name: _plain(value) for name, value in error.get("ctx", {}).items()}
    place = ".".join(part for part in error["loc"] if isinstance(part, str))
    if error["type"] == "model_type" and isinstance(error["loc"][-1], int):
        return f"must be an entry of its own: write [[{place}]] above its settings"
    otherwise = error["msg"].removeprefix("Value error, ").rstrip(".")
    return (
        ERROR_SENTENCES[error["type"]].format(place=place, **context) if error["type"] in ERROR_SENTENCES else otherwise
    )


def alternatives(name: str, known: Iterable[str]) -> str:
    """A suggestion for an unknown name, and all known names."""
    names = list(known)
    close = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.7)
    return (f' (did you mean "{close[0]}"?)' if close else "") + f"; known: {', '.join(names)}"


def dotted(location: tuple[int | str, ...]) -> str:
    """`metrics[2].weight` from ("metrics", 1, "weight"): counted from one."""
    path = ""
    for part in location[:10]:
        path += f"[{part + 1}]" if isinstance(part, int) else f".{presentable(part)}" if path else presentable(part)
    return path + ("…" if len(location) > 10 else "") or "the top level"


def assigned(value: Any) -> str:
    """` = 'hot'`: the value as written; empty for a long, secret or nested value."""
    if value is None or isinstance(value, dict | list):
        return ""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # a number of too many digits
        return ""
    return "" if len(text) > 60 or looks_like_key(str(value)) else f" = {text}"


def _decode(content: bytes, path: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigurationError(f"{path} is not UTF-8 text: save it as UTF-8.")
    return text


def _too_deep(path: Path) -> ConfigurationError:
    return ConfigurationError(f"{path} nests its values too deeply: flatten it.")


def _refuse_credentials(text: str, path: Path) -> None:
    """Check line by line a file that does not parse."""
    for number, line in enumerate(text.splitlines(), 1):
        if looks_like_key(line):
            raise _credential(f"{path}, line {number}")


def _credential(place: str) -> ConfigurationError:
    return ConfigurationError(
        f"{place}: this looks like a credential (not shown); credentials come from the environment only, "
        "so remove it here and set the provider's variable, such as OPENAI_API_KEY."
    )


def _parser_message(problem: ValueError) -> str:
    """The parser's message, which may repeat a name from the file, and its position."""
    words, _, place = str(problem).rpartition(" (")
    return f"{presentable(words, 100)} ({place.removesuffix('.')}" if words else presentable(str(problem), 100)


def _plain(value: Any) -> str:
    """A limit formatted as 0 instead of 0.0."""
    if isinstance(value, int | float):
        return f"{int(value) if value == int(value) else value:,}"
    return str(value)
