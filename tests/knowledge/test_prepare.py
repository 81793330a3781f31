"""A document made ready: read, cut, with its words and names; or the reason why nothing comes of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import CHINESE, ENGLISH, JAPANESE
from veracity.knowledge.prepare import UNCHANGED, context, prepare

CUT = {"most": 200, "overlap": 30}
Write = Callable[..., Path]


def of_text(text: str, title: str = "", markdown: bool = True, **cut: int) -> dict[str, Any]:
    request = {"text": text, "title": title, "format": "text", "markdown": markdown, "pages": [], "digest": "d"}
    return prepare({**request, "cut": {**CUT, **cut}})


def of_file(path: Path, **more: str) -> dict[str, Any]:
    return prepare({"path": str(path), "cut": CUT, **more})


@pytest.mark.parametrize(
    ("text", "language", "heading", "word"),
    [(ENGLISH, "en", "Leave", "dublin"), (CHINESE, "zh", "差旅", "上海"), (JAPANESE, "ja", "休暇", "大阪")],
)
def test_a_file_in_each_language(write: Write, text: str, language: str, heading: str, word: str) -> None:
    made = of_file(write("文書.md", text))
    assert (made["language"], made["format"], made["markdown"]) == (language, "markdown", True)
    (passage,) = made["passages"]
    assert made["text"][passage["start"] : passage["end"]] == made["text"]
    assert (passage["language"], passage["headings"]) == (language, [heading])
    assert word in passage["words"].split()


def test_the_title_is_the_given_one_then_the_documents_then_the_files_name(write: Write) -> None:
    assert of_text("plain words", "Given")["title"] == "Given"
    assert of_text("plain words")["title"] == ""
    assert of_file(write("旅費規程.txt", "plain words and nothing else"))["title"] == "旅費規程"


def test_title_and_headings_count_for_each_passage() -> None:
    made = of_text("# Vacation\n\nTwenty days.", "規程 Dublin")
    (passage,) = made["passages"]
    assert {"dublin", "規程", "vacat"} <= set(passage["words"].split())


def test_repeated_texts_have_marks_of_their_own_and_the_same_text_the_same() -> None:
    text = "\n\n".join(f"# {n}\n\n" + "Again and again and again. " * 20 for n in "aaa")
    marks = [passage["mark"] for passage in of_text(text, most=100, overlap=0)["passages"]]
    assert len(set(marks)) == len(marks) > 2
    assert marks == [passage["mark"] for passage in of_text(text, most=100, overlap=0)["passages"]]


def test_a_file_that_holds_what_it_held_is_not_prepared_again(write: Write) -> None:
    path = write("a.md", ENGLISH)
    digest = of_file(path)["digest"]
    assert of_file(path, known_digest=digest) == {"unreadable": ["skipped", UNCHANGED]}
    assert "text" in of_file(write("a.md", JAPANESE), known_digest=digest)


@pytest.mark.parametrize("text", ["", " \n\t\u3000"])
def test_an_empty_text_is_skipped(text: str) -> None:
    assert of_text(text) == {"unreadable": ["skipped", "it is empty"]}


def test_half_a_character_is_told() -> None:
    for made in (of_text("a\ud800b"), of_text("text", "\udfff")):
        status, reason = made["unreadable"]
        assert status == "failed"
        assert "lone surrogate" in reason


def test_a_nul_is_a_character() -> None:
    assert of_text("before\0after")["text"] == "before\0after"


def test_files_that_cannot_be_read_say_why(files: Path) -> None:
    assert of_file(files / "gone.md") == {"unreadable": ["failed", "it cannot be read (No such file or directory)"]}
    assert of_file(files) == {"unreadable": ["failed", "it cannot be read (Is a directory)"]}
    loop = files / "loop"
    loop.symlink_to(loop)
    assert "Too many levels" in of_file(loop)["unreadable"][1]


def test_context_is_what_the_passage_does_not_say_itself() -> None:
    assert context("Leave", ["Leave", "Ireland"], "In Ireland: 25 days.") == "Leave"
    assert context("休暇", ("大阪",), "二十日") == "休暇 – 大阪"
    assert context("", [], "text") == ""
