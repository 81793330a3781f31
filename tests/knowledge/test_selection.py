"""Which files of a folder are ingested: `include`, `exclude`, `.veracityignore` and the defaults."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from veracity.errors import InputError
from veracity.knowledge.discovery import File, discover
from veracity.knowledge.selection import Selection

Write = Callable[..., Path]


def select(
    *paths: Path | str, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[list[str], dict[str, int]]:
    """The names of the files that are ingested, and how many were left out for each reason."""
    selection = Selection(include, exclude)
    found = list(discover(paths, max_megabytes=1, exclude=[], selection=selection))
    files = [entry.path for entry in found if isinstance(entry, File)]
    return [Path(path).name for path in files], selection.counts(files)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["uv.lock", "package-lock.json", "pnpm-lock.yaml", "go.sum", "yarn.lock"], "lock files"),
        (["style.css", "theme.SCSS", "a.less"], "style sheets"),
        (["Makefile", "webpack.config.js", "tsconfig.json", "build.gradle"], "build files"),
        (["jquery.min.js", "app.js.map"], "minified scripts"),
        (["package.json", "pyproject.toml", "Cargo.toml", "composer.json"], "package manifests"),
        (["node_modules/x/a.md", "__pycache__/a.txt", "a.egg-info/x.txt", "t.lance/x.txt"], "dependencies and caches"),
        ([".git/config", ".DS_Store", ".env"], "hidden"),
    ],
)  # fmt: skip
def test_defaults_leave_out_what_is_no_document(write: Write, files: Path, names: list[str], reason: str) -> None:
    for name in (*names, "guide.md", "docs/app.js", "docs/data.json", "docs/建置.md"):
        write(name, "text")
    assert select(files) == (["guide.md", "app.js", "data.json", "建置.md"], {reason: len(names)})


def test_what_is_named_is_ingested_also_if_the_defaults_leave_it_out(write: Write, files: Path) -> None:
    named = [write(name, "text") for name in ("package.json", "node_modules/readme.md", ".notes.md")]
    assert select(*named) == (["package.json", "readme.md", ".notes.md"], {})
    assert select(files / "node_modules") == (["readme.md"], {})
    assert select(files, *named)[0] == ["package.json", "readme.md", ".notes.md"]
    assert select(files, named[0]) == (["package.json"], {"dependencies and caches": 1, "hidden": 1})


def test_patterns_are_filtered_like_folders(write: Write, files: Path) -> None:
    for name in ("a.md", "style.css", "node_modules/b.md", "sub/c.md", "sub/node_modules/d.md"):
        write(name, "text")
    assert select(f"{files}/**/*.md")[0] == ["a.md", "c.md"]
    assert select(f"{files}/*") == (["a.md", "c.md"], {"style sheets": 1, "dependencies and caches": 2})
    assert select(f"{files}/node_modules/*.md")[0] == ["b.md"]


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["*.txt"], ["a.md", "c.md", "d.md"]),
        (["sub/"], ["a.md", "b.txt"]),
        (["/a.md", "deep"], ["b.txt", "c.md"]),
        (["sub/*.md", "!a.md"], ["a.md", "b.txt", "d.md"]),
        (["**/deep/*"], ["a.md", "b.txt", "c.md"]),
        (["*.md", "!c.md"], ["b.txt", "c.md"]),
    ],
)
def test_exclude_has_the_syntax_of_gitignore(write: Write, files: Path, patterns: list[str], kept: list[str]) -> None:
    for name in ("a.md", "b.txt", "sub/c.md", "sub/deep/d.md"):
        write(name, "text")
    names, counts = select(files, exclude=patterns)
    assert names == kept and set(counts) == {"excluded"}
    (files / ".veracityignore").write_text("# a comment\n\n" + "\n".join(patterns))
    names, counts = select(files)
    assert names == kept and set(counts) == {".veracityignore"}


def test_include_selects_files_and_lifts_the_defaults_but_not_the_other_rules(write: Write, files: Path) -> None:
    for name in ("a.md", "b.css", "c.txt", "node_modules/d.css", "sub/e.css", "sub/f.md"):
        write(name, "text")
    reasons = {"not included": 3, "dependencies and caches": 1}
    assert select(files, include=["*.css"]) == (["b.css", "e.css"], reasons)
    assert select(files, include=["*.css"], exclude=["sub"])[0] == ["b.css"]
    assert select(files, include=["*.css", "*.md"])[0] == ["a.md", "b.css", "e.css", "f.md"]
    write(".veracityignore", "b.*\n")
    assert select(files, include=["*.css"])[0] == ["e.css"]


def test_include_and_exclude_count_for_named_files(write: Write, files: Path) -> None:
    named = [write(name, "text") for name in ("a.md", "b.txt", "c.md")]
    write(".veracityignore", "a.md\n")
    assert select(*named, include=["*.md"], exclude=["c.*"]) == (["a.md"], {"not included": 1, "excluded": 1})


def test_patterns_with_folders_also_count_from_the_current_folder(
    write: Write, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docs/a.md", "docs/drafts/b.md", "docs/drafts/old/c.md"):
        write(name, "text")
    monkeypatch.chdir(files)
    for pattern in ("docs/drafts", "./docs/drafts/", "drafts", "/drafts/", f"{files}/docs/drafts", "docs/drafts/**"):
        assert select("docs", exclude=[pattern])[0] == ["a.md"], pattern
    assert select("docs", include=["docs/drafts/*.md"])[0] == ["b.md"]


def test_ignore_files_count_below_their_folder_and_the_nearest_decides(write: Write, files: Path) -> None:
    for name in ("a.md", "style.css", "sub/a.md", "sub/b.css", "sub/deep/a.md", ".github/c.md"):
        write(name, "text")
    write(".veracityignore", "a.md\n!.github/\n")
    write("sub/.veracityignore", "!*.css\n!/deep/a.md\n")
    assert select(files) == (["c.md", "b.css", "a.md"], {".veracityignore": 2, "style sheets": 1})
    assert select(files / "sub/deep")[0] == ["a.md"]
    assert select(files / "sub") == (["b.css", "a.md"], {".veracityignore": 1})


def test_an_empty_pattern_is_refused(files: Path) -> None:
    with pytest.raises(InputError, match="^A pattern to include or exclude is empty"):
        select(files, include=[" "])


@pytest.mark.parametrize("line", ["[z-a]", "!", "a*b*c*d*e", "**/a/**/b/**/c", "x" * 600])
def test_an_unusable_pattern_is_one_sentence(write: Write, files: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"^The pattern \".*\" cannot be used: .*\.$"):
        select(files, exclude=[line])
    with pytest.raises(InputError, match=r"cannot be used"):
        select(files, include=[line])
    write("a.md", "text")
    path = write(".veracityignore", f"*.txt\n{line}\n")
    with pytest.raises(InputError, match=rf'^The pattern ".*" in line 2 of "{path}" cannot be used: .*\.$'):
        select(files)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a" * 100_001])
def test_an_unreadable_ignore_file_is_one_sentence(write: Write, files: Path, content: bytes) -> None:
    path = write(".veracityignore", content)
    with pytest.raises(InputError, match=rf'^"{path}" cannot be used: .*\.$'):
        select(files)


def test_hostile_patterns_and_names_cost_little_time(write: Write, files: Path) -> None:
    write("a" * 250, "text")
    started = time.process_time()
    select(files, exclude=["*a*a*b", "**/*a*a*b/**/c"])
    assert time.process_time() - started < 5
