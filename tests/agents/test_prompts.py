"""Prompts of a workspace replace those of the agents, and what cannot be used is told in one sentence (SPEC X8)."""

import os
from pathlib import Path

import pytest

from veracity.agents.prompts import LONGEST, NAMES, load_prompts
from veracity.errors import ConfigurationError


def folder_with(tmp_path: Path, name: str, content: bytes) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder


def complaint(folder: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_prompts(folder)
    told = str(caught.value)
    assert "\n" not in told
    return told


def test_no_folder_means_no_prompts(tmp_path: Path) -> None:
    assert load_prompts(tmp_path / "prompts") == {}


def test_every_agent_can_be_given_one(tmp_path: Path) -> None:
    for name in NAMES:
        folder = folder_with(tmp_path, f"{name}.md", f"Du bist {name}.\n".encode())
    assert load_prompts(folder) == {name: f"Du bist {name}." for name in NAMES}


@pytest.mark.parametrize("text", ["Answer briefly.", "回答要简洁。", "簡潔に答えること。"])
def test_text_comes_without_byte_order_mark_and_outer_space(tmp_path: Path, text: str) -> None:
    folder = folder_with(tmp_path, "writer.md", b"\xef\xbb\xbf\n" + text.encode() + b"\r\n\n")
    assert load_prompts(folder) == {"writer": text}


def test_hidden_files_and_other_endings_are_left_alone(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, ".writer.md", b"")
    folder_with(tmp_path, "notes.txt", b"")
    folder_with(tmp_path, "writer.md~", b"")
    assert load_prompts(folder) == {}


@pytest.mark.parametrize("name", ["wirter.md", "Writer.md", "writer.MD"])
def test_a_slip_in_the_name_is_told_with_what_was_meant(tmp_path: Path, name: str) -> None:
    told = complaint(folder_with(tmp_path, name, b"Answer."))
    assert name in told and 'did you mean "writer"?' in told and ", ".join(NAMES) in told


def test_an_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    assert ", ".join(NAMES) in complaint(folder_with(tmp_path, "README.md", b"Hello."))


@pytest.mark.parametrize("content", [b"", b" \n\t\n", "\u3000\n".encode()])
def test_blank_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "writer.md is blank" in complaint(folder_with(tmp_path, "writer.md", content))


@pytest.mark.parametrize("content", ["名前".encode("shift_jis"), b"a\0b", "x".encode("utf-16")])
def test_other_encodings_are_refused(tmp_path: Path, content: bytes) -> None:
    assert "writer.md is not UTF-8" in complaint(folder_with(tmp_path, "writer.md", content))


def test_the_length_is_counted_in_characters(tmp_path: Path) -> None:
    assert len(load_prompts(folder_with(tmp_path, "writer.md", ("字" * LONGEST).encode()))["writer"]) == LONGEST
    assert "20,001 characters" in complaint(folder_with(tmp_path, "writer.md", ("字" * (LONGEST + 1)).encode()))


def test_a_credential_is_refused_and_not_shown(tmp_path: Path) -> None:
    key = "sk-proj-a8Fk29dLq0Zx7Vb3Nm5Ty1Rw"
    told = complaint(folder_with(tmp_path, "reviewer.md", f"Be strict.\nUse {key}\n".encode()))
    assert "reviewer.md, line 2" in told and key not in told


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "writer.md", b"Answer.")
    (folder / "rewriter.md").mkdir()
    assert "rewriter.md is not a file" in complaint(folder)
    (folder / "rewriter.md").rmdir()
    os.mkfifo(folder / "rewriter.md")
    assert "rewriter.md is not a file" in complaint(folder)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("Answer.")
    assert "cannot be read" in complaint(tmp_path / "prompts")
