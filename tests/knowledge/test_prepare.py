"""A document prepared for the store: read and chunked, with words and entities; or the reason why not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import CHINESE, ENGLISH, JAPANESE
from tests.reading.documents import pdf
from veracity.knowledge.prepare import UNCHANGED, passage_context, prepare

CHUNKING = {"max_tokens": 200, "overlap_tokens": 30}
Write = Callable[..., Path]


def prepare_text(text: str, title: str = "", markdown: bool = True, **chunking: int) -> dict[str, Any]:
    request = {"text": text, "title": title, "format": "text", "markdown": markdown, "pages": [], "digest": "d"}
    return prepare({**request, "chunking": {**CHUNKING, **chunking}})


def prepare_file(path: Path, **more: str) -> dict[str, Any]:
    return prepare({"path": str(path), "chunking": CHUNKING, **more})


@pytest.mark.parametrize(
    ("text", "language", "heading", "word"),
    [(ENGLISH, "en", "Leave", "dublin"), (CHINESE, "zh", "差旅", "上海"), (JAPANESE, "ja", "休暇", "大阪")],
)
def test_a_file_in_each_language(write: Write, text: str, language: str, heading: str, word: str) -> None:
    prepared = prepare_file(write("文書.md", text))
    assert (prepared["language"], prepared["format"], prepared["markdown"]) == (language, "markdown", True)
    (passage,) = prepared["passages"]
    assert prepared["text"][passage["start"] : passage["end"]] == prepared["text"]
    assert (passage["language"], passage["headings"]) == (language, [heading])
    assert word in passage["words"].split()


def test_title_falls_back_to_the_document_then_the_file_name(write: Write) -> None:
    assert prepare_text("plain words", "Given")["title"] == "Given"
    assert prepare_text("plain words")["title"] == ""
    assert prepare_file(write("旅費規程.txt", "plain words and nothing else"))["title"] == "旅費規程"


@pytest.mark.parametrize("stored", ["", "untitled", "Microsoft Word - draft.docx"])
def test_a_pdf_without_a_title_shows_its_file_name(tmp_path: Path, stored: str) -> None:
    path = tmp_path / "収据 2026-01.pdf"
    path.write_bytes(pdf("Total 99", title=stored))
    assert prepare_file(path)["title"] == "収据 2026-01"


def test_title_and_headings_count_for_each_passage() -> None:
    prepared = prepare_text("# Vacation\n\nTwenty days.", "規程 Dublin")
    (passage,) = prepared["passages"]
    assert {"dublin", "規程", "vacat"} <= set(passage["words"].split())


def test_passage_keys_are_distinct_and_stable() -> None:
    text = "\n\n".join(f"# {n}\n\n" + "Again and again and again. " * 20 for n in "aaa")
    keys = [passage["key"] for passage in prepare_text(text, max_tokens=100, overlap_tokens=0)["passages"]]
    assert len(set(keys)) == len(keys) > 2
    assert keys == [passage["key"] for passage in prepare_text(text, max_tokens=100, overlap_tokens=0)["passages"]]


def test_a_file_with_the_known_digest_is_unchanged(write: Write) -> None:
    path = write("a.md", ENGLISH)
    digest = prepare_file(path)["digest"]
    assert prepare_file(path, known_digest=digest) == {"unreadable": ["skipped", UNCHANGED]}
    assert "text" in prepare_file(write("a.md", JAPANESE), known_digest=digest)


@pytest.mark.parametrize("text", ["", " \n\t\u3000"])
def test_an_empty_text_is_skipped(text: str) -> None:
    assert prepare_text(text) == {"unreadable": ["skipped", "it is empty"]}


def test_a_lone_surrogate_fails() -> None:
    for prepared in (prepare_text("a\ud800b"), prepare_text("text", "\udfff")):
        status, reason = prepared["unreadable"]
        assert status == "failed"
        assert "lone surrogate" in reason


def test_null_characters_are_kept() -> None:
    assert prepare_text("before\0after")["text"] == "before\0after"


def test_unreadable_files_have_a_reason(files: Path) -> None:
    assert prepare_file(files / "gone.md") == {
        "unreadable": ["failed", "it cannot be read (No such file or directory)"]
    }
    assert prepare_file(files) == {"unreadable": ["failed", "it cannot be read (Is a directory)"]}
    loop = files / "loop"
    loop.symlink_to(loop)
    assert "Too many levels" in prepare_file(loop)["unreadable"][1]


def test_context_leaves_out_what_the_passage_repeats() -> None:
    assert passage_context("Leave", ["Leave", "Ireland"], "In Ireland: 25 days.") == "Leave"
    assert passage_context("休暇", ("大阪",), "二十日") == "休暇 – 大阪"
    assert passage_context("", [], "text") == ""
