"""Recognises text in pictures with RapidOCR, if the extra `ocr` is installed. Its weights come with it.

A line that it is not sure of begins with `DOUBTFUL`, and so does every further sentence on it: the mark is part of the
text, so that it shows in quotes.
"""

from __future__ import annotations

import math
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from veracity.language.sentences import sentences
from veracity.reading.base import tidy
from veracity.reading.sandbox.progress import begin_part

if TYPE_CHECKING:
    from PIL.Image import Image

DOUBTFUL = "⟨?⟩"
MIN_CONFIDENCE = 0.5  # below it a line is not text: a logo, a stain
MIN_CERTAIN = 0.95  # below it a line is marked as doubtful; see docs/benchmarks.md
DOTS_PER_INCH = 200
MAX_SIDE = 1_800  # pixels: a page of A4 at 154 dpi, for which recognition needs about 800 MB
MIN_ASPECT = 0.41  # narrower pictures are padded, because RapidOCR enlarges their short side to 736 pixels

INSTALL = 'pip install "veracity[ocr]"'
HOW_TO_READ_A_SCAN = f"a scan needs text recognition: {INSTALL}"
HOW_TO_READ_AN_IMAGE = f"image; its text needs text recognition: {INSTALL}"
NO_TEXT = "it holds no text, and none was recognised in its pictures"

_OUT_OF_MEMORY = re.compile(r"bad_alloc|allocat|insufficient memory", re.IGNORECASE)


class RecognisedLine(NamedTuple):
    text: str
    confidence: float

    @property
    def is_doubtful(self) -> bool:
        return self.confidence < MIN_CERTAIN


class Recognition:
    """Recognises the pages of one document and counts how sure it was."""

    def __init__(self) -> None:
        self._pages = 0
        self._lines: list[RecognisedLine] = []

    def read_page(self, picture: Image) -> str:
        """The text of a page, line by line from top to bottom; empty if it shows none."""
        lines = recognise(picture)
        self._pages += 1
        self._lines += lines
        return tidy("\n".join(map(marked, lines)))

    def metadata(self) -> dict[str, int | float]:
        """How many pages and lines were recognised, and the mean confidence; empty if none were."""
        if not self._lines:
            return {}
        return {
            "ocr_pages": self._pages,
            "ocr_lines": len(self._lines),
            "ocr_doubtful_lines": sum(line.is_doubtful for line in self._lines),
            "ocr_confidence": round(sum(line.confidence for line in self._lines) / len(self._lines), 3),
        }


@cache
def is_installed() -> bool:
    return find_spec("rapidocr") is not None


def scale_for(width: float, height: float, wanted: float = 1.0) -> float:
    """The scale that gives a picture of this size at most MAX_SIDE pixels on its longer side."""
    longer = max(width, height)
    return min(wanted, MAX_SIDE / longer) if longer > 0 else wanted


def recognise(picture: Image) -> list[RecognisedLine]:
    begin_part()
    plain = _fitted(picture)
    low, high = plain.convert("L").getextrema()
    if low == high:  # an empty page
        return []
    numpy = import_module("numpy")
    try:
        found = _engine()(numpy.asarray(plain)[:, :, ::-1])  # as BGR
    except Exception as problem:
        if _OUT_OF_MEMORY.search(str(problem)):  # ONNX Runtime and OpenCV have exceptions of their own
            raise MemoryError from problem
        raise
    lines = zip(found.txts or (), found.scores or (), strict=True)
    return [RecognisedLine(text.strip(), float(score)) for text, score in lines if text.strip()]


def _fitted(picture: Image) -> Image:
    """The picture in RGB on white, neither too large nor too narrow for the model."""
    pictures = import_module("PIL.Image")
    scale = scale_for(*picture.size)
    width, height = (max(1, round(side * scale)) for side in picture.size)
    shown = picture.convert("RGBA").resize((width, height)) if scale < 1 else picture.convert("RGBA")
    canvas_size = max(width, math.ceil(height * MIN_ASPECT)), max(height, math.ceil(width * MIN_ASPECT))
    canvas: Image = pictures.new("RGB", canvas_size, "white")
    canvas.paste(shown, mask=shown)
    return canvas


@cache
def _engine() -> Any:
    """One thread, because the worker processes are the parallelism. Without the classifier of upside-down lines, which
    turns lines of small Latin letters around."""
    threads = {f"EngineConfig.onnxruntime.{name}_op_num_threads": 1 for name in ("intra", "inter")}
    import_module("cv2").setNumThreads(1)
    return import_module("rapidocr").RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": MIN_CONFIDENCE,
            "Global.max_side_len": MAX_SIDE,
            "Global.use_cls": False,
            "Rec.rec_batch_num": 1,  # larger batches need more memory and are not faster on one thread
            **threads,
        }
    )


def marked(line: RecognisedLine) -> str:
    if not line.is_doubtful:
        return line.text
    return " ".join(f"{DOUBTFUL} {sentence.text}" for sentence in sentences(line.text))
