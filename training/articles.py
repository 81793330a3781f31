"""Passages of news, literature, government reports and research, whose subjects documentation lacks.

    python -m training.articles SNAPSHOTS DATA

Writes DATA/articles.jsonl.xz, one passage per line: [language, title, sentences]. Only news and research have titles.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import lzma
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from training.snapshots import File, Snapshot
from training.sources import load_sources

SEED = 1
LONGEST = 320  # characters of a passage in Chinese or Japanese
WORKS, PASSAGES_PER_WORK = 6000, 8  # of literature
RESEARCH_ARTICLES = 6000

SENTENCE = re.compile(r"[^。！？]+[。！？]*[」』）]*")
SOURCE_NOTE = re.compile(r"『.+』|^.{0,40}、\d{4}年\d+月\d+日")  # Wikinews ends with what it cites
RUBY = re.compile(r"《[^》]*》|［＃[^］]*］|｜")
OLD_SPELLING = re.compile(r"[ゐゑヰヱ]|つた|つて|やう|さう|かう|ふ。")
FREE_LICENCE = re.compile(r"creativecommons\.org/(licenses/by/[34]\.0|publicdomain/zero)")


class Passage(NamedTuple):
    language: str
    title: str
    sentences: tuple[str, ...]


def split_passages(language: str, title: str, text: str) -> Iterator[Passage]:
    """Neighbouring sentences of at most LONGEST characters. Passages of fewer than three sentences are left out."""
    sentences: list[str] = []
    for sentence in [*(found.strip() for found in SENTENCE.findall(text)), ""]:
        if not sentence or sum(map(len, sentences)) + len(sentence) > LONGEST:
            if len(sentences) > 2:
                yield Passage(language, title, tuple(sentences))
            sentences = []
        if 6 <= len(sentence) <= LONGEST:
            sentences.append(sentence)


def news(snapshot: Snapshot) -> Iterator[Passage]:
    for headline, text in news_articles(snapshot):
        yield from split_passages("ja", headline, text)


def news_articles(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Headlines and texts of Japanese Wikinews. The data set has spaces between words."""
    table = gzip.decompress(snapshot.content("raw/cleaned-data.tsv.gz")).decode("utf-8")
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        article, headline = join_words(row["article"]), join_words(row["headline"])
        kept = [sentence for sentence in SENTENCE.findall(article) if not SOURCE_NOTE.search(sentence)]
        yield headline, "".join(kept)


def join_words(text: str) -> str:
    """Without the spaces around Chinese and Japanese characters, and around the signs between digits."""
    text = re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text)
    return re.sub(r"(?<=\d) ?([.,:]) ?(?=\d)", r"\1", text).strip()


def literature(snapshot: Snapshot, chance: random.Random) -> Iterator[Passage]:
    """Works in the public domain, in today's spelling, from Aozora Bunko."""
    files = [file for file in snapshot.files() if file.name.startswith("cards/") and file.name.endswith(".txt")]
    chance.shuffle(files)
    works = 0
    for content in snapshot.contents(files):
        work = _read_work(content.decode("cp932", "replace"))
        if work is None:
            continue
        passages = list(split_passages("ja", "", work))
        start = chance.randrange(max(1, len(passages) - PASSAGES_PER_WORK))
        yield from passages[start : start + PASSAGES_PER_WORK]
        works += 1
        if works == WORKS:
            return


def _read_work(text: str) -> str | None:
    """None for a work that is protected by copyright or in old spelling."""
    body, _, colophon = text.replace("\r", "").partition("\n底本：")
    if not colophon or "クリエイティブ・コモンズ" in text or "著作権者" in colophon:
        return None
    body = RUBY.sub("", re.sub(r"-{40,}\n.*?-{40,}\n", "", body, flags=re.DOTALL))
    if len(OLD_SPELLING.findall(body)) > len(body) / 400:
        return None
    return re.sub(r"\s+", "", body.partition("\n\n")[2])  # without title and author


def reports(snapshot: Snapshot) -> Iterator[Passage]:
    for _, paragraphs in report_texts(snapshot):
        for paragraph in paragraphs:
            yield from split_passages("zh", "", paragraph)


def report_texts(snapshot: Snapshot) -> Iterator[tuple[str, list[str]]]:
    """Titles and paragraphs of reports on the work of the government of the People's Republic of China."""
    for line in (snapshot.text("government_work_reports.jsonl") or "").splitlines():
        report = json.loads(line)
        yield report["title"], [re.sub(r"\s+", "", paragraph) for paragraph in report["content"].splitlines()]


def research(snapshot: Snapshot, chance: random.Random) -> Iterator[Passage]:
    """Titles and abstracts of eLife, the last version of each article."""
    newest: dict[int, tuple[int, File]] = {}
    for file in snapshot.files():
        if found := re.fullmatch(r"articles/elife-(\d+)-v(\d+)\.xml", file.name):
            number, version = int(found[1]), int(found[2])
            newest[number] = max(newest.get(number, (0, file)), (version, file), key=lambda entry: entry[0])
    files = [newest[number][1] for number in sorted(newest)]
    chance.shuffle(files)
    for content in snapshot.contents(files[:RESEARCH_ARTICLES]):
        passage = _read_research(content.decode("utf-8", "replace"))
        if passage is not None:
            yield passage


def _read_research(text: str) -> Passage | None:
    if not FREE_LICENCE.search(text):
        return None
    front = ElementTree.fromstring(text).find("front/article-meta")
    title = front.find("title-group/article-title") if front is not None else None
    abstract = front.find("abstract") if front is not None else None
    if title is None or abstract is None:
        return None
    paragraphs = [" ".join("".join(found.itertext()).split()) for found in abstract.iter("p")]
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(paragraphs).partition(" DOI: ")[0])
    return Passage("en", " ".join("".join(title.itertext()).split()), tuple(sentences))


def write(file: Path, passages: Iterable[Passage]) -> dict[str, int]:
    """Returns how many passages of each language were written."""
    counts: dict[str, int] = {}
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        for passage in passages:
            lines.write(json.dumps(passage, ensure_ascii=False) + "\n")
            counts[passage.language] = counts.get(passage.language, 0) + 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", type=Path)
    parser.add_argument("data", type=Path)
    arguments = parser.parse_args()
    sources, chance = load_sources(), random.Random(SEED)

    def snapshot(name: str) -> Snapshot:
        return sources.collection(name).snapshot(arguments.snapshots)

    passages = [
        *news(snapshot("tm4roon/jawikinews-headline-dataset")),
        *literature(snapshot("aozorahack/aozorabunko_text"), chance),
        *reports(snapshot("aldohemsn/chinese-political-corpora")),
        *research(snapshot("elifesciences/elife-article-xml"), chance),
    ]
    print(write(arguments.data / "articles.jsonl.xz", passages))


if __name__ == "__main__":
    main()
