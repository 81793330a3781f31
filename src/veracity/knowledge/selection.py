"""Decides which of the files that were found are ingested: `include`, `exclude`, `.veracityignore` and the defaults.

All patterns have the syntax of .gitignore. A file that the user names is only subject to `include` and `exclude`.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from veracity.errors import InputError, reason_of
from veracity.patterns import lazy_pattern
from veracity.secrets import presentable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".veracityignore"
EXCLUDED, NOT_INCLUDED = "excluded", "not included"
MAX_IGNORE_FILE_BYTES = 100_000
# Patterns become regular expressions that backtrack: their time grows with the power of the number of stars.
MAX_PATTERN_LENGTH, MAX_STARS, MAX_DOUBLE_STARS = 500, 3, 2

# Files that are no documents, by their reason.
DEFAULT_FILES = {
    "lock files": (
        "*.lock", "*.lockb", "*.lockfile", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum",
    ),
    "style sheets": ("*.css", "*.scss", "*.sass", "*.less", "*.styl"),
    "build files": (
        "makefile", "gnumakefile", "cmakelists.txt", "*.cmake", "dockerfile", "*.dockerfile", "*.gradle",
        "*.gradle.kts", "gradlew", "jenkinsfile", "rakefile", "tsconfig*.json", "*.config.js", "*.config.cjs",
        "*.config.mjs", "*.config.ts",
    ),
    "minified scripts": ("*.min.js", "*.min.mjs", "*.min.cjs", "*.bundle.js", "*.js.map", "*.mjs.map", "*.css.map"),
    "package manifests": (
        "package.json", "bower.json", "composer.json", "pyproject.toml", "setup.py", "setup.cfg", "manifest.in",
        "pipfile", "cargo.toml", "go.mod", "gemfile", "*.gemspec", "pom.xml", "*.csproj",
    ),
    "hidden": (".*",),
}  # fmt: skip
DEFAULT_FOLDERS = {
    "dependencies and caches": (
        "node_modules", "bower_components", "site-packages", "__pycache__", "*.egg-info", "*.lance",
    ),
    "hidden": (".*",),
}  # fmt: skip


def _compile_names(names: dict[str, tuple[str, ...]]) -> dict[str, re.Pattern[str]]:
    return {reason: lazy_pattern("|".join(map(fnmatch.translate, globs)), re.I) for reason, globs in names.items()}


_DEFAULT_FILES, _DEFAULT_FOLDERS = _compile_names(DEFAULT_FILES), _compile_names(DEFAULT_FOLDERS)


class Selection:
    """Raises InputError for a pattern or an ignore file that cannot be used."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        for pattern in (*include, *exclude):
            if not pattern.strip():
                raise InputError("A pattern to include or exclude is empty: write one such as *.md.")
            _require_usable(pattern)
        self._include, self._exclude = tuple(include), tuple(exclude)
        self._choices: dict[str, tuple[GitIgnoreSpec | None, GitIgnoreSpec]] = {}  # by the folder they are relative to
        self._ignores: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = {}  # those above a folder, nearest first
        self._left_out: dict[str, str] = {}

    def accepts(self, path: str, root: str, *, is_folder: bool = False) -> bool:
        """Whether to ingest what was found below `root`. Assumes that the folders in between are accepted."""
        return self._record(path, self._reason(path, root, is_folder, is_named=False))

    def accepts_named(self, path: str, *, is_folder: bool) -> bool:
        """The same for a path that the user named."""
        return self._record(path, self._reason(path, os.path.dirname(path), is_folder, is_named=True))

    def accepts_match(self, path: str, root: str, *, is_folder: bool) -> bool:
        """The same for a path that matched a pattern: also checks the folders between `root` and it."""
        parts = os.path.relpath(path, root).split(os.sep)
        folders = [os.path.join(root, *parts[:end]) for end in range(1, len(parts))]
        is_below = all(self.accepts(folder, root, is_folder=True) for folder in folders)
        return is_below and self.accepts(path, root, is_folder=is_folder)

    def counts(self, ingested: Iterable[str]) -> dict[str, int]:
        """How many files and folders were left out, by reason. One that was found twice may be among the `ingested`."""
        left_out = self._left_out.keys() - set(ingested)
        return dict(Counter(self._left_out[path] for path in sorted(left_out)).most_common())

    def _record(self, path: str, reason: str) -> bool:
        if reason and os.path.basename(path) != IGNORE_FILE:
            self._left_out[path] = reason
        return not reason

    def _reason(self, path: str, root: str, is_folder: bool, *, is_named: bool) -> str:
        """Why it is left out; "" if it is ingested."""
        include, exclude = self._chosen(root)
        relative = _relative(path, root, is_folder)
        if exclude.match_file(relative):
            return EXCLUDED
        files_only = None if is_folder else include  # folders need not match
        if files_only is not None and not files_only.match_file(relative):
            return NOT_INCLUDED
        by_file = "" if is_named else self._ignored_by_file(path, is_folder)
        if by_file is not None or files_only is not None:
            return by_file or ""
        return _default_reason(os.path.basename(path), is_folder)

    def _chosen(self, root: str) -> tuple[GitIgnoreSpec | None, GitIgnoreSpec]:
        """`include` and `exclude` for paths relative to this folder."""
        if root not in self._choices:
            include = _make_spec(_anchor(self._include, root)) if self._include else None
            self._choices[root] = include, _make_spec(_anchor(self._exclude, root))
        return self._choices[root]

    def _ignored_by_file(self, path: str, is_folder: bool) -> str | None:
        """None if no ignore file decides. The nearest one does, as in git."""
        for folder, spec in self._ignore_files(os.path.dirname(path)):
            is_ignored = spec.check_file(_relative(path, folder, is_folder)).include
            if is_ignored is not None:
                return IGNORE_FILE if is_ignored else ""
        return None

    def _ignore_files(self, folder: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        if folder not in self._ignores:
            parent = os.path.dirname(folder)
            above = self._ignore_files(parent) if parent != folder else ()
            own = _read_ignore_file(os.path.join(folder, IGNORE_FILE))
            self._ignores[folder] = above if own is None else ((folder, own), *above)
        return self._ignores[folder]


def _default_reason(name: str, is_folder: bool) -> str:
    patterns = _DEFAULT_FOLDERS if is_folder else _DEFAULT_FILES
    return next((reason for reason, names in patterns.items() if names.match(name)), "")


def _relative(path: str, folder: str, is_folder: bool) -> str:
    return path[len(folder) :].lstrip(os.sep) + ("/" if is_folder else "")


def _anchor(patterns: Iterable[str], root: str) -> Iterator[str]:
    """The patterns and, for those with a folder in them, the same from the current directory, where users type them."""
    for pattern in patterns:
        yield pattern
        path = os.path.abspath(pattern)
        if "/" in pattern.rstrip("/") and path.startswith(os.path.join(root, "")):
            yield "/" + _relative(path, root, pattern.endswith("/"))


def _read_ignore_file(path: str) -> GitIgnoreSpec | None:
    if not os.path.isfile(path):
        return None
    shown = presentable(path, MAX_PATTERN_LENGTH)
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_IGNORE_FILE_BYTES + 1)
        lines = content.decode("utf-8-sig").splitlines()
    except OSError as problem:
        raise InputError(f'"{shown}" cannot be used: it cannot be read ({reason_of(problem)}).') from None
    except UnicodeDecodeError:
        raise InputError(f'"{shown}" cannot be used: save it as UTF-8 text.') from None
    if len(content) > MAX_IGNORE_FILE_BYTES:
        raise InputError(f'"{shown}" cannot be used: it has more than {MAX_IGNORE_FILE_BYTES:,} bytes.')
    for number, line in enumerate(lines, 1):
        _require_usable(line, f' in line {number} of "{shown}"')
    return _make_spec(lines)


def _make_spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only ingestion needs it

    return GitIgnoreSpec.from_lines(patterns)


def _require_usable(pattern: str, place: str = "") -> None:
    problem = ""
    segments = pattern.strip().split("/")
    if len(pattern) > MAX_PATTERN_LENGTH:
        problem = f"it has more than {MAX_PATTERN_LENGTH} characters."
    elif segments.count("**") > MAX_DOUBLE_STARS:
        problem = f"use ** at most {MAX_DOUBLE_STARS} times."
    elif any(segment.count("*") > MAX_STARS for segment in segments):
        problem = f"use at most {MAX_STARS} stars between two slashes."
    else:
        try:
            _make_spec([pattern])
        except (ValueError, re.error):
            problem = "write it as in .gitignore."
    if problem and not pattern.startswith("#"):
        raise InputError(f'The pattern "{presentable(pattern)}"{place} cannot be used: {problem}')
