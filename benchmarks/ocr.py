"""How well text recognition reads English, Chinese and Japanese pages.

    python -m benchmarks.ocr DIRECTORY --fonts FOLDER      (or set VERACITY_DATA to the directory)

Needs `pip install "veracity[ocr]"`. The directory contains `scifact.corpus.jsonl`, `rgb.corpus.jsonl` and
`jsquad.corpus.jsonl`. The folder contains `NotoSans_400Regular.ttf` and the same for NotoSerif, NotoSansSC,
NotoSerifSC, NotoSansJP and NotoSerifJP, all under the SIL Open Font License:

    npm pack @expo-google-fonts/noto-sans @expo-google-fonts/noto-serif @expo-google-fonts/noto-sans-sc \
        @expo-google-fonts/noto-serif-sc @expo-google-fonts/noto-sans-jp @expo-google-fonts/noto-serif-jp

Every page is A4 in 11 points, sans serif and serif in turn. "worn" pages are turned by up to 0.7 degrees, blurred, less
black, noisy, and stored as JPEG. The pages go through the product's own `Recognition`, so its limits on size apply. The
error rate is the edit distance by the number of characters, after NFKC (search ignores the width of characters, too);
spaces count in English only. Intervals are bootstrapped over lines. Seconds are processor time on one thread.
"""

import argparse
import io
import json
import os
import random
import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from veracity.reading import ocr

POINTS, LEADING, MARGIN_INCHES = 11, 1.6, 0.8
PAGE_INCHES = (8.27, 11.69)
MAX_LINES = 24
RESAMPLES = 2_000
SETS = {"en": ("scifact", "", "English"), "zh": ("rgb", "SC", "Chinese"), "ja": ("jsquad", "JP", "Japanese")}
HAN = re.compile(r"[\u4e00-\u9fff]")


class Cell(NamedTuple):
    """The result for one language and kind of page: edits and characters of each line, and seconds of each page."""

    edits: list[int]
    characters: list[int]
    seconds: list[float]


class Line(NamedTuple):
    """A recognised line: its confidence and the share of its characters that are wrong."""

    confidence: float
    error: float


def passages(directory: Path, language: str) -> Iterator[str]:
    """Texts in a fixed random order. The Chinese set has English rows, too."""
    rows = [json.loads(row) for row in (directory / f"{SETS[language][0]}.corpus.jsonl").open(encoding="utf-8")]
    random.Random(7).shuffle(rows)
    for row in rows:
        text = " ".join(row["text"].split())
        if language != "zh" or len(HAN.findall(text)) > len(text) / 2:
            yield text


def render(texts: Iterator[str], font_file: Path, dpi: int, by_words: bool) -> tuple[Image.Image, list[str]]:
    """A page filled with the texts, and its lines."""
    width, height = (round(inches * dpi) for inches in PAGE_INCHES)
    margin, step = round(MARGIN_INCHES * dpi), round(POINTS / 72 * dpi * LEADING)
    font = ImageFont.truetype(font_file, round(POINTS / 72 * dpi))
    page = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(page)
    lines: list[str] = []
    while len(lines) < MAX_LINES:
        lines += wrap(next(texts), font, width - 2 * margin, by_words)
    for number, line in enumerate(lines[:MAX_LINES]):
        draw.text((margin, margin + number * step), line, font=font, fill="black")
    return page, lines[:MAX_LINES]


def wrap(text: str, font: ImageFont.FreeTypeFont, width: int, by_words: bool) -> list[str]:
    lines, line = [], ""
    for part in re.findall(r"\S+\s*", text) if by_words else text:
        if line and font.getlength((line + part).rstrip()) > width:
            lines.append(line.strip())
            line = ""
        line += part
    return [*lines, line.strip()] if line.strip() else lines


def worn(page: Image.Image, generator: np.random.Generator) -> Image.Image:
    turned = page.rotate(generator.uniform(-0.7, 0.7), Image.Resampling.BICUBIC, fillcolor="white")
    pixels = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.7)), np.float64)
    pixels = 40 + pixels * (200 / 255) + generator.normal(0, 10, pixels.shape)
    stored = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(stored, "JPEG", quality=60)
    return Image.open(stored).convert("RGB")


def comparable(text: str, by_words: bool) -> str:
    return (" " if by_words else "").join(unicodedata.normalize("NFKC", text).split())


