"""Paths, folders and patterns: each file once, and a reason for each file that is left out."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from veracity.errors import InputError
from veracity.knowledge.discovery import File, discover, find_deleted
from veracity.models import Outcome

Write = Callable[..., Path]


def discover_all(*paths: Path | str, exclude: Path = Path("/nowhere"), megabytes: int = 1) -> list[File | Outcome]:
    return list(discover(paths, max_megabytes=megabytes, exclude=[exclude]))


def file_names(*paths: Path | str, exclude: Path = Path("/nowhere")) -> list[str]:
    return [Path(entry.path).name for entry in discover_all(*paths, exclude=exclude) if isinstance(entry, File)]


def reasons(*paths: Path | str) -> dict[str, tuple[str, str]]:
    return {entry.name: (entry.status, entry.reason) for entry in discover_all(*paths) if isinstance(entry, Outcome)}


def test_a_file_has_an_absolute_path_a_size_and_a_time(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("規程.md", "休暇")
    monkeypatch.chdir(path.parent)
    assert discover_all("規程.md") == [File(str(path), 6, path.stat().st_mtime_ns)]


def test_a_folder_is_walked_recursively_in_order(write: Write, files: Path) -> None:
    for name in ("b.md", "a.md", "z/日本.md", "c/deep/中文.md", "c/x.md"):
        write(name, "text")
    assert file_names(files) == ["a.md", "b.md", "x.md", "中文.md", "日本.md"]


def test_each_file_is_found_once(write: Write, files: Path) -> None:
    path = write("a.md", "text")
    write("sub/b.md", "text")
    places = (path, str(path), files, files / "sub" / "..", f"{files}/*.md", f"{files}/**", files / "sub")
    assert file_names(*places) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*.md", ["a.md"]), ("**/*.md", ["a.md", "b.md"]), ("s*", ["b.md"]), ("?.md", ["a.md"]), ("[ab].*", ["a.md"])],
)
def test_patterns(write: Write, files: Path, pattern: str, expected: list[str]) -> None:
    write("a.md", "text")
    write("sub/b.md", "text")
    write(".hidden/c.md", "text")
    assert file_names(f"{files}/{pattern}") == expected


def test_tilde_expands_to_home_but_not_for_unknown_users(
    write: Write, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.md", "text")
    monkeypatch.setenv("HOME", str(files))
    assert file_names("~/a.md") == ["a.md"]
    with pytest.raises(InputError, match="~no-such-user"):
        discover_all("~no-such-user/a.md")


@pytest.mark.parametrize("name", ["nothing.md", "*.nothing", "no[thing", "文書/*.md", "x\udcff"])
def test_a_missing_path_is_an_error(files: Path, name: str) -> None:
    with pytest.raises(InputError, match="There is no file or folder .*: check the path") as error:
        discover_all(f"{files}/{name}")
    str(error.value).encode()


def test_an_existing_file_wins_over_a_pattern(write: Write, files: Path) -> None:
    assert file_names(write("a[1]*.md", "text")) == ["a[1]*.md"]


@pytest.mark.parametrize("name", ["new\nline.md", "quo\"te'.md", "'; DROP.md", "😀.md", "a\\b.md", "% _.md", "-x.md"])
def test_unusual_file_names(write: Write, files: Path, name: str) -> None:
    write(name, "text")
    assert file_names(files) == file_names(files / name) == [name]


def test_hidden_and_ignored_folders_are_skipped_unless_named(write: Write, files: Path) -> None:
    for name in (".hidden.md", ".git/a.md", "node_modules/b.md", "__pycache__/c.md"):
        write(name, "text")
    assert discover_all(files) == []
    assert file_names(files / ".hidden.md", files / ".git", files / "node_modules") == [".hidden.md", "a.md", "b.md"]


def test_excluded_folders_are_never_ingested(write: Write, files: Path, tmp_path: Path) -> None:
    write("a.md", "text")
    inside = write("knowledge/x.md", "text")
    link = tmp_path / "link"
    link.symlink_to(files)
    for place in (files, link, f"{files}/**", f"{files}/*/*", inside, inside.parent):
        assert "x.md" not in file_names(place, "/dev/null", exclude=files / "knowledge")
    assert file_names(link, exclude=files / "knowledge") == ["a.md"]


def test_links(write: Write, files: Path, tmp_path: Path) -> None:
    inside = write("a.md", "text")
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    (files / "in.md").symlink_to(inside)
    (files / "out.md").symlink_to(outside)
    (files / "dangling.md").symlink_to(tmp_path / "nothing")
    (files / "loop.md").symlink_to(files / "loop.md")
    (files / "up").symlink_to(tmp_path)
    assert file_names(files) == ["a.md", "in.md"]
    skipped = {Path(name).name: reason for name, (_, reason) in reasons(files).items()}
    assert skipped["out.md"] == skipped["dangling.md"] == "it is a link that leads out of the folder"
    assert skipped["up"] == "it is a link to a folder: ingest that folder by its own path"
    assert "loop.md" in skipped
    assert file_names(files / "out.md", files / "up" / "outside.md") == ["out.md", "outside.md"]
    assert reasons(files / "dangling.md") == {
        str(files / "dangling.md"): ("failed", "it cannot be read (No such file or directory)")
    }


def test_files_that_cannot_be_ingested_are_skipped_with_a_reason(write: Write, files: Path) -> None:
    os.mkfifo(files / "pipe")
    write("empty.md", "")
    write("large.md", b"x" * 1_000_001)
    (files / os.fsdecode(b"bad\xff.md")).write_text("text")
    skipped = {Path(name).name: reason for name, (status, reason) in reasons(files).items() if status == "skipped"}
    assert skipped == {
        "pipe": "it is not a regular file",
        "empty.md": "it is empty",
        "large.md": "it has 1 MB, more than reading.max_megabytes allows",
        "bad\\udcff.md": "its name is not valid UTF-8: rename it",
    }
    assert reasons(files / "pipe") == {str(files / "pipe"): ("skipped", "it is not a regular file")}


def test_an_unreadable_folder_is_reported_and_the_others_are_ingested(
    write: Write, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.md", "text")
    write("closed/b.md", "text")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert file_names(files) == ["a.md"]
    assert reasons(files) == {str(files / "closed"): ("failed", "it cannot be read (Permission denied)")}


def test_deleted_files_are_those_below_the_paths(write: Write, files: Path) -> None:
    there = str(write("there.md", "text"))
    deleted = [f"{files}/{name}" for name in ("a.md", "sub/b.md", "sub/deep/c.txt")]
    stored = [there, *deleted, f"{files}x/a.md", "/elsewhere.md"]
    assert find_deleted(stored, [files]) == deleted
    assert find_deleted(stored, [f"{files}/sub"]) == deleted[1:]
    assert find_deleted(stored, [files / "a.md"]) == deleted[:1]
    assert find_deleted(stored, ["/"]) == [*deleted, f"{files}x/a.md", "/elsewhere.md"]
    assert find_deleted(stored, []) == find_deleted([], [files]) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*.md", [0]), ("**/*.md", [0, 1]), ("**", [0, 1, 2]), ("s*", [1, 2]), ("sub/**/c.txt", [2]), ("*/b.*", [1]),
     ("**/deep", [2]), ("[ab].md", [0]), ("x*", [])],
)  # fmt: skip
def test_deleted_files_by_pattern(files: Path, pattern: str, expected: list[int]) -> None:
    deleted = [f"{files}/{name}" for name in ("a.md", "sub/b.md", "sub/deep/c.txt")]
    assert find_deleted(deleted, [f"{files}/{pattern}"]) == [deleted[place] for place in expected]


def test_a_missing_path_is_no_error_if_it_was_stored(files: Path) -> None:
    stored = [f"{files}/sub/a.md"]
    for place in (f"{files}/sub", f"{files}/sub/*.md", stored[0]):
        assert list(discover([place], max_megabytes=1, exclude=[files], stored=stored)) == []
        assert find_deleted(stored, [place]) == stored
    with pytest.raises(InputError):
        list(discover([f"{files}/other"], max_megabytes=1, exclude=[files], stored=stored))


def test_unreachable_files_do_not_count_as_deleted(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lstat(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert find_deleted([f"{files}/a.md"], [files]) == []


def test_patterns_with_many_stars_need_no_backtracking(files: Path) -> None:
    deep = f"{files}/" + "/".join(["a"] * 30)
    assert find_deleted([deep], [f"{files}/" + "/".join(["**"] * 12) + "/b"]) == []
