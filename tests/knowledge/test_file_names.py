"""Names of files that strangers hand in: harmless everywhere, one spelling, and two stay two."""

import os
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veracity.knowledge.file_names import kept_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.pdf", "report.pdf"),
        ("年假制度 (2024).docx", "年假制度 (2024).docx"),
        ("旅費規程.html", "旅費規程.html"),
        ("../../etc/passwd", "passwd"),
        ("office/dublin/rules.md", "office - dublin - rules.md"),
        ("./規程\\大阪\\旅費.txt", "規程 - 大阪 - 旅費.txt"),
        ("a/../b.txt", "b.txt"),
        ("a//b.txt", "b.txt"),
        ("C:\\fakepath\\報告.txt", "報告.txt"),
        ("/absolute/a.txt", "a.txt"),
        ("か\u3099.txt", "が.txt"),
        ("archive.tar.gz", "archive.tar.gz"),
    ],
)
def test_names_stay_as_they_are_but_for_the_way_there(name: str, expected: str) -> None:
    assert kept_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", r"untitled-\w{8}"),
        ("..", r"untitled-\w{8}"),
        (" ", r"untitled-\w{8}"),
        ("a/", r"untitled-\w{8}"),
        (".env", r"env-\w{8}"),
        ("a\x00b\n.txt", r"ab-\w{8}\.txt"),
        ("invoice\u202efdp.exe", r"invoicefdp-\w{8}\.exe"),
        ("NUL.txt", r"_NUL-\w{8}\.txt"),
        ("what?.txt", r"what_-\w{8}\.txt"),
        ("trailing. ", r"trailing-\w{8}"),
        ("half\ud800.txt", r"half\ufffd\.txt"),
        ("字" * 300 + ".pdf", r"字{60,65}-\w{8}\.pdf"),
        ("x" * 300, r"x{191}-\w{8}"),
    ],
)
def test_a_name_that_had_to_be_changed_is_marked(name: str, expected: str) -> None:
    assert re.fullmatch(expected, kept_name(name))


def test_names_that_begin_alike_stay_apart() -> None:
    names = ["字" * 200 + ".pdf", "字" * 201 + ".pdf", ".字.pdf", "字.pdf", "字?.pdf", "字*.pdf"]
    assert len({kept_name(name) for name in names}) == len(names)


@given(st.text() | st.text(alphabet="./\\ ~:con\x00\u202e\u200cか\u3099e\u0300字\ud800", max_size=400))
@example("e\u200c\u0300.txt")  # becomes one letter when what is unseen has gone
def test_any_name_becomes_one_that_stays_in_the_folder(name: str) -> None:
    fit = kept_name(name)
    assert fit == fit.strip() == unicodedata.normalize("NFC", fit)
    assert len(fit.encode()) <= 255
    assert not any(unicodedata.category(one) in ("Cc", "Cf", "Cs") for one in fit)
    assert not re.search(r'[/\\<>:"|?*]', fit)
    assert not fit.startswith((".", "~"))
    assert not fit.endswith(".")
    assert os.path.normpath(f"/folder/{fit}") == f"/folder/{fit}"
    assert kept_name(fit) == fit


@pytest.mark.parametrize("name", ["x" * 300, "字" * 300 + ".pdf", "y" * 198 + "?.txt", " " * 300 + ".", "a. " * 200])
def test_a_name_that_was_changed_is_not_changed_again(name: str) -> None:
    assert kept_name(kept_name(name)) == kept_name(name)
