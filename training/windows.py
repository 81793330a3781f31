"""Windows of documents: passages as the product cuts them, with the units that it can quote.

    python -m training.windows SNAPSHOTS OUT

Writes OUT/windows.jsonl.xz. Needs the installed product, whose reading code it uses. Takes about 5 minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from training.articles import news_articles, report_texts
from training.corpus import STATEMENTS
from training.paragraphs import write_lines
from training.snapshots import File, Snapshot
from training.sources import Folder, Repository, load_sources
from veracity.errors import VeracityError
from veracity.knowledge.chunking import chunk
from veracity.language import guess_language
from veracity.language.layout import lay_out, unit_text
from veracity.reading.base import Unreadable
from veracity.reading.extract import extract

SEED = 11
WINDOWS_PER_DOCUMENT = 5
NEWS, REPORTS = "tm4roon/jawikinews-headline-dataset", "aldohemsn/chinese-political-corpora"
NEWS_ARTICLES, PARAGRAPHS_PER_REPORT = 1500, 12
SHORTEST_PARAGRAPH = {"en": 120, "zh": 60}  # characters
CNXML = "{http://cnx.rice.edu/cnxml}"  # of OpenStax
UNWANTED = re.compile(
    r"changelog|release-?notes|/blog/|whats-new|CONTRIBUTING|CODE_OF_CONDUCT|LICENSE|archived", re.IGNORECASE
)
NOTICE = re.compile(r"\[!(?:NOTE|IMPORTANT|TIP|WARNING|CAUTION|INCLUDE|div|VIDEO)[^\]]*\](?:\([^)]*\))?", re.IGNORECASE)
FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.S)
# Markup of site generators that is not Markdown, and its replacement.
MARKUP = (
    (re.compile(r"\{\{[<%].*?[%>]\}\}", re.S), " "),
    (re.compile(r"<!--.*?-->", re.S), " "),
    (re.compile(r"^:::.*$", re.M), ""),
    (NOTICE, ""),
    (re.compile(r"\{#[^}]*\}"), ""),
    (re.compile(r"^(?:import|export) .*$", re.M), ""),
    (re.compile(r"\s*/\*\w[^*]*\*/"), ""),
)


@dataclass
class Builder:
    """Remembers what was seen: a window occurs once, also where documents repeat it."""

    chance: random.Random
    seen: set[str] = field(default_factory=set)

    def windows(self, document: str, markdown: str, folder: Folder) -> list[dict[str, Any]]:
        """A run of up to five consecutive windows. None of a document in another language."""
        title, markdown = split_front_matter(markdown)
        for pattern, replacement in MARKUP:
            markdown = pattern.sub(replacement, markdown)
        try:
            reading = extract(markdown.encode(), "document.md")
        except (VeracityError, Unreadable):
            return []
        if guess_language(reading.text) != folder.language:
            return []
        title = title or reading.title or _first_heading(reading.text) or Path(document).stem
        candidates = list(self._candidates(reading.text, title, folder.language))
        good = [number for number, window in enumerate(candidates) if window is not None]
        if not good:
            return []
        start = self.chance.randrange(max(1, len(good) - WINDOWS_PER_DOCUMENT + 1))
        repository = document.partition(":")[0]
        about = {"doc": document, "repo": repository, "lang": folder.language, "use": folder.use}
        return [
            {**about, "i": number, "title": title, **(candidates[number] or {})}
            for number in good[start : start + WINDOWS_PER_DOCUMENT]
        ]

    def _candidates(self, text: str, title: str, language: str) -> Iterator[dict[str, Any] | None]:
        """Head and units of each passage, or None where it was seen before or has too few or too short statements."""
        for passage in chunk(text, markdown=True, max_tokens=256, overlap_tokens=30):
            titles = (title, *passage.headings)
            head = " – ".join(part for part in dict.fromkeys(titles) if part and part not in passage.text)
            units = lay_out(passage.text, frozenset(part.strip() for part in titles) - {""})
            rows = [[unit.kind, _without_links(unit_text(unit, units))[:600], unit.lead] for unit in units]
            statements = [str(text) for kind, text, _ in rows if kind in STATEMENTS]
            long_enough = sum(map(len, statements)) > (250 if language == "en" else 90)
            digest = hashlib.sha256(passage.text.encode()).hexdigest()
            good = 2 <= len(statements) <= 22 and long_enough and digest not in self.seen
            self.seen.add(digest)
            yield {"head": head, "units": rows} if good else None


def split_front_matter(markdown: str) -> tuple[str, str]:
    """The title that YAML front matter states, and the text after it."""
    markdown = markdown.replace("\r", "")
    matter = FRONT_MATTER.match(markdown)
    if not matter:
        return "", markdown
    title = re.search(r"^title:\s*[\"']?(.*?)[\"']?\s*$", matter[1], re.M)
    return title[1] if title else "", markdown[matter.end() :]


def _first_heading(text: str) -> str:
    heading = re.search(r"^#\s+(.*)$", text, re.M)
    return heading[1] if heading else ""


def _without_links(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text))


def choose_files(repository: Repository, folder: Folder, files: list[File]) -> list[File]:
    """A sample of the folder that stays the same as long as the commit does."""
    wanted = [
        file
        for file in files
        if folder.contains(file.name)
        and file.name.endswith((".md", ".mdx", ".rst", ".cnxml"))
        and 1200 < file.size < 150_000
        and not UNWANTED.search(file.name)
        and not repository.excludes(file.name)
    ]
    random.Random(repository.name + folder.path).shuffle(wanted)
    return wanted[: folder.documents]


def read_cnxml(text: str) -> str:
    """The title, sections and longer paragraphs of a module as Markdown. Nothing where it cannot be read."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return ""
    lines: list[str] = []
    for element in root.iter():
        content = " ".join("".join(element.itertext()).split())
        if element.tag == f"{CNXML}title":
            lines.append(f"## {content}" if lines else f"# {content}")
        elif element.tag == f"{CNXML}para" and len(content) >= SHORTEST_PARAGRAPH["en"]:
            lines.append(content)
    return "\n\n".join(lines)