def edits_by_position(truth: str, found: str) -> list[int]:
    """For each character of the truth, the edits of a shortest edit script that fall on it."""
    codes = np.array([ord(character) for character in found], np.int32)
    places = np.arange(len(found) + 1)
    table = np.zeros((len(truth) + 1, len(found) + 1), np.int32)
    table[0] = places
    for row, character in enumerate(truth, 1):
        above = table[row - 1]
        best = np.minimum(above[1:] + 1, above[:-1] + (codes != ord(character)))
        table[row] = np.minimum.accumulate(np.concatenate(([row], best)) - places) + places
    counts = [0] * len(truth)
    row, column = len(truth), len(found)
    while row or column:
        here = table[row, column]
        at = min(max(row - 1, 0), len(truth) - 1)
        if row and column and here == table[row - 1, column - 1] + (truth[row - 1] != found[column - 1]):
            counts[at] += int(here != table[row - 1, column - 1])
            row, column = row - 1, column - 1
        elif row and here == table[row - 1, column] + 1:
            counts[at] += 1
            row -= 1
        else:
            counts[at] += 1
            column -= 1
    return counts


def line_errors(lines: Sequence[str], found: str, by_words: bool) -> list[tuple[int, int]]:
    """Edits and characters of each line of a page."""
    plain = [comparable(line, by_words) for line in lines]
    counts = edits_by_position((" " if by_words else "").join(plain), comparable(found, by_words))
    errors, start = [], 0
    for line in plain:
        end = start + len(line) + by_words
        errors.append((sum(counts[start:end]), len(line)))
        start = end
    return errors


def judge(recognised: Sequence[ocr.RecognisedLine], lines: Sequence[str], by_words: bool) -> Iterator[Line]:
    """Each recognised line, compared with the line of the page that is most like it."""
    plain = [comparable(line, by_words) for line in lines]
    for line in recognised:
        text = comparable(line.text, by_words)
        yield Line(line.confidence, min(sum(edits_by_position(text, other)) for other in plain) / max(1, len(text)))


def measure(
    directory: Path, fonts: Path, language: str, dpi: int, is_worn: bool, pages: int
) -> tuple[Cell, list[Line]]:
    _, script, _ = SETS[language]
    texts, generator = passages(directory, language), np.random.default_rng(7)
    by_words = language == "en"
    cell, judged = Cell([], [], []), list[Line]()
    for number in range(pages):
        font = fonts / f"Noto{'Serif' if number % 2 else 'Sans'}{script}_400Regular.ttf"
        page, lines = render(texts, font, dpi, by_words)
        page = worn(page, generator) if is_worn else page
        started = time.process_time()
        recognised = ocr.recognise(page)
        cell.seconds.append(time.process_time() - started)
        for edits, characters in line_errors(lines, "\n".join(line.text for line in recognised), by_words):
            cell.edits.append(edits)
            cell.characters.append(characters)
        judged += judge(recognised, lines, by_words)
    return cell, judged


def interval(cell: Cell) -> tuple[float, float, float]:
    """The error rate and its 95 % bootstrap interval, in percent."""
    edits, characters = np.array(cell.edits), np.array(cell.characters)
    chosen = np.random.default_rng(7).integers(0, len(edits), (RESAMPLES, len(edits)))
    rates = edits[chosen].sum(1) / characters[chosen].sum(1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return 100 * edits.sum() / characters.sum(), 100 * low, 100 * high


def print_marks(judged: list[Line]) -> None:
    """What the doubtful lines and the others are worth, for several thresholds."""
    print("\n| marked below | lines marked | of them with an error | of the others with an error |\n|---|---|---|---|")
    for threshold in (0.8, 0.85, 0.9, 0.95, 0.98):
        marked = [line.error > 0 for line in judged if line.confidence < threshold]
        others = [line.error > 0 for line in judged if line.confidence >= threshold]
        shares = [f"{sum(part)} of {len(part)}" for part in (marked, others)]
        print(f"| {threshold} | {len(marked)} of {len(judged)} | {shares[0]} | {shares[1]} |", flush=True)


def main(arguments: Any) -> None:
    judged: list[Line] = []
    ocr.recognise(Image.effect_noise((200, 100), 50))  # loads the model
    print("| | dpi | pages | characters | error rate | seconds per page |\n|---|---|---|---|---|---|", flush=True)
    for language, (_, _, name) in SETS.items():
        for is_worn in (False, True):
            for dpi in arguments.dpi:
                cell, lines = measure(arguments.data, arguments.fonts, language, dpi, is_worn, arguments.pages)
                judged += lines
                rate, low, high = interval(cell)
                kind = "worn" if is_worn else "clean"
                print(
                    f"| {name}, {kind} | {dpi} | {arguments.pages} | {sum(cell.characters):,} "
                    f"| {rate:.2f} % ({low:.2f}–{high:.2f}) | {np.mean(cell.seconds):.1f} |",
                    flush=True,
                )
    print_marks(judged)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", default=os.environ.get("VERACITY_DATA"))
    parser.add_argument("--fonts", type=Path, required=True, help="folder with the fonts")
    parser.add_argument("--pages", type=int, default=4, help="pages of each kind")
    parser.add_argument("--dpi", type=int, nargs="+", default=[150, 200], help="resolutions")
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("name the directory with the data, or set VERACITY_DATA")
    main(chosen)
