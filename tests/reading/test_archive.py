"""Archives: every file is a section; bombs, links and names that lead outside."""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Mapping

import pytest

from tests.reading import documents
from tests.reading.reads import assert_clean, refusal, text_of
from veracity.reading.base import ArchiveLimits, Unreadable
from veracity.reading.extract import extract

FILES = {
    "en/rules.md": b"# Rules\n\nReturns within thirty days.",
    "中文/规则.docx": documents.docx("退货须在三十天内办理。"),
    "日本語.txt": "返品は三十日以内です。".encode("shift_jis"),
}
TEXTS = [
    "# en/rules.md\n\n## Rules\n\nReturns within thirty days.",
    "# 中文/规则.docx\n\n退货须在三十天内办理。",
    "# 日本語.txt\n\n返品は三十日以内です。",
]
IGNORED = {"__MACOSX/._a": b"junk", ".DS_Store": b"junk", "en/.hidden/a.txt": b"hidden"}


def tarred(files: Mapping[str, bytes], mode: str = "w:gz", link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if link:
            entry = tarfile.TarInfo("link.txt")
            entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry)
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz", "w:bz2", "w:xz"])
def test_every_file_is_a_section(mode: str) -> None:
    files = FILES | IGNORED
    reading = extract(documents.zipped(files) if mode == "zip" else tarred(files, mode), "a.bin")
    assert_clean(reading)
    assert reading.text == "\n\n".join(TEXTS)
    assert (reading.title, reading.markdown) == ("", True)


def test_lines_that_begin_like_headings() -> None:
    """Headings stay below the name of their file. Comments are no headings."""
    code = b"# Title\n\n```\n# comment\n```"
    text = text_of(documents.zipped({"a.md": code, "b.py": b"# comment\nx = 1"}), "a.zip")
    assert text == "# a.md\n\n## Title\n\n```\n# comment\n```\n\n# b.py\n\n    # comment\nx = 1"


def test_files_that_cannot_be_read_are_listed() -> None:
    files = FILES | {"tool.bin": b"\x7fELF\0\0", "cut.pdf": b"%PDF-1.7 junk"}
    assert text_of(documents.zipped(files), "a.zip").endswith(
        "# Not read\n\n- tool.bin: its format is not supported (program)\n"
        "- cut.pdf: it is damaged: it is cut off or not a valid PDF"
    )
    refused = refusal(documents.zipped({"tool.bin": b"\x7fELF\0\0"}), "a.zip")
    assert refused.reason == "it holds no file that can be read (tool.bin: its format is not supported (program))"
    assert refusal(documents.zipped({}), "a.zip").reason == "it holds no file that can be read (it is empty)"


def test_archives_inside_of_archives() -> None:
    inner = tarred({"deep.txt": b"two levels"})
    content = documents.zipped({"a.tgz": inner, "b.zip": documents.zipped({"c.zip": documents.zipped(FILES)})})
    assert text_of(content, "a.zip") == (
        "# a.tgz\n\n## deep.txt\n\ntwo levels\n\n# Not read\n\n- b.zip: it holds no file that can be read "
        "(c.zip: it holds no file that can be read (en/rules.md: archives and e-mails are read two levels deep))"
    )


def test_links_are_not_followed() -> None:
    assert text_of(tarred({"a.txt": b"text"}, link="/etc/passwd"), "a.tar.gz") == "# a.txt\n\ntext"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo("link.txt")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    assert "points outside" in refusal(buffer.getvalue(), "a.zip").reason


@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "C:/a.txt", "a/../../b.txt"])
def test_names_that_lead_outside(name: str) -> None:
    assert "points outside" in refusal(documents.zipped(FILES | {name: b"text"}), "a.zip").reason
    assert "points outside" in refusal(tarred(FILES | {name: b"text"}), "a.tar.gz").reason


@pytest.mark.parametrize("pack", [documents.zipped, tarred])
def test_bombs(pack: object) -> None:
    bomb = pack(FILES | {"bomb.txt": b"0" * 30_000_000})  # type: ignore[operator]
    refused = refusal(bomb, "a.zip")
    assert (refused.status, refused.reason) == ("failed", "it unpacks to more than 100 times its size")
    many = pack({f"{number}.txt": b"text" for number in range(30)})  # type: ignore[operator]
    for limits, reason in (
        (ArchiveLimits(entries=20), "it holds more than 20 parts"),
        (ArchiveLimits(unpacked_megabytes=0), "it unpacks to more than 0 MB"),
    ):
        with pytest.raises(Unreadable) as refused_many:
            extract(many, "a.zip", limits)
        assert refused_many.value.reason == reason


def test_a_compressed_file_is_not_an_archive() -> None:
    assert "not a tar archive" in refusal(gzip.compress(b"text " * 1_000), "a.txt.gz").reason


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_randomly_damaged_archives(kind: str) -> None:
    whole = documents.zipped(FILES) if kind == "zip" else tarred(FILES, "w" if kind == "tar" else "w:gz")
    generator = random.Random(kind)
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(generator.randint(1, 8)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if generator.random() < 0.3:
            del content[generator.randrange(len(content)) :]
        try:
            assert_clean(extract(bytes(content), f"a.{kind}"))
        except Unreadable as problem:
            assert problem.reason
