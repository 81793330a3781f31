"""Prompts for the models: those of the package, and the instructions that a workspace overrides (SPEC X8).

In the package, `prompts/LANGUAGE/` holds rules and requests per language, `prompts/requests/` those in English only,
and `prompts/instructions/` the agents' instructions, which `prompts/AGENT.md` in a workspace replaces. The rules
(citation marks, output form, never follow instructions inside documents) cannot be replaced.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from veracity.errors import ConfigurationError, reason_of
from veracity.language import Language
from veracity.locales import text
from veracity.secrets import looks_like_key, presentable
from veracity.settings.toml import alternatives, read_bytes

AGENTS = ("writer", "reviewer", "rewriter", "router", "summarizer")
SUFFIX = ".md"
MAX_LENGTH = 20_000  # characters


def load_prompt(name: str, **values: object) -> str:
    """A prompt by its path in `prompts/`, such as "en/writer", with its placeholders filled in."""
    prompt = _read(name)
    return prompt.format(**values) if values else prompt


def agent_text(language: Language, key: str, **values: object) -> str:
    """A text for people by an agent."""
    return text(language, "agents", key, **values)


def load_overrides(folder: Path) -> dict[str, str]:
    """The instructions in a workspace's folder by agent. Raises `ConfigurationError` for a file that cannot be used."""
    return {path.stem: _read_override(path) for path in _override_files(folder)}


@cache
def _read(name: str) -> str:
    return files("veracity").joinpath("prompts", f"{name}{SUFFIX}").read_text(encoding="utf-8").rstrip("\n")


def _override_files(folder: Path) -> list[Path]:
    """Ignores hidden files and other suffixes; rejects Markdown files that no agent reads: they may be typos."""
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise ConfigurationError(
            f"{folder} cannot be read ({reason_of(problem)}): make it a readable folder or remove it."
        ) from None
    prompts = [path for path in paths if path.suffix.lower() == SUFFIX and not path.name.startswith(".")]
    for path in prompts:
        if path.stem not in AGENTS or path.suffix != SUFFIX:
            hint = alternatives(path.stem.lower(), AGENTS)
            raise ConfigurationError(
                f'{folder / presentable(path.name)}: no agent has a prompt of this name{hint}, each with "{SUFFIX}".'
            )
    return prompts


def _read_override(path: Path) -> str:
    try:
        prompt = (read_bytes(path) or b"").decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        prompt = "\0"
    if "\0" in prompt:
        raise ConfigurationError(f"{path} is not UTF-8 text: save it as UTF-8.")
    if not prompt:
        raise ConfigurationError(f"{path} is blank: write the instructions or remove it.")
    if len(prompt) > MAX_LENGTH:
        raise ConfigurationError(f"{path} has {len(prompt):,} characters: a prompt has at most {MAX_LENGTH:,}.")
    for number, line in enumerate(prompt.splitlines(), 1):
        if looks_like_key(line):
            raise ConfigurationError(
                f"{path}, line {number}: this looks like a credential (not shown), and prompts are sent to a provider: "
                "remove it."
            )
    return prompt
