"""Texts and prompts have the same keys, placeholders and rules in every language (SPEC X5)."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from veracity.agents.prompts import AGENTS, load_prompt
from veracity.locales import LANGUAGES, choose_language, section_texts, text
from veracity.models import ApprovalReason, OnReject, Shortfall, Thumb, Verdict
from veracity.models.review import ReviewOutcome
from veracity.models.strength import Strength

PACKAGE = Path(str(files("veracity")))
FOLDERS = [PACKAGE / "locales", PACKAGE / "server" / "static" / "locales"]
PROMPTS = PACKAGE / "prompts"
OTHER_LANGUAGES = [language for language in LANGUAGES if language != "en"]


def flatten(texts: Any, path: str = "") -> dict[str, str]:
    if isinstance(texts, dict):
        return {key: value for name, child in texts.items() for key, value in flatten(child, f"{path}/{name}").items()}
    if isinstance(texts, list):
        return flatten({str(index): child for index, child in enumerate(texts)}, path)
    return {path: texts}


def load_texts(folder: Path, language: str) -> dict[str, str]:
    return flatten(json.loads((folder / f"{language}.json").read_text(encoding="utf-8")))


def load_prompts(language: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (PROMPTS / language).iterdir()}


def placeholders(template: str) -> set[str]:
    return set(re.findall(r"\{(\w*)[^{}]*\}", template))


def count_rules(prompt: str) -> int:
    return len(re.findall(r"^- ", prompt, re.MULTILINE))


def each_folder() -> list[Path]:
    return [folder for folder in FOLDERS if folder.is_dir()]


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
@pytest.mark.parametrize("folder", each_folder(), ids=lambda folder: folder.parent.name)
def test_texts_have_the_keys_and_placeholders_of_english(folder: Path, language: str) -> None:
    english, texts = load_texts(folder, "en"), load_texts(folder, language)
    assert texts.keys() == english.keys()
    differing = [key for key in english if placeholders(texts[key]) != placeholders(english[key])]
    assert not differing


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("folder", each_folder(), ids=lambda folder: folder.parent.name)
def test_no_text_is_blank_or_has_a_duplicate_key(folder: Path, language: str) -> None:
    def check_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert [key for key, count in Counter(key for key, _ in pairs).items() if count > 1] == []
        return dict(pairs)

    json.loads((folder / f"{language}.json").read_text(encoding="utf-8"), object_pairs_hook=check_keys)
    assert [key for key, value in load_texts(folder, language).items() if not value.strip()] == []


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_prompts_have_the_files_placeholders_and_rules_of_english(language: str) -> None:
    english, prompts = load_prompts("en"), load_prompts(language)
    assert prompts.keys() == english.keys()
    assert {name: placeholders(prompt) for name, prompt in prompts.items()} == {
        name: placeholders(prompt) for name, prompt in english.items()
    }
    assert {name: count_rules(prompt) for name, prompt in prompts.items()} == {
        name: count_rules(prompt) for name, prompt in english.items()
    }


def test_every_agent_has_default_instructions() -> None:
    assert {path.stem for path in (PROMPTS / "instructions").iterdir()} == set(AGENTS)
    assert all(load_prompt(f"instructions/{agent}") for agent in AGENTS)


@pytest.mark.parametrize(
    ("values", "section", "prefix"),
    [
        (ApprovalReason, "notices", "waiting_"),
        (ApprovalReason, "receipt", "why."),
        (OnReject, "cli", "on_reject."),
        (ReviewOutcome, "cli", "review."),
        (Verdict, "cli", "decided."),
        (Thumb, "cli", "thumb."),
        (Strength, "strength", ""),
        (Shortfall, "receipt", "issue."),
        (Shortfall, "quality", ""),
        (Shortfall, "notices", "evidence_"),
    ],
)
def test_every_value_has_a_text(values: Any, section: str, prefix: str) -> None:
    assert [value for value in get_args(values) if f"{prefix}{value}" not in section_texts("en", section)] == []


def test_placeholders_are_filled_in() -> None:
    assert text("en", "agents", "review_parts", addressed=1, total=2) == "1 of 2 parts of the question are addressed."
    with pytest.raises(KeyError):
        text("en", "agents", "review_parts", addressed=1)
    with pytest.raises(KeyError):
        text("en", "agents", "no such key")


def test_unknown_language_falls_back_to_english() -> None:
    assert section_texts("xx", "agents") is section_texts("en", "agents")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("section", ["verdict", "strength"])
def test_verdict_and_strength_have_the_same_words_on_the_page(language: str, section: str) -> None:
    page = json.loads((FOLDERS[1] / f"{language}.json").read_text(encoding="utf-8"))
    own = {f"answer.{section}.{key}": value for key, value in section_texts(language, section).items()}
    assert own == {key: value for key, value in page.items() if key.startswith(f"answer.{section}.")}


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("ja,en-US;q=0.9", "ja"),
        ("de-DE,de;q=0.9,en;q=0.5,zh;q=0.7", "zh"),
        ("zh-Hans-CN", "zh"),
        ("ja_JP.UTF-8", "ja"),
        ("C.UTF-8", ""),
        ("de", ""),
        ("*", ""),
        ("", ""),
    ],
)
def test_the_first_accepted_language_with_texts_is_chosen(accepted: str, language: str) -> None:
    assert choose_language(accepted) == language
