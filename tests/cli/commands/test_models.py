"""`veracity models`."""

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.embedding.tiny_encoder import make_folder
from tests.reranking.tiny_model import make_folder as make_reranker_folder

NAME = "someone/tiny-embedder"


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "original", pooling={"pooling_mode_mean_tokens": True})


@pytest.fixture
def workspace_with_folder(workspace: Path, tmp_path: Path) -> Path:
    (workspace / "veracity.toml").write_text(f'[models]\nfolder = "{tmp_path / "models"}"\n')
    return workspace


def test_list_shows_bundled_and_known_models(run: Run) -> None:
    listed = json.loads(run("models", "list", "--json").out)
    embedder, reader = (model for model in listed if model["state"] == "bundled")
    assert (embedder["role"], embedder["used_by"]) == ("embedder", ["models.embedder"])
    assert (reader["role"], reader["used_by"]) == ("reader", ["models.reader", "models.reranker"])
    assert embedder["size"] > 20_000_000 and reader["size"] > 20_000_000
    models = {model["setting"]: model for model in listed}
    small = models["onnx:intfloat/multilingual-e5-small"]
    assert (small["state"], small["licence"], small["query_prefix"]) == ("known", "mit", "query: ")
    assert {"en", "zh", "ja"} <= set(small["languages"]) and small["size"] > 400_000_000
    shown = run("models", "list").out
    assert "cc-by-nc-4.0" in shown and "Pulled models are in" in shown


def test_pull_asks_before_it_fetches(run: Run, workspace_with_folder: Path, original: Path, tmp_path: Path) -> None:
    asked = run("models", "pull", NAME, "--from", original, "-w", workspace_with_folder)
    assert asked.code == 2 and "Nothing was fetched: add --yes" in asked.err
    assert "Licence" in asked.out and "not stated" in asked.out and "Size" in asked.out and str(original) in asked.out
    assert not (tmp_path / "models").exists()


def test_pulled_model_is_listed_used_and_checked(
    run: Run, workspace_with_folder: Path, original: Path, tmp_path: Path
) -> None:
    workspace = workspace_with_folder
    pulled = run("models", "pull", NAME, "--from", original, "--yes", "-w", workspace)
    assert pulled.code == 0 and f'models.embedder = "onnx:{NAME}"' in pulled.out
    assert "is here already" in run("models", "pull", NAME, "--from", original, "-w", workspace).out
    settings = workspace / "veracity.toml"
    settings.write_text(f'[models]\nembedder = "onnx:{NAME}"\nfolder = "{tmp_path / "models"}"\n')
    listed = json.loads(run("models", "list", "--json", "-w", workspace).out)
    own = next(model for model in listed if model["name"] == NAME)
    assert (own["state"], own["used_by"]) == ("pulled", ["models.embedder"])
    doctor = run("doctor", "--no-ask", "-w", workspace)
    assert (
        doctor.code == 0 and "(16 dimensions)" in doctor.out and "Whether it wants prefixes is not known" in doctor.out
    )
    (tmp_path / "models" / "onnx" / NAME / "tokenizer.json").write_text("{}")
    damaged = run("doctor", "--no-ask", "-w", workspace)
    assert damaged.code == 1 and "is damaged: tokenizer.json is not the file that was pulled" in damaged.out


def test_doctor_compares_the_embedder_with_the_documents(
    run: Run, workspace: Path, original: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("The warranty lasts two years.")
    (tmp_path / "笔记.md").write_text("保修期为两年。请保留收据，以便日后办理保修手续。")
    settings = workspace / "veracity.toml"
    settings.write_text('[models]\nembedder = "none"\n')
    assert run("ingest", tmp_path / "notes.md", tmp_path / "笔记.md", "-w", workspace).code == 0
    english = original.rename(tmp_path / "bge-small-en-v1.5")
    ranks = make_reranker_folder(tmp_path / "ms-marco-MiniLM-L6-v2")
    settings.write_text(f'[models]\nembedder = "onnx:{english}"\nreranker = "onnx:{ranks}"\n')
    out = run("doctor", "--no-ask", "-w", workspace).out
    assert "gives vectors of 16 dimensions, and the documents were indexed with 1 (none): run veracity reindex" in out
    assert "does not read Chinese, the language of 1 of the documents, and they are found by their words alone" in out
    assert "ms-marco-MiniLM-L6-v2 does not read Chinese, the language of 1 of the documents: choose" in out
    assert "does not read English" not in out
    assert 'prefixes "Represent this sentence for searching relevant passages: " and ""' in out
    assert run("reindex", "-w", workspace).code == 0
    assert "dimensions, and the documents" not in run("doctor", "--no-ask", "-w", workspace).out


def test_old_name_of_the_reranker_is_mentioned(run: Run, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text('[retrieval]\nreranker = "cross-encoder:nowhere"\n')
    assert "retrieval.reranker is now called models.reranker: rename it." in run("doctor", "-w", workspace).out
