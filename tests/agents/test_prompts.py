"""Prompts of a workspace replace the instructions of the agents; errors are one sentence (SPEC X8)."""

import os
from pathlib import Path

import pytest

from veracity.agents.prompts import AGENTS, MAX_LENGTH, load_overrides
from veracity.errors import ConfigurationError


def folder_with(tmp_path: Path, name: str, content: bytes) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder


def load_error(folder: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_overrides(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_folder_means_no_overrides(tmp_path: Path) -> None:
    assert load_overrides(tmp_path / "prompts") == {}


def test_every_agent_has_an_override(tmp_path: Path) -> None:
    for name in AGENTS:
        folder = folder_with(tmp_path, f"{name}.md", f"Du bist {name}.\n".encode())
    assert load_overrides(folder) == {name: f"Du bist {name}." for name in AGENTS}


@pytest.mark.parametrize("text", ["Answer briefly.", "回答要简洁。", "簡潔に答えること。"])
def test_byte_order_mark_and_outer_space_are_stripped(tmp_path: Path, text: str) -> None:
    folder = folder_with(tmp_path, "writer.md", b"\xef\xbb\xbf\n" + text.encode() + b"\r\n\n")
    assert load_overrides(folder) == {"writer": text}


def test_hidden_files_and_other_suffixes_are_ignored(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, ".writer.md", b"")
    folder_with(tmp_path, "notes.txt", b"")
    folder_with(tmp_path, "writer.md~", b"")
    assert load_overrides(folder) == {}


@pytest.mark.parametrize("name", ["wirter.md", "Writer.md", "writer.MD"])
def test_typo_in_the_name_gets_a_suggestion(tmp_path: Path, name: str) -> None:
    message = load_error(folder_with(tmp_path, name, b"Answer."))
    assert name in message and 'did you mean "writer"?' in message and ", ".join(AGENTS) in message


def test_unknown_name_lists_the_agents(tmp_path: Path) -> None:
    assert ", ".join(AGENTS) in load_error(folder_with(tmp_path, "README.md", b"Hello."))


@pytest.mark.parametrize("content", [b"", b" \n\t\n", "\u3000\n".encode()])
def test_blank_prompt_is_rejected(tmp_path: Path, content: bytes) -> None:
    assert "writer.md is blank" in load_error(folder_with(tmp_path, "writer.md", content))


@pytest.mark.parametrize("content", ["名前".encode("shift_jis"), b"a\0b", "x".encode("utf-16")])
def test_other_encodings_are_rejected(tmp_path: Path, content: bytes) -> None:
    assert "writer.md is not UTF-8" in load_error(folder_with(tmp_path, "writer.md", content))


def test_length_is_counted_in_characters(tmp_path: Path) -> None:
    assert len(load_overrides(folder_with(tmp_path, "writer.md", ("字" * MAX_LENGTH).encode()))["writer"]) == MAX_LENGTH
    assert "20,001 characters" in load_error(folder_with(tmp_path, "writer.md", ("字" * (MAX_LENGTH + 1)).encode()))


def test_credential_is_rejected_and_not_shown(tmp_path: Path) -> None:
    key = "sk-proj-a8Fk29dLq0Zx7Vb3Nm5Ty1Rw"
    message = load_error(folder_with(tmp_path, "reviewer.md", f"Be strict.\nUse {key}\n".encode()))
    assert "reviewer.md, line 2" in message and key not in message


def test_unreadable_file_is_rejected(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "writer.md", b"Answer.")
    (folder / "rewriter.md").mkdir()
    assert "rewriter.md is not a file" in load_error(folder)
    (folder / "rewriter.md").rmdir()
    os.mkfifo(folder / "rewriter.md")
    assert "rewriter.md is not a file" in load_error(folder)


def test_file_in_place_of_the_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("Answer.")
    assert "cannot be read" in load_error(tmp_path / "prompts")
