"""Files, folders and patterns: each file once, and a word on those that are not taken."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from veracity.errors import InputError
from veracity.knowledge.discovery import File, discover, vanished
from veracity.models import Outcome

Write = Callable[..., Path]


def look(*paths: Path | str, leave_out: Path = Path("/nowhere"), megabytes: int = 1) -> list[File | Outcome]:
    return list(discover(paths, max_megabytes=megabytes, leave_out=[leave_out]))


def taken(*paths: Path | str, leave_out: Path = Path("/nowhere")) -> list[str]:
    return [Path(one.path).name for one in look(*paths, leave_out=leave_out) if isinstance(one, File)]


def reasons(*paths: Path | str) -> dict[str, tuple[str, str]]:
    return {one.name: (one.status, one.reason) for one in look(*paths) if isinstance(one, Outcome)}


def test_a_file_is_known_by_its_full_path_size_and_time(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("規程.md", "休暇")
    monkeypatch.chdir(path.parent)
    assert look("規程.md") == [File(str(path), 6, path.stat().st_mtime_ns)]


def test_a_folder_is_read_in_order_and_in_depth(write: Write, files: Path) -> None:
    for name in ("b.md", "a.md", "z/日本.md", "c/deep/中文.md", "c/x.md"):
        write(name, "text")
    assert taken(files) == ["a.md", "b.md", "x.md", "中文.md", "日本.md"]


def test_each_file_once_however_often_it_is_named(write: Write, files: Path) -> None:
    path = write("a.md", "text")
    write("sub/b.md", "text")
    places = (path, str(path), files, files / "sub" / "..", f"{files}/*.md", f"{files}/**", files / "sub")
    assert taken(*places) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*.md", ["a.md"]), ("**/*.md", ["a.md", "b.md"]), ("s*", ["b.md"]), ("?.md", ["a.md"]), ("[ab].*", ["a.md"])],
)
def test_patterns(write: Write, files: Path, pattern: str, expected: list[str]) -> None:
    write("a.md", "text")
    write("sub/b.md", "text")
    write(".hidden/c.md", "text")
    assert taken(f"{files}/{pattern}") == expected


def test_home_is_known_and_an_unknown_user_is_a_name_like_others(
    write: Write, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.md", "text")
    monkeypatch.setenv("HOME", str(files))
    assert taken("~/a.md") == ["a.md"]
    with pytest.raises(InputError, match="~no-such-user"):
        look("~no-such-user/a.md")


@pytest.mark.parametrize("name", ["nothing.md", "*.nothing", "no[thing", "文書/*.md", "x\udcff"])
def test_what_is_named_and_not_there_is_an_error(files: Path, name: str) -> None:
    with pytest.raises(InputError, match="There is no file or folder .*: check the path") as told:
        look(f"{files}/{name}")
    str(told.value).encode()


def test_a_name_may_look_like_a_pattern(write: Write, files: Path) -> None:
    assert taken(write("a[1]*.md", "text")) == ["a[1]*.md"]


@pytest.mark.parametrize("name", ["new\nline.md", "quo\"te'.md", "'; DROP.md", "😀.md", "a\\b.md", "% _.md", "-x.md"])
def test_odd_names_are_names(write: Write, files: Path, name: str) -> None:
    write(name, "text")
    assert taken(files) == taken(files / name) == [name]


def test_hidden_and_foreign_folders_are_left_out_unless_they_are_named(write: Write, files: Path) -> None:
    for name in (".hidden.md", ".git/a.md", "node_modules/b.md", "__pycache__/c.md"):
        write(name, "text")
    assert look(files) == []
    assert taken(files / ".hidden.md", files / ".git", files / "node_modules") == [".hidden.md", "a.md", "b.md"]


def test_our_own_folder_is_never_taken(write: Write, files: Path, tmp_path: Path) -> None:
    write("a.md", "text")
    inside = write("knowledge/x.md", "text")
    link = tmp_path / "link"
    link.symlink_to(files)
    for place in (files, link, f"{files}/**", f"{files}/*/*", inside, inside.parent):
        assert "x.md" not in taken(place, "/dev/null", leave_out=files / "knowledge")
    assert taken(link, leave_out=files / "knowledge") == ["a.md"]


def test_links(write: Write, files: Path, tmp_path: Path) -> None:
    inside = write("a.md", "text")
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    (files / "in.md").symlink_to(inside)
    (files / "out.md").symlink_to(outside)
    (files / "dangling.md").symlink_to(tmp_path / "nothing")
    (files / "loop.md").symlink_to(files / "loop.md")
    (files / "up").symlink_to(tmp_path)
    assert taken(files) == ["a.md", "in.md"]
    told = {Path(name).name: reason for name, (_, reason) in reasons(files).items()}
    assert told["out.md"] == told["dangling.md"] == "it is a link that leads out of the folder"
    assert told["up"] == "it is a link to a folder: name that itself"
    assert "loop.md" in told
    assert taken(files / "out.md", files / "up" / "outside.md") == ["out.md", "outside.md"]
    assert reasons(files / "dangling.md") == {
        str(files / "dangling.md"): ("failed", "it cannot be read (No such file or directory)")
    }


def test_what_is_no_file_with_something_in_it_is_skipped(write: Write, files: Path) -> None:
    os.mkfifo(files / "pipe")
    write("empty.md", "")
    write("large.md", b"x" * 1_000_001)
    (files / os.fsdecode(b"bad\xff.md")).write_text("text")
    told = {Path(name).name: reason for name, (status, reason) in reasons(files).items() if status == "skipped"}
    assert told == {
        "pipe": "it is not a regular file",
        "empty.md": "it is empty",
        "large.md": "it has 1 MB, more than reading.max_megabytes allows",
        "bad\\udcff.md": "its name is not valid UTF-8: rename it",
    }
    assert reasons(files / "pipe") == {str(files / "pipe"): ("skipped", "it is not a regular file")}


def test_a_folder_that_cannot_be_read_is_told_and_the_rest_is_taken(
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
    assert taken(files) == ["a.md"]
    assert reasons(files) == {str(files / "closed"): ("failed", "it cannot be read (Permission denied)")}


def test_vanished_are_those_below_what_is_named(write: Write, files: Path) -> None:
    there = str(write("there.md", "text"))
    gone = [f"{files}/{name}" for name in ("a.md", "sub/b.md", "sub/deep/c.txt")]
    remembered = [there, *gone, f"{files}x/a.md", "/elsewhere.md"]
    assert vanished(remembered, [files]) == gone
    assert vanished(remembered, [f"{files}/sub"]) == gone[1:]
    assert vanished(remembered, [files / "a.md"]) == gone[:1]
    assert vanished(remembered, ["/"]) == [*gone, f"{files}x/a.md", "/elsewhere.md"]
    assert vanished(remembered, []) == vanished([], [files]) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*.md", [0]), ("**/*.md", [0, 1]), ("**", [0, 1, 2]), ("s*", [1, 2]), ("sub/**/c.txt", [2]), ("*/b.*", [1]),
     ("**/deep", [2]), ("[ab].md", [0]), ("x*", [])],
)  # fmt: skip
def test_vanished_by_pattern(files: Path, pattern: str, expected: list[int]) -> None:
    gone = [f"{files}/{name}" for name in ("a.md", "sub/b.md", "sub/deep/c.txt")]
    assert vanished(gone, [f"{files}/{pattern}"]) == [gone[place] for place in expected]


def test_what_was_there_may_be_gone_altogether(files: Path) -> None:
    remembered = [f"{files}/sub/a.md"]
    for place in (f"{files}/sub", f"{files}/sub/*.md", remembered[0]):
        assert list(discover([place], max_megabytes=1, leave_out=[files], remembered=remembered)) == []
        assert vanished(remembered, [place]) == remembered
    with pytest.raises(InputError):
        list(discover([f"{files}/other"], max_megabytes=1, leave_out=[files], remembered=remembered))


def test_what_cannot_be_reached_has_not_vanished(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lstat(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert vanished([f"{files}/a.md"], [files]) == []


def test_patterns_with_many_stars_are_matched_in_time(files: Path) -> None:
    deep = f"{files}/" + "/".join(["a"] * 30)
    assert vanished([deep], [f"{files}/" + "/".join(["**"] * 12) + "/b"]) == []
