"""Detects credentials by their shape, so that none is read from a file and none is ever displayed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

HIDDEN = "•••"
MAX_SHOWN = 60

# Credentials by their shape alone.
SHAPES = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
      AIza[A-Za-z0-9_\-]{20,}
    | AKIA[A-Z0-9]{12,}
    | ASIA(?=[A-Z]*[0-9])[A-Z0-9]{16}(?![A-Za-z0-9])
    | gh[oprsu]_[A-Za-z0-9]{20,}
    | github_pat_[A-Za-z0-9_]{20,}
    | xox[abprs]-[A-Za-z0-9\-]{10,}
    | eyJ[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]+)*                                      # a JSON Web Token
    )
    | (?<=://)[^\s/:@]{0,100}:[^\s/@]{3,200}(?=@)                                       # https://name:password@host
    | (?<=[?&])(?i:api[_-]?key|key|(?:access_)?token|secret|password|sig)=[^\s&]{8,}    # https://host?key=…
    | -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
    """,
    re.VERBOSE,
)
# Prefixes of keys. The rest must look random, too: "sk-learn-pipeline-tutorial" is not a key.
PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|hf|r8|pplx|csk|nvapi|tvly|fw|glpat|vt)[-_]|[Bb]earer\s+)"
    r"([A-Za-z0-9._~+/=\-]{12,})"
)
UNBROKEN = re.compile(r"[A-Za-z0-9]{8,}")
BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}")
HEXADECIMAL = re.compile(r"[0-9a-fA-F]{32,}")
# The folder of a downloaded model is named after its commit.
SNAPSHOT = re.compile(r"(?<=[/\\]snapshots[/\\])[0-9a-f]{40}(?![A-Za-z0-9])")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# A field whose name ends in such a word holds a credential, whatever its value.
CREDENTIAL_WORD = re.compile(
    r"(?:api|access|secret)?(?:key|token)|secret|passw(?:or)?d|pwd|passphrase|credentials?|auth(?:orization)?|bearer"
)
# Names of environment variables that hold a credential.
KEY_VARIABLE = re.compile(r"(?i)(?:_KEY|_TOKEN|_SECRET|_PASSWORD)(?:_|$)")


def looks_like_key(text: str) -> bool:
    """Whether the text contains something shaped like a key, or a long run of letters and digits without words."""
    text = SNAPSHOT.sub("", text)
    return (
        SHAPES.search(text) is not None
        or any(_is_random_after_prefix(found[1]) for found in PREFIXED.finditer(text))
        or any(_is_random(run) for run in UNBROKEN.findall(text) if len(run) >= 20)
        or any(_is_random(_letters_and_digits(run)) for run in BASE64.findall(text) if run.count("/") <= 3)
    )


def _is_random_after_prefix(text: str) -> bool:
    whole = _letters_and_digits(text)
    return (len(whole) >= 32 and _is_random(whole)) or any(
        len(run) >= 20 or (len(run) >= 14 and _has_digit(run)) or _is_random(run) for run in UNBROKEN.findall(text)
    )


def _is_random(run: str) -> bool:
    """Names consist of words, even `DeepSeekV3Base0324Instruct`; in a key the character class changes constantly."""
    if not _has_digit(run) or run.isdigit():
        return False
    mean_word = len(run) / len(WORD.findall(run))
    return HEXADECIMAL.fullmatch(run) is not None or mean_word < (5 if len(run) >= 32 else 3.5)


def _has_digit(run: str) -> bool:
    return any(character.isdigit() for character in run)


def _letters_and_digits(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)


def names_credential(field: str) -> bool:
    """True for `api_key`, `accessToken`, `X-Api-Key`; not for `max_tokens`."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", field).lower())
    return bool(words) and CREDENTIAL_WORD.fullmatch(words[-1]) is not None


def key_place(document: Any, place: tuple[int | str, ...] = ()) -> tuple[int | str, ...] | None:
    """The path of the first credential in a parsed document, or None.

    A key that is itself a credential is not part of the path.
    """
    if isinstance(document, str):
        return place if looks_like_key(document) else None
    if isinstance(document, dict):
        for name, value in document.items():
            if looks_like_key(name):
                return place
            if value and names_credential(name):
                return (*place, name)
    for name, value in _parts(document):
        if (found := key_place(value, (*place, name))) is not None:
            return found
    return None


def _parts(document: Any) -> Iterable[tuple[int | str, Any]]:
    if isinstance(document, dict):
        return document.items()
    return enumerate(document) if isinstance(document, list) else ()


def without_secrets(text: str) -> str:
    """Replace everything shaped like a key, and every key in the environment, with a placeholder."""
    keys = {value.strip() for name, value in os.environ.items() if KEY_VARIABLE.search(name)}
    forms = {
        form
        for key in keys
        if len(key) >= 8
        for form in (
            key,
            json.dumps(key)[1:-1],
            repr(key)[1:-1],
            quote(key, safe=""),
        )  # also as in JSON, a traceback, a URL
    }
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    text = SHAPES.sub(HIDDEN, text)
    return PREFIXED.sub(lambda found: HIDDEN if _is_random_after_prefix(found[1]) else found[0], text)


def presentable(text: str, max_length: int = MAX_SHOWN) -> str:
    """A user's text for a message: no credential, one line, printable, shortened."""
    if looks_like_key(text):
        return HIDDEN
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: max_length + 1])
    return line if len(line) <= max_length else line[:max_length] + "…"
