"""Makes embedders from settings."""

import subprocess
import sys

import numpy as np
import pytest

from veracity.embedding import Embedder, make_embedder
from veracity.embedding.bundled import BundledEmbedder
from veracity.errors import ConfigurationError, MissingKeyError, VeracityError

KEY = "sk-Zq8rT2vXw9LmN4pBc7Jd"


def test_each_setting_makes_its_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen: list[Embedder] = [make_embedder(name) for name in ("bundled", "none", "openai:text-embedding-3-small")]
    assert [embedder.name for embedder in chosen] == [
        BundledEmbedder.name,
        "none",
        "openai:text-embedding-3-small",
    ]


def test_none_covers_nothing() -> None:
    embedder = make_embedder("none")
    assert not embedder.covers("A cat sleeps on the sofa.")
    assert embedder.embed_passages(["a", "b"]).shape == (2, embedder.dimensions)
    assert embedder.embed_query("a").shape == (embedder.dimensions,)
    assert np.linalg.norm(embedder.embed_query("a")) == 1


@pytest.mark.parametrize("setting", ["", "Bundled", "minilm", "openai:", ":model", "openai: model", "OpenAI:x", "a\nb"])
def test_invalid_setting_is_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=r'write "bundled", "none" or a model') as caught:
        make_embedder(setting)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_credential_in_the_setting_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_embedder(KEY)
    assert KEY not in str(caught.value)


def test_misspelt_setting_gets_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match='did you mean "openai:text-embedding-3-small"'):
        make_embedder("opneai:text-embedding-3-small")


def test_missing_key_is_reported_at_once() -> None:
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY or OPENAI_BASE_URL"):
        make_embedder("openai:text-embedding-3-small")


@pytest.mark.parametrize(
    ("setting", "variable", "words"),
    [
        ("anthropic:claude", "ANTHROPIC_API_KEY", "has no embedding models"),
        ("openai-chat:nomic", "OPENAI_API_KEY", 'is written "openai:model"'),
        ("nonsense-provider:model", "", "nonsense-provider"),
        ("voyageai:voyage-4", "VOYAGE_API_KEY", "not installed"),
        ("google:gemini-embedding-001", "GOOGLE_API_KEY", r"veracity\[google\]"),
    ],
)
def test_unusable_provider_is_reported_by_the_first_call(
    setting: str, variable: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable or "UNUSED", KEY)
    embedder = make_embedder(setting)
    with pytest.raises(VeracityError, match=words) as caught:
        embedder.embed_query("why?")
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("setting", "unwanted"),
    [
        (None, {"numpy", "onnxruntime", "tokenizers", "pydantic_ai"}),
        ("none", {"onnxruntime", "tokenizers", "pydantic_ai"}),
        ("bundled", {"pydantic_ai"}),
        ("openai:text-embedding-3-small", {"onnxruntime", "tokenizers", "pydantic_ai"}),
    ],
)
def test_libraries_are_loaded_lazily(setting: str | None, unwanted: set[str]) -> None:
    program = f"""
import os, sys
os.environ["OPENAI_API_KEY"] = "{KEY}"
from veracity.embedding import make_embedder
{f'make_embedder("{setting}")' if setting else ""}
print(*sorted({unwanted!r} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
