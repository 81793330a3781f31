"""Pulling models from a hub, a mirror or a folder, and using what was pulled."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.embedding.tiny_encoder import make_folder
from tests.local_models.hub_server import REVISION, HubServer
from tests.reranking.tiny_model import make_folder as make_reranker_folder
from veracity.embedding import make_embedder
from veracity.errors import ConfigurationError, PullError
from veracity.local_models import ModelsFolder, find_known, known_models
from veracity.local_models.pull import Puller, PullPlan
from veracity.local_models.sources import DEFAULT_HUB, HUB_VARIABLE
from veracity.reranking import make_reranker
from veracity.reranking.base import TextReranker

NAME = "someone/tiny-embedder"
MEAN = {"pooling_mode_mean_tokens": True}


@pytest.fixture
def original(tmp_path: Path) -> Path:
    folder = make_folder(tmp_path / "original", pooling=MEAN, tokenizer_config={"model_max_length": 64})
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "pytorch_model.bin").write_bytes(b"weights")
    (folder / "onnx/model_quantized.onnx").write_bytes((folder / "onnx/model.onnx").read_bytes())
    (folder / "README.md").write_text("# A card")
    return folder


@pytest.fixture
def hub(original: Path) -> Iterator[HubServer]:
    with HubServer(original, NAME, "cc-by-nc-4.0") as running:
        yield running


@pytest.fixture
def models(tmp_path: Path) -> ModelsFolder:
    return ModelsFolder(str(tmp_path / "models"))


def pull(models: ModelsFolder, place: str, name: str = NAME, **options: Any) -> PullPlan:
    puller = Puller(models, place)
    plan = puller.plan(name, **options)
    puller.pull(plan)
    return plan


def refusal(models: ModelsFolder, place: str, name: str = NAME, **options: Any) -> str:
    with pytest.raises((PullError, ConfigurationError)) as caught:
        pull(models, place, name, **options)
    message = str(caught.value)
    assert "\n" not in message and message[-1] in ".?"
    return message


def test_plan_tells_all_before_a_file_is_fetched(hub: HubServer, models: ModelsFolder) -> None:
    plan = Puller(models, hub.url).plan(NAME)
    assert (plan.licence, plan.revision, plan.origin) == ("cc-by-nc-4.0", REVISION, hub.url)
    assert plan.is_non_commercial and not plan.is_pulled
    assert set(plan.files) == {
        "onnx/model.onnx",
        "tokenizer.json",
        "tokenizer_config.json",
        "config.json",
        "1_Pooling/config.json",
    }
    assert plan.size == sum((hub.folder / name).stat().st_size for name in plan.files)
    assert [path for path, _ in hub.requests] == [f"/api/models/{NAME}/revision/main?blobs=true"]
    assert not models.path.exists()


def test_pulled_model_is_locked_and_used(hub: HubServer, models: ModelsFolder) -> None:
    plan = pull(models, hub.url)
    locked = json.loads((models.path / "lock.json").read_text())["models"][f"onnx:{NAME}"]
    assert locked["revision"] == REVISION and locked["files"].keys() == plan.files.keys()
    embedder = make_embedder(f"onnx:{NAME}", models_folder=str(models.path))
    expected = make_embedder(f"onnx:{hub.folder}").embed_query("the cat sleeps")
    assert np.array_equal(embedder.embed_query("the cat sleeps"), expected)
    again = Puller(models, hub.url).plan(NAME)
    assert again.is_pulled and hub.requests[-1][0] == f"/api/models/{NAME}/revision/{REVISION}?blobs=true"
    assert not list(models.path.rglob("*.partial*"))


def test_interrupted_pull_continues(hub: HubServer, models: ModelsFolder) -> None:
    hub.cut_after = 20_000
    assert "cannot be reached" in refusal(models, hub.url)
    with pytest.raises(ConfigurationError, match="veracity models pull"):
        make_embedder(f"onnx:{NAME}", models_folder=str(models.path))
    hub.requests.clear()
    pull(models, hub.url)
    assert ("/storage/onnx/model.onnx", "bytes=20000-") in hub.requests
    make_embedder(f"onnx:{NAME}", models_folder=str(models.path)).embed_query("cat")


def alter(name: str, **fields: Any) -> Any:
    def change(entries: list[dict[str, Any]]) -> None:
        next(entry for entry in entries if entry["rfilename"] == name).update(fields)

    return change


def test_file_that_differs_from_the_list_is_refused(hub: HubServer, models: ModelsFolder) -> None:
    size = (hub.folder / "onnx/model.onnx").stat().st_size
    hub.change = alter("onnx/model.onnx", lfs={"sha256": "0" * 64, "size": size})
    assert "does not match the list of its source, and was deleted" in refusal(models, hub.url)
    hub.change = alter("config.json", blobId="0" * 40)
    assert "config.json did not arrive as its source lists it" in refusal(models, hub.url)
    hub.change = alter("config.json", rfilename="../config.json")
    assert "did not list the files" in refusal(models, hub.url)
    assert models.locked() == {} and not (models.path.parent / "config.json").exists()


def test_lock_is_trusted_over_the_source(hub: HubServer, models: ModelsFolder, tmp_path: Path) -> None:
    """Also where lock.json was copied from another machine."""
    pull(models, hub.url)
    other = ModelsFolder(str(tmp_path / "other"))
    other.path.mkdir()
    (other.path / "lock.json").write_text((models.path / "lock.json").read_text())
    make_folder(hub.folder, pooling=MEAN, seed=1, tokenizer_config={"model_max_length": 64})
    assert "does not match lock.json" in refusal(other, hub.url)
    (models.path / f"onnx/{NAME}/onnx/model.onnx").write_bytes(b"altered")
    with pytest.raises(ConfigurationError, match="is damaged: onnx/model.onnx is not the file that was pulled"):
        make_embedder(f"onnx:{NAME}", models_folder=str(models.path)).embed_query("cat")


def test_known_hash_is_required_whatever_the_source(models: ModelsFolder, original: Path) -> None:
    known = "intfloat/multilingual-e5-small"
    assert "does not match the hash that Veracity knows" in refusal(models, str(original), known)
    assert pull(models, str(original), known, revision="another").revision == "another"


def test_pull_from_a_folder(models: ModelsFolder, original: Path, tmp_path: Path) -> None:
    plan = pull(models, str(original))
    assert plan.revision == "" and plan.origin == str(original)
    (tmp_path / "mirror" / "someone").mkdir(parents=True)
    (tmp_path / "mirror" / NAME).symlink_to(original)
    assert Puller(models, str(tmp_path / "mirror")).plan(NAME).is_pulled
    assert not Puller(models, str(original)).plan(NAME, file="onnx/model_quantized.onnx").is_pulled
    quantized = pull(models, str(original), "someone/other", file="onnx/model_quantized.onnx")
    assert "onnx/model_quantized.onnx" in quantized.files and "onnx/model.onnx" not in quantized.files
    torch = Puller(models, str(original)).plan(f"sentence-transformers:{NAME}")
    assert "model.safetensors" in torch.files and not {"pytorch_model.bin", "onnx/model.onnx"} & torch.files.keys()


def test_unusable_sources_and_names(
    hub: HubServer, models: ModelsFolder, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "has no model" in refusal(models, hub.url, "someone/else")
    assert "There is no folder" in refusal(models, "/no/such/folder")
    assert "is not the name of a model" in refusal(models, hub.url, "../../etc")
    assert 'Models of "openai" are not pulled' in refusal(models, hub.url, "openai:text")
    assert "fastembed has no model" in refusal(models, hub.url, "fastembed:someone/else")
    assert "without a user name or password" in refusal(models, "https://me:secret@mirror.example.com")
    monkeypatch.setenv(HUB_VARIABLE, "http://127.0.0.1:9")
    message = refusal(models, "", NAME)
    assert '"http://127.0.0.1:9" cannot be reached' in message and "--from" in message and DEFAULT_HUB not in message
    (original / "onnx/model.onnx").unlink()
    (original / "onnx/model_quantized.onnx").rename(original / "onnx/model_O4.onnx")
    assert "has no model.onnx (ONNX files there: onnx/model_O4.onnx)" in refusal(models, str(original))


def test_fastembed_runs_what_was_pulled(models: ModelsFolder, original: Path, tmp_path: Path) -> None:
    """With models that fastembed was told of, on real files, and without a connection."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    if not any(entry["model"] == NAME for entry in TextEmbedding.list_supported_models()):
        TextEmbedding.add_custom_model(NAME, PoolingType.MEAN, True, ModelSource(hf=NAME), dim=16)
        TextCrossEncoder.add_custom_model("someone/tiny-reranker", ModelSource(hf="someone/tiny-reranker"))
    with pytest.raises(ConfigurationError, match=f"run: veracity models pull fastembed:{NAME}$"):
        make_embedder(f"fastembed:{NAME}", models_folder=str(models.path))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (original / "special_tokens_map.json").write_text(json.dumps(special))
    (original / "tokenizer_config.json").write_text(json.dumps(special | {"model_max_length": 64}))
    pull(models, str(original), f"fastembed:{NAME}")
    embedder = make_embedder(f"fastembed:{NAME}", models_folder=str(models.path))
    texts = ["the cat sleeps", "猫在沙发上睡觉", "interest rates rose again in march"]
    own = make_embedder(f"onnx:{original}").embed_passages(texts)
    assert np.allclose(embedder.embed_passages(texts), own, atol=1e-5) and embedder.dimensions == 16
    assert np.allclose(embedder.embed_query(texts[0]), own[0], atol=1e-5) and embedder.name == f"fastembed:{NAME}"

    reranker_folder = make_reranker_folder(tmp_path / "reranker", where="onnx/model.onnx")
    for name in ("special_tokens_map.json", "tokenizer_config.json", "config.json"):
        (reranker_folder / name).write_text((original / name).read_text())
    pull(models, str(reranker_folder), "fastembed:someone/tiny-reranker")
    settings = ("fastembed:someone/tiny-reranker", f"onnx:{reranker_folder}")
    passages = ["rates rose", "the cat sleeps on a sofa", "cat"]
    theirs, ours = (
        reranker.scores("the cat sleeps", passages)
        for setting in settings
        if isinstance(reranker := make_reranker(setting, models_folder=str(models.path)), TextReranker)
    )
    assert theirs == ours == [0, 3, 1]


def test_missing_library_is_one_sentence_with_the_command(
    models: ModelsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for kind in ("fastembed", "sentence-transformers"):
        for make in (make_embedder, make_reranker):
            with pytest.raises(ConfigurationError, match=rf'not installed: pip install "veracity\[{kind}\]"$'):
                make(f"{kind}:a/b", models_folder=str(models.path))


def test_known_models_are_found_under_the_names_of_servers() -> None:
    for name in ("intfloat/multilingual-e5-small", "Xenova/multilingual-e5-small", "multilingual-e5-small:latest"):
        known = find_known(name)
        assert known is not None and (known.query_prefix, known.passage_prefix) == ("query: ", "passage: ")
    assert find_known("nomic-embed-text") is find_known("nomic-ai/nomic-embed-text-v1.5") is not None
    assert find_known("text-embedding-3-small") is None
    names = [model.name for model in known_models()]
    assert len(set(names)) == len(names)
    assert all(len(pin.sha256) == 64 for model in known_models() for pin in model.files.values())