def article_windows(snapshots: Path, builder: Builder) -> Iterator[dict[str, Any]]:
    """News and reports, whose subjects documentation lacks."""
    sources = load_sources()
    articles = enumerate(news_articles(sources.collection(NEWS).snapshot(snapshots)))
    for number, (headline, text) in articles:
        if number == NEWS_ARTICLES:
            break
        folder = Folder("", "ja", "train", 1)
        yield from builder.windows(f"{NEWS}:{number}", f"# {headline}\n\n{text}", folder)
    for number, (title, paragraphs) in enumerate(report_texts(sources.collection(REPORTS).snapshot(snapshots))):
        long = [paragraph for paragraph in paragraphs if len(paragraph) >= SHORTEST_PARAGRAPH["zh"]]
        for start in range(0, len(long), PARAGRAPHS_PER_REPORT):
            part = "\n\n".join(long[start : start + PARAGRAPHS_PER_REPORT])
            yield from builder.windows(
                f"{REPORTS}:{number}.{start}", f"# {title}\n\n{part}", Folder("", "zh", "train", 1)
            )


def all_windows(snapshots: Path) -> Iterator[dict[str, Any]]:
    builder = Builder(random.Random(SEED))
    for repository in load_sources().repositories:
        snapshot = Snapshot(snapshots, repository.name, repository.commit)
        files = snapshot.files()
        for folder in repository.folders:
            documents = windows = 0
            for file, text in snapshot.read(choose_files(repository, folder, files)):
                markdown = read_cnxml(text) if file.name.endswith(".cnxml") else text
                found = builder.windows(f"{repository.name}:{file.name}", markdown, folder)
                documents += bool(found)
                windows += len(found)
                yield from found
            print(repository.name, folder.path, "documents", documents, "windows", windows, flush=True)
    yield from article_windows(snapshots, builder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", type=Path, help="bare clones: OWNER+NAME/repo")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print("windows", write_lines(arguments.out / "windows.jsonl.xz", all_windows(arguments.snapshots)))


if __name__ == "__main__":
    main()
