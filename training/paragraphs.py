"""Aligned paragraphs of translated documentation, and text in one language.

    python -m training.paragraphs SNAPSHOTS OUT

Writes OUT/par.jsonl.xz ([language, English, translation]) and OUT/mono.jsonl.xz (text). Takes about 10 minutes.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from training.corpus import Pair
from training.snapshots import Snapshot
from training.sources import PlainText, Sources, Translation, load_sources

LARGEST_FILE = 200_000
MOST_BLOCKS = 900  # of a file; comparing takes quadratic time
SEED = 4
CODE = re.compile(r"```.*?(```|\Z)|~~~.*?(~~~|\Z)", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)]*)\)")
CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# Comments, template calls, ::: directives, [!NOTE], {#anchors} and /*anchors*/
MARKS = re.compile(r"<!--.*?-->|\{\{[^}]*\}\}|:::[^\n]*|\[!\w+[^\]]*\]|\{#[^}]*\}|\s*/\*\w[^*]*\*/", re.S)
BLOCK_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)|\n(?=\|)|\n(?=#)")
BLOCK_START = re.compile(r"#+|[-*+](?=\s)|\d+\.(?=\s)|\||>|")


class Signature(NamedTuple):
    """What a translation leaves unchanged."""

    kind: str  # "##", "-", "1.", "|", ">", or "" for prose
    links: tuple[str, ...]
    code: tuple[str, ...]
    numbers: tuple[str, ...]


class Block(NamedTuple):
    signature: Signature
    text: str


def split_blocks(markdown: str) -> list[Block]:
    """Headings, items, rows and paragraphs, without code and markup."""
    text = markdown.replace("\r", "")
    if text.startswith("---") and (end := text.find("\n---", 3)) > 0:
        text = text[end + 4 :]
    text = MARKS.sub("", CODE.sub("\n\n", text))
    blocks = []
    for part in BLOCK_END.split(text):
        plain = _plain_text(part.strip())
        if len(plain) >= 2:
            blocks.append(Block(_signature(part.strip(), plain), plain))
    return blocks


def _plain_text(markdown: str) -> str:
    text = LINK.sub(lambda link: link[1], markdown)
    text = re.sub(r"<[^>]{1,80}>", " ", text)
    text = re.sub(r"^[#>\-*+\s]+|^\d+\.\s*|[*_`|]{1,3}", "", text)
    return re.sub(r"\s+", " ", text).strip()


def _signature(markdown: str, plain: str) -> Signature:
    start = BLOCK_START.match(markdown)
    kind = start[0] if start else ""
    return Signature(
        "1." if kind[:1].isdigit() else kind,
        tuple(target.split("/")[-1].split("#")[0] for _, target in LINK.findall(markdown)),
        tuple(re.findall(r"`([^`]+)`", markdown)),
        tuple(re.findall(r"\d+", plain)[:4]),
    )


def align(english: list[Block], other: list[Block]) -> Iterator[tuple[str, str]]:
    """Blocks with equal signatures in the same order, and equally long gaps between them."""
    if not english or not other or len(english) > MOST_BLOCKS or len(other) > MOST_BLOCKS:
        return
    matcher = SequenceMatcher(
        None, [block.signature for block in english], [block.signature for block in other], autojunk=False
    )
    here = there = 0
    for match in matcher.get_matching_blocks():
        gap = match.a - here
        if gap == match.b - there:
            for offset in range(gap):
                first, second = english[here + offset], other[there + offset]
                if first.signature.kind == second.signature.kind:
                    yield from _plausible(first.text, second.text)
        for offset in range(match.size):
            yield from _plausible(english[match.a + offset].text, other[match.b + offset].text)
        here, there = match.a + match.size, match.b + match.size


def _plausible(english: str, other: str) -> Iterator[tuple[str, str]]:
    """Translated, and of a plausible length."""
    translated = english != other and len(CJK.findall(other)) >= 0.25 * len(other)
    if translated and 12 < len(english) < 900 and 1.0 <= len(english) / len(other) <= 6.5:
        yield english, other


def read_markdown(snapshots: Path, sources: Sources, place: str) -> dict[str, str]:
    """Markdown files below `repository:folder` by their path in it."""
    name, _, folder = place.partition(":")
    repository = sources.repository(name)
    snapshot = Snapshot(snapshots, name, repository.commit)
    files = [
        file
        for file in snapshot.files()
        if file.name.startswith(folder)
        and not file.name.startswith(f"{folder}translations/")  # of the English folder, into other languages
        and file.name.endswith((".md", ".mdx"))
        and file.size < LARGEST_FILE
        and not repository.excludes(file.name)
    ]
    return {file.name.removeprefix(folder): text for file, text in snapshot.read(files)}


def translated_pairs(snapshots: Path, sources: Sources, translation: Translation) -> list[Pair]:
    english = read_markdown(snapshots, sources, translation.en)
    pairs: dict[Pair, None] = {}  # a set in order
    for language, place in (("ja", translation.ja), ("zh", translation.zh)):
        other = read_markdown(snapshots, sources, place)
        common = sorted(english.keys() & other.keys())
        for path in common:
            aligned = align(split_blocks(english[path]), split_blocks(other[path]))
            pairs.update(dict.fromkeys(Pair(language, *texts) for texts in aligned))
        print(place, "files", len(common), "pairs", len(pairs), flush=True)
    return list(pairs)


def all_pairs(snapshots: Path, sources: Sources, chance: random.Random) -> Iterator[Pair]:
    """Every English paragraph once per language."""
    seen: set[tuple[str, str]] = set()
    for translation in sources.translations:
        pairs = translated_pairs(snapshots, sources, translation)
        if translation.limit is not None and len(pairs) > translation.limit:
            pairs = chance.sample(pairs, translation.limit)
        for pair in pairs:
            if (pair.language, pair.english) not in seen:
                seen.add((pair.language, pair.english))
                yield pair


def plain_texts(snapshots: Path, sources: Sources, wanted: PlainText, chance: random.Random) -> Iterator[str]:
    repository = sources.repository(wanted.repository)
    snapshot = Snapshot(snapshots, repository.name, repository.commit)
    files = [file for file in snapshot.files() if file.name.endswith(".md") and not repository.excludes(file.name)]
    chance.shuffle(files)
    total = 0
    for _, markdown in snapshot.read(files[: wanted.documents]):
        text = re.sub(r"\s+", " ", markdown)[: wanted.characters_per_document]
        yield text
        total += len(text)
        if total > wanted.characters:
            return


def write_lines(file: Path, rows: Iterable[Any]) -> int:
    count = 0
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", type=Path, help="bare clones: OWNER+NAME/repo")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    sources, chance = load_sources(), random.Random(SEED)
    pairs = write_lines(arguments.out / "par.jsonl.xz", all_pairs(arguments.snapshots, sources, chance))
    texts = write_lines(
        arguments.out / "mono.jsonl.xz",
        (text for wanted in sources.texts for text in plain_texts(arguments.snapshots, sources, wanted, chance)),
    )
    print("pairs", pairs, "texts", texts)


if __name__ == "__main__":
    main()
