"""Pages of PDF files as pictures, and the place of a quote on them."""

import base64
import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.reading.documents import pdf
from veracity.reading.page_image import MAX_SIDE, TASK, show_page
from veracity.reading.pdf import read_pdf
from veracity.reading.sandbox.pool import SandboxPool

LINES = (
    "Leave is 31 days.\nEverybody leaves by the near-\nest stairs. Leave is 31 days.\n"
    "年假每年十五天。\n有給休暇は二十日です。"
)
CONTENT = pdf(LINES, "Another page.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rules.pdf"
    path.write_bytes(CONTENT)
    return path


def request(path: Path, page: int = 0, **known: Any) -> dict[str, Any]:
    return {"path": str(path), "digest": hashlib.sha256(path.read_bytes()).hexdigest(), "page": page, **known}


def locate(path: Path, quote: str, before: str = "") -> list[dict[str, float]]:
    boxes: list[dict[str, float]] = show_page(request(path, quote=quote, before=before))["boxes"]
    return boxes


def test_a_page_becomes_a_picture_of_limited_size(path: Path) -> None:
    picture = Image.open(io.BytesIO(base64.b64decode(show_page(request(path))["png"])))
    assert (picture.format, picture.size) == ("PNG", (MAX_SIDE, MAX_SIDE * 800 // 2000))
    assert picture.convert("L").getextrema()[1] == 255


def test_a_quote_is_found_by_its_place(path: Path) -> None:
    text = read_pdf(CONTENT).text
    quote = "Leave is 31 days."
    first, second = text.index(quote), text.rindex(quote)
    [top], [bottom] = locate(path, quote), locate(path, quote, text[:second])
    assert first == 0 and top["top"] < bottom["top"] and top["left"] < bottom["left"]
    for box in (top, bottom):
        assert all(0 <= part <= 1 for part in box.values()) and box["width"] > 0 and box["height"] > 0


def test_a_quote_over_a_hyphenated_line_has_a_box_for_each_line(path: Path) -> None:
    text = read_pdf(CONTENT).text
    quote = text[text.index("Everybody") : text.index(" Leave is 31 days.")]
    assert "nearest" in quote
    boxes = locate(path, quote)
    assert len(boxes) == 2 and boxes[0]["top"] < boxes[1]["top"]


@pytest.mark.parametrize("quote", ["年假每年十五天。", "有給休暇は二十日です。"])
def test_a_chinese_or_japanese_quote_is_found(path: Path, quote: str) -> None:
    assert len(locate(path, quote)) == 1


def test_boxes_follow_the_rotation_of_the_page(tmp_path: Path) -> None:
    turned = tmp_path / "turned.pdf"
    turned.write_bytes(CONTENT.replace(b"/MediaBox [0 0 2000 800]", b"/Rotate 90 /MediaBox [0 0 2000 800]"))
    shown = show_page(request(turned, quote="Leave is 31 days.", before=""))
    [box] = shown["boxes"]
    assert (shown["width"], shown["height"]) == (800, 2000)
    assert box["height"] * shown["height"] > box["width"] * shown["width"]  # the line runs from top to bottom


def test_what_is_not_on_the_page_has_no_boxes(path: Path) -> None:
    assert locate(path, "Another page.") == locate(path, "") == locate(path, "-") == []


def test_another_file_or_page_is_not_shown(path: Path) -> None:
    known = request(path)
    path.write_bytes(pdf("Something else."))
    assert show_page(known) == {"changed": True}
    assert show_page(request(path, page=1)) == show_page(request(path, page=-1)) == {"unreadable": True}
    path.write_bytes(b"%PDF-1.4 cut off")
    assert show_page(request(path)) == {"unreadable": True}


def test_it_runs_in_the_sandbox(path: Path) -> None:
    with SandboxPool(TASK, workers=1, seconds=60, memory_megabytes=1024) as pool:
        shown = pool.submit(request(path, 1, quote="Another page.", before="")).result()
        assert len(shown["boxes"]) == 1
        assert base64.b64decode(pool.submit(request(path)).result()["png"]).startswith(b"\x89PNG")
