"""Pictures: the text that they show. Every page of a TIFF is a page."""

import io

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from veracity.reading import ocr
from veracity.reading.base import Reading, failed, join_pages, skipped

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP")
MAX_MEGAPIXELS = 50  # a page of A4 at 600 dpi has 35
MAX_FRAMES = 2_000

Image.MAX_IMAGE_PIXELS = None  # the limit below is checked before anything is decoded


def read_image(content: bytes, *, recognise: bool = True) -> Reading:
    if not recognise:
        raise skipped("its format is not supported (image)")
    recognition = ocr.Recognition()
    pages: list[str] = []
    with _open(content) as picture:
        for number, frame in enumerate(ImageSequence.Iterator(picture)):
            if number and picture.format != "TIFF":  # an animation
                break
            if number == MAX_FRAMES:
                raise failed(f"it has more than {MAX_FRAMES:,} pages")
            pages.append(_read(frame, recognition))
    text, starts = join_pages(pages)
    if not text:
        raise skipped("no text was recognised in it")
    return Reading(text, "", "image", pages=starts, metadata=recognition.metadata())


def _open(content: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:
        raise failed("it is damaged: it is cut off or not a valid image") from None


def _read(frame: Image.Image, recognition: ocr.Recognition) -> str:
    if frame.width * frame.height > MAX_MEGAPIXELS * 1_000_000:
        raise failed(f"it has more than {MAX_MEGAPIXELS} megapixels: save it in a smaller size")
    try:
        if frame.format == "JPEG":
            frame.draft("RGB", (ocr.MAX_SIDE, ocr.MAX_SIDE))
        return recognition.read_page(ImageOps.exif_transpose(frame))
    except (OSError, SyntaxError, ValueError) as problem:  # what Pillow raises for damaged data
        raise failed(f"it is damaged: {problem}") from problem
