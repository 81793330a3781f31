"""Names of uploaded files: safe on every file system, normalized, and distinct names stay distinct."""

import os
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veracity.knowledge.file_names import safe_file_name


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
def test_plain_names_stay_and_folders_become_part_of_the_name(name: str, expected: str) -> None:
    assert safe_file_name(name) == expected


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
def test_a_changed_name_gets_a_hash(name: str, expected: str) -> None:
    assert re.fullmatch(expected, safe_file_name(name))


def test_names_with_a_common_start_stay_distinct() -> None:
    names = ["字" * 200 + ".pdf", "字" * 201 + ".pdf", ".字.pdf", "字.pdf", "字?.pdf", "字*.pdf"]
    assert len({safe_file_name(name) for name in names}) == len(names)


@given(st.text() | st.text(alphabet="./\\ ~:con\x00\u202e\u200cか\u3099e\u0300字\ud800", max_size=400))
@example("e\u200c\u0300.txt")  # becomes one letter when the invisible character is removed
def test_any_name_becomes_safe(name: str) -> None:
    safe = safe_file_name(name)
    assert safe == safe.strip() == unicodedata.normalize("NFC", safe)
    assert len(safe.encode()) <= 255
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in safe)
    assert not re.search(r'[/\\<>:"|?*]', safe)
    assert not safe.startswith((".", "~"))
    assert not safe.endswith(".")
    assert os.path.normpath(f"/folder/{safe}") == f"/folder/{safe}"
    assert safe_file_name(safe) == safe


@pytest.mark.parametrize("name", ["x" * 300, "字" * 300 + ".pdf", "y" * 198 + "?.txt", " " * 300 + ".", "a. " * 200])
def test_safe_names_are_stable(name: str) -> None:
    assert safe_file_name(safe_file_name(name)) == safe_file_name(name)
