"""Makes rerankers from settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from veracity.errors import ConfigurationError, MissingKeyError
from veracity.reranking import Reranker, make_reranker

KEY = "sk-Zq8rT2vXw9LmN4pBc7Jd"
KEYS = {"cohere": "CO_API_KEY", "jina": "JINA_API_KEY", "voyage": "VOYAGE_API_KEY"}


def refusal(setting: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make_reranker(setting)
    message = str(caught.value)
    assert "\n" not in message and message[-1] in ".?" and caught.value.__context__ is None
    return message


def test_each_setting_makes_its_reranker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS.values():
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("RERANK_BASE_URL", "http://localhost:8000/v1")
    names = [
        "bundled",
        f"onnx:{folder}",
        f"cross-encoder:{folder}",
        "cohere:rerank-v3.5",
        "jina:jina-reranker-v2-base-multilingual",
        "voyage:rerank-2.5",
        "server:BAAI/bge-reranker-v2-m3",
    ]
    chosen: list[Reranker | None] = [make_reranker(name) for name in names]
    assert [reranker and reranker.name for reranker in chosen] == names


def test_none() -> None:
    assert make_reranker("none") is None


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("coher:rerank-v3.5", "cohere:rerank-v3.5"),
        ("Cohere:rerank-v3.5", "cohere:rerank-v3.5"),
        ("voyageai:rerank-2.5", "voyage:rerank-2.5"),
        ("crossencoder:/models/bge", "cross-encoder:/models/bge"),
        ("cross_encoder: /models/bge", "cross-encoder:/models/bge"),
        ("cohere", "cohere:MODEL"),
        ("jina:", "jina:MODEL"),
        ("cross-encoder:  ", "cross-encoder:FOLDER"),
        ("None", "none"),
        ("nome:x", "none"),
    ],
)
def test_misspelt_setting_gets_a_suggestion(setting: str, meant: str) -> None:
    message = refusal(setting)
    assert message.startswith("models.reranker: ") and message.endswith(f'did you mean "{meant}"?')


@pytest.mark.parametrize("setting", ["", ":", ":model", "openai:gpt-5", "a\nb", "x" * 500])
def test_unknown_reranker_is_refused(setting: str) -> None:
    message = refusal(setting)
    assert message.startswith("models.reranker: ")
    assert message.endswith(
        "sentence-transformers:NAME, cross-encoder:FOLDER, cohere:MODEL, jina:MODEL, voyage:MODEL, server:MODEL."
    )


@pytest.mark.parametrize("setting", ["cohere: rerank", "jina:a b", "server:a\nb", "voyage:" + "x" * 400])
def test_invalid_model_name_is_refused(setting: str) -> None:
    assert refusal(setting).startswith("models.reranker: the reranker ")


@pytest.mark.parametrize("setting", [KEY, f"coher:{KEY}", f"cohere:{KEY} "])
def test_credential_in_the_setting_is_not_shown(setting: str) -> None:
    assert KEY not in refusal(setting)


@pytest.mark.parametrize(("service", "variable"), [*KEYS.items(), ("server", "RERANK_BASE_URL")])
@pytest.mark.parametrize("value", ["", "  "])
def test_missing_variable_is_reported_at_once(
    service: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(MissingKeyError, match=f"set {variable} in the environment"):
        make_reranker(f"{service}:model")


@pytest.mark.parametrize("value", [f"{KEY}\n", f" {KEY}", "schlüssel", "a\tb"])
def test_invalid_key_is_reported_but_not_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JINA_API_KEY", value)
    message = refusal("jina:model")
    assert "JINA_API_KEY cannot be a key" in message and value.strip() not in message


@pytest.mark.parametrize(
    "value",
    [
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host:0",
        "nonsense",
        "http://a b/",
        "http://host/v1?key=x",
        "http://host/\nv1",
        "http://name:hunter2@host/v1",
    ],
)
def test_invalid_base_url_is_reported_but_not_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_BASE_URL", value)
    message = refusal("server:model")
    assert "RERANK_BASE_URL" in message and "host/" not in message and "hunter2" not in message


@pytest.mark.parametrize(
    ("setting", "unwanted"),
    [
        (None, {"httpx", "numpy", "onnxruntime", "tokenizers", "pydantic_ai"}),
        ("none", {"httpx", "numpy", "onnxruntime", "tokenizers", "pydantic_ai"}),
        ("cohere:rerank-v3.5", {"httpx", "numpy", "onnxruntime", "tokenizers", "pydantic_ai"}),
        ("cross-encoder:", {"httpx", "pydantic_ai"}),
    ],
)
def test_libraries_are_loaded_lazily(folder: Path, setting: str | None, unwanted: set[str]) -> None:
    chosen = f"{setting}{folder}" if setting == "cross-encoder:" else setting
    program = f"""
import os, sys
os.environ["CO_API_KEY"] = "{KEY}"
from veracity.reranking import make_reranker
{f"make_reranker({chosen!r})" if chosen else ""}
print(*sorted({unwanted!r} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
