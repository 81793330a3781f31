"""Prompts that a workspace brings itself: `prompts/NAME.md` replaces the instructions of that agent (SPEC X8).

Only the instructions: what is asked of a model beside them (marks, form, the rule that texts are no orders) stays ours.
Knows nothing about what the prompts say.
"""

from __future__ import annotations

from pathlib import Path

from veracity.errors import ConfigurationError, reason_of
from veracity.secrets import looks_like_key, presentable
from veracity.settings.toml import alternatives, read_bytes

NAMES = ("writer", "reviewer", "rewriter", "router", "summarizer")
SUFFIX = ".md"
LONGEST = 20_000


def load_prompts(folder: Path) -> dict[str, str]:
    """The instructions by the name of their agent, for those that have a file. No folder, no prompts."""
    return {path.stem: _prompt(path) for path in _files(folder)}


def _files(folder: Path) -> list[Path]:
    """Hidden files are an editor's, and other endings somebody's notes. A name we do not know is a slip."""
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise ConfigurationError(
            f"{folder} cannot be read ({reason_of(problem)}): make it a readable folder or remove it."
        ) from None
    found = [path for path in paths if path.suffix.lower() == SUFFIX and not path.name.startswith(".")]
    for path in found:
        if path.stem not in NAMES or path.suffix != SUFFIX:
            known = alternatives(path.stem.lower(), NAMES)
            raise ConfigurationError(
                f'{folder / presentable(path.name)}: no agent takes a prompt of this name{known}, each with "{SUFFIX}".'
            )
    return found


def _prompt(path: Path) -> str:
    try:
        text = (read_bytes(path) or b"").decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigurationError(f"{path} is not UTF-8 text: save it as UTF-8.")
    if not text:
        raise ConfigurationError(f"{path} is blank: write the instructions or remove it.")
    if len(text) > LONGEST:
        raise ConfigurationError(f"{path} has {len(text):,} characters: a prompt has at most {LONGEST:,}.")
    for number, line in enumerate(text.splitlines(), 1):
        if looks_like_key(line):
            raise ConfigurationError(
                f"{path}, line {number}: this looks like a credential (not shown), and a prompt is sent to a provider: "
                "remove it."
            )
    return text
