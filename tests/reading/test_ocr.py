"""Text recognition: scans, pictures, doubtful lines, hostile pictures. Without the extra `ocr`, how to install it."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from tests.reading import documents
from tests.reading.reads import refusal
from veracity.grounding.support import support
from veracity.knowledge.prepare import TASK
from veracity.language import sentences
from veracity.reading import ocr
from veracity.reading.base import Unreadable
from veracity.reading.extract import extract
from veracity.reading.sandbox.pool import SandboxPool
from veracity.settings import ReadingSettings

needs_ocr = pytest.mark.skipif(not ocr.is_installed(), reason='needs pip install "veracity[ocr]"')

SCAN = Path(__file__).parent / "scans" / "three_languages.png"
LINES = [
    "The membership fee is 25 euros per month.",
    "会员须在三十天内办理退货手续。",
    "返品は到着後十四日以内に受け付けます。",
]


def picture(kind: str = "PNG", size: tuple[int, int] = (20, 20)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "white").save(buffer, kind)
    return buffer.getvalue()


def worn(scan: Image.Image) -> Image.Image:
    """So few pixels that recognition has to guess."""
    small = scan.convert("L").resize((scan.width // 8, scan.height // 8), Image.Resampling.BOX)
    return small.resize(scan.size, Image.Resampling.BILINEAR)


@needs_ocr
def test_a_scan_within_the_limits_of_a_worker(tmp_path: Path) -> None:
    """The first page is clean, the second is worn, the third is empty."""
    path = tmp_path / "scan.pdf"
    scan = Image.open(SCAN).convert("L")
    pages = [worn(scan), Image.new("L", scan.size, "white")]
    scan.save(path, "PDF", resolution=150, save_all=True, append_images=pages)
    limits = ReadingSettings()
    with SandboxPool(TASK, workers=1, seconds=limits.seconds, memory_megabytes=limits.memory_megabytes) as pool:
        read = pool.submit({"path": str(path), "chunking": {"max_tokens": 256, "overlap_tokens": 0}}).result()
    clean, doubtful = read["text"][: read["pages"][1]], read["text"][read["pages"][1] :]
    assert clean.strip().split("\n") == LINES
    assert ocr.DOUBTFUL in doubtful
    assert read["metadata"]["ocr_pages"] == 3
    assert 0 < read["metadata"]["ocr_doubtful_lines"] <= 3
    assert 0.5 < read["metadata"]["ocr_confidence"] < 1
    assert [passage["page"] for passage in read["passages"]]


@needs_ocr
def test_a_picture() -> None:
    reading = extract(SCAN.read_bytes(), "photo.jpg")
    assert (reading.format, reading.text.split("\n"), reading.pages) == ("image", LINES, (0,))


def test_recognition_can_be_left_out() -> None:
    with pytest.raises(Unreadable, match="image"):
        extract(SCAN.read_bytes(), "photo.png", recognise=False)


@needs_ocr
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP"])
def test_pictures_without_text(kind: str) -> None:
    assert refusal(picture(kind), "a.bin").reason == "no text was recognised in it"


@needs_ocr
def test_an_empty_page_holds_no_text() -> None:
    assert refusal(documents.pdf(""), "scan.pdf").reason == ocr.NO_TEXT


@needs_ocr
def test_pictures_of_absurd_size() -> None:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    size = struct.pack(">IIBBBBB", 200_000, 200_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(b"\0" * 1_000_000))
    assert refusal(bomb, "a.png").reason == "it has more than 50 megapixels: save it in a smaller size"
    assert refusal(SCAN.read_bytes()[:900], "a.png").status == "failed"
    assert refusal(b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a.png").status == "failed"
    for narrow in ((40_000, 1), (1, 40_000)):
        assert refusal(picture(size=narrow), "a.png").reason == "no text was recognised in it"


def test_a_page_of_absurd_size_is_scaled() -> None:
    assert ocr.scale_for(14_400, 1, 200 / 72) * 14_400 == pytest.approx(ocr.MAX_SIDE)
    assert ocr.scale_for(595, 842, 1.0) == 1.0
    assert ocr.scale_for(0, 0, 2.0) == 2.0


@pytest.mark.parametrize("line", LINES)
def test_a_doubtful_line_stays_one_statement(line: str) -> None:
    """The mark is part of the quote, and neither splits the sentence nor keeps it from being checked."""
    marked = ocr.marked(ocr.RecognisedLine(line, 0.7))
    assert marked == f"{ocr.DOUBTFUL} {line}"
    assert [sentence.text for sentence in sentences(marked)] == [marked]
    for text in (line, marked):
        found = support(text, f"Before.\n{marked}\nAfter.")
        assert found.supported
        assert ocr.DOUBTFUL in found.quote


def test_every_sentence_of_a_doubtful_line_is_marked() -> None:
    line = ocr.RecognisedLine("It is free. 退货须在三十天内。返品は不可。", 0.6)
    assert ocr.marked(line) == "⟨?⟩ It is free. ⟨?⟩ 退货须在三十天内。 ⟨?⟩ 返品は不可。"
    assert ocr.marked(ocr.RecognisedLine("It is free.", 0.99)) == "It is free."


def test_pictures_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    refused = refusal(SCAN.read_bytes(), "a.png")
    assert refused.status == "skipped"
    assert 'pip install "veracity[ocr]"' in refused.reason
