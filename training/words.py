"""Everyday sentences, words and names in three languages, which documentation lacks.

    python -m training.words SNAPSHOTS WORDNET DATA

WORDNET is the folder of Princeton WordNet 3.0's data files (data.noun …). Writes DATA/general.jsonl.xz ([language,
English, translation]) and DATA/english.jsonl.xz (definitions, whose vectors should stay as MiniLM's).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from training.corpus import Pair
from training.snapshots import Snapshot
from training.sources import Sources, load_sources

SEED = 1
MOST_WORDS = 3  # of a meaning
NAMES = ("languages", "scripts", "territories")
SEPARATORS = {"ja": "、", "zh": "，"}
PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


class Meaning(NamedTuple):
    """A synset of WordNet."""

    words: list[str]
    definition: str

    def __str__(self) -> str:
        return f"{', '.join(self.words[:MOST_WORDS])}: {self.definition}"


def sentences(snapshots: Path, sources: Sources) -> Iterator[Pair]:
    """Tanaka's Japanese sentences, and Tatoeba's Chinese ones."""
    tanaka = sources.collection("odashi/small_parallel_enja").snapshot(snapshots)
    for english, japanese in zip(_lines(tanaka, "train.en"), _lines(tanaka, "train.ja"), strict=True):
        yield Pair("ja", join_tokens(english), japanese.replace(" ", ""))
    tatoeba = sources.collection("mc6666/Keras_tutorial").snapshot(snapshots)
    seen = set()
    for english, chinese, *_ in (line.split("\t") for line in _lines(tatoeba, "cmn-eng/cmn.txt")):
        if chinese not in seen:
            seen.add(chinese)
            yield Pair("zh", english, chinese)


def join_tokens(text: str) -> str:
    """Undo the tokenization of English text."""
    text = re.sub(r" ([.,!?;:%)\]]|'(?:s|t|m|re|ve|ll|d)\b|n't)", r"\1", text)
    text = text.replace("( ", "(").replace("`` ", '"').replace(" ''", '"')
    return text[:1].upper() + text[1:]


def read_wordnet(folder: Path) -> dict[str, Meaning]:
    """The meanings by number and part of speech, as in "02131777-v"."""
    meanings = {}
    for part, file in PARTS_OF_SPEECH.items():
        for line in (folder / f"data.{file}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):  # the licence
                continue
            details, _, gloss = line.partition("|")
            number, _, _, count, *rest = details.split(" ")
            words = [re.sub(r"\((?:a|p|ip)\)$", "", rest[2 * index]) for index in range(int(count, 16))]
            meanings[f"{number}-{part}"] = Meaning([word.replace("_", " ") for word in words], gloss.strip())
    return meanings


def chinese_words(snapshot: Snapshot, meanings: Mapping[str, Meaning], chance: random.Random) -> Iterator[Pair]:
    """Chinese words with English words or definitions of the same meaning."""
    words = defaultdict(list)
    for line in _lines(snapshot, "wns/cow/wn-data-cmn.tab"):
        key, kind, *values = line.split("\t")
        if kind.endswith("lemma") and key in meanings:
            words[key].append(values[0].replace("+", ""))
    for key, found in words.items():
        for word in found[:MOST_WORDS]:
            yield Pair("zh", _describe(meanings[key], chance), word)


def _describe(meaning: Meaning, chance: random.Random) -> str:
    if chance.random() < 0.5:
        return ", ".join(meaning.words[:MOST_WORDS])
    definition = meaning.definition.split(";")[0]
    return f"{meaning.words[0]}: {definition}" if chance.random() < 0.3 else meaning.words[0]


def names(snapshot: Snapshot) -> Iterator[Pair]:
    """Names of languages, scripts and countries, and the names and keywords of symbols."""

    def read(path: str) -> Any:
        return json.loads(snapshot.text(f"cldr-json/cldr-{path}.json") or "{}")

    def local_names(language: str, kind: str) -> dict[str, str]:
        found = read(f"localenames-full/main/{language}/{kind}")["main"][language]["localeDisplayNames"][kind]
        return {key: name for key, name in found.items() if "-alt" not in key}

    def symbols(language: str) -> dict[str, dict[str, list[str]]]:
        found: dict[str, dict[str, list[str]]] = read(f"annotations-full/annotations/{language}/annotations")[
            "annotations"
        ]["annotations"]
        return found

    for language, separator in SEPARATORS.items():
        for kind in NAMES:
            english, other = local_names("en", kind), local_names(language, kind)
            yield from (Pair(language, english[key], other[key]) for key in english if len(other.get(key, "")) > 1)
        english_symbols, own_symbols = symbols("en"), symbols(language)
        for key in english_symbols.keys() & own_symbols.keys():
            first, second = english_symbols[key], own_symbols[key]
            if "tts" in first and "tts" in second:
                yield Pair(language, first["tts"][0], second["tts"][0])
            if "default" in first and "default" in second:
                yield Pair(language, ", ".join(first["default"]), separator.join(second["default"]))


def _lines(snapshot: Snapshot, name: str) -> list[str]:
    text = snapshot.text(name)
    if text is None:
        raise SystemExit(f"{snapshot.folder} has no {name} at {snapshot.commit}.")
    return text.splitlines()


def _write(file: Path, rows: Iterable[Any]) -> int:
    count = 0
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshots", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("data", type=Path)
    arguments = parser.parse_args()
    sources, meanings = load_sources(), read_wordnet(arguments.wordnet)
    open_wordnet = sources.collection("omwn/omw-data").snapshot(arguments.snapshots)
    pairs = [
        *sentences(arguments.snapshots, sources),
        *chinese_words(open_wordnet, meanings, random.Random(SEED)),
        *sorted(names(sources.collection("unicode-org/cldr-json").snapshot(arguments.snapshots))),
    ]
    print(_write(arguments.data / "general.jsonl.xz", pairs), "pairs")
    print(_write(arguments.data / "english.jsonl.xz", map(str, meanings.values())), "definitions")


if __name__ == "__main__":
    main()
