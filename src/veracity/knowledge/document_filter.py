"""Limits a search to documents: turns paths and globs into a condition of the store's queries.

A pattern matches a document if it matches its location, the end of it, or a folder in it; a text added from memory by
its id. The regular expressions are those of Rust, which take linear time.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from veracity.errors import InputError
from veracity.secrets import presentable

MAX_PATTERNS, MAX_PATTERN_LENGTH = 20, 500
MAX_REGEX_LENGTH = 10_000  # Rust limits the memory of a regular expression
# The server shows most users the last two parts of a path, such as …/hr/leave.md. A pattern that begins like this
# matches only what they see, so that nobody can find out the names of the folders above.
SHORTENED = "…/"

_LOCATION = "location" if os.sep == "/" else f"replace(location, '{os.sep}', '/')"
_SHORTENED_LOCATION = (
    f"CASE WHEN location LIKE 'uploads/%' THEN location WHEN {_LOCATION} LIKE '%/%/%/%' "
    f"THEN substring_index({_LOCATION}, '/', -2) ELSE substring_index({_LOCATION}, '/', -1) END"
)
_TOKEN = re.compile(r"\*\*/|/\*\*|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|.", re.S)
_WILDCARDS = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_SPECIAL_IN_BRACKETS = re.compile(r"[\\\[\]^&~]|--")


def check_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns as they are stored. Raises InputError for one that cannot be used."""
    if len(patterns) > MAX_PATTERNS:
        raise InputError(f"A question can be limited to at most {MAX_PATTERNS} paths or patterns, not {len(patterns)}.")
    for pattern in patterns:
        path, shown = pattern.removeprefix(SHORTENED), presentable(pattern)
        if not path.strip() or len(path) > MAX_PATTERN_LENGTH:
            raise InputError(f'A path or pattern has 1 to {MAX_PATTERN_LENGTH} characters, unlike "{shown}".')
        try:
            re.compile(_translate(path))
        except re.error:
            raise InputError(f'The pattern "{shown}" is not valid: check the part in brackets.') from None
    return tuple(patterns)


def sql_condition(patterns: Sequence[str]) -> str:
    """For rows of documents and passages. Empty if there is no pattern."""
    whole = [pattern for pattern in patterns if not pattern.startswith(SHORTENED)]
    shortened = [pattern.removeprefix(SHORTENED) for pattern in patterns if pattern.startswith(SHORTENED)]
    return " OR ".join([*_conditions(whole, _LOCATION), *_conditions(shortened, _SHORTENED_LOCATION)])


def sql_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _conditions(paths: Sequence[str], location: str) -> Iterator[str]:
    if paths:
        yield f"document_id IN ({', '.join(map(sql_string, paths))})"
    name = f"CASE WHEN location = '' THEN document_id ELSE {location} END"
    for regex in _join(dict.fromkeys(part for path in paths for part in _alternatives(path))):
        yield f"regexp_like({name}, {sql_string(regex)})"


def _alternatives(path: str) -> Iterator[str]:
    """The path as a pattern, and literally: file names may contain a star or brackets.

    File systems differ in how they compose characters such as が.
    """
    for form in ("NFC", "NFD"):
        normalized = unicodedata.normalize(form, path.replace(os.sep, "/")).removeprefix("./").rstrip("/")
        yield _translate(normalized)
        yield re.escape(normalized)


def _join(alternatives: Iterable[str]) -> Iterator[str]:
    """As few regular expressions as possible: each is matched with every row."""
    joined = ""
    for alternative in alternatives:
        if joined and len(joined) + len(alternative) > MAX_REGEX_LENGTH:
            yield f"(?s)(?:^|/)(?:{joined})(?:/|$)"
            joined = ""
        joined = f"{joined}|{alternative}" if joined else alternative
    if joined:
        yield f"(?s)(?:^|/)(?:{joined})(?:/|$)"


def _translate(pattern: str) -> str:
    """Turn a glob into a regular expression."""
    return "".join(map(_translate_token, _TOKEN.findall(pattern)))


def _translate_token(token: str) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if len(token) == 1:
        return re.escape(token)
    is_negated = token[1] in "!^"
    characters = token[2:-1] if is_negated else token[1:-1]
    escaped = _SPECIAL_IN_BRACKETS.sub(lambda found: "".join(f"\\{character}" for character in found[0]), characters)
    return f"[^{escaped}]" if is_negated else f"[{escaped}]"
