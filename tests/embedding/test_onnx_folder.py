"""An embedder from a folder: a real model, tiny, on the real onnxruntime."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.embedding.tiny_encoder import DIMENSIONS, make_folder, token_vectors
from veracity.embedding import Embedder, make_embedder
from veracity.errors import ConfigurationError, ModelAnswerError

MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
TEXTS = [
    "the cat sleeps",
    "猫在沙发上睡觉",
    "猫がソファで寝ています",
    "",
    "w1 " * 400,
    "interest rates rose again in march",
]


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def embedder_of(folder: Path) -> Embedder:
    return make_embedder(f"onnx:{folder}")


@pytest.mark.parametrize(
    ("pooling", "calculate"),
    [
        (MEAN, lambda tokens: tokens.mean(axis=0)),
        ({"pooling_mode_cls_token": True}, lambda tokens: tokens[0]),
        ({"pooling_mode_lasttoken": True}, lambda tokens: tokens[-1]),
        ({"pooling_mode": "mean"}, lambda tokens: tokens.mean(axis=0)),
        ({"pooling_mode": "lasttoken"}, lambda tokens: tokens[-1]),
    ],
)
def test_pooling_is_read_from_the_files(
    tmp_path: Path, pooling: dict[str, Any], calculate: Callable[[Any], Any]
) -> None:
    folder = make_folder(tmp_path / "m", pooling=pooling)
    embedder = embedder_of(folder)
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSIONS) and vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert np.allclose(vector, unit(calculate(token_vectors(folder, text))), atol=1e-6)
    assert np.allclose(embedder.embed_query(TEXTS[0]), vectors[0], atol=1e-6)
    assert embedder.dimensions == DIMENSIONS and embedder.embed_passages([]).shape == (0, DIMENSIONS)


def test_a_model_that_pools_itself_needs_no_pooling(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", output="sentence_embedding", where="model_quantized.onnx")
    expected = unit(token_vectors(folder, "the cat").sum(axis=0))
    assert np.allclose(embedder_of(folder).embed_query("the cat"), expected, atol=1e-6)


def test_vectors_of_a_quantized_model_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    embedder = embedder_of(make_folder(tmp_path / "m", pooling=MEAN, quantized=True))
    together = embedder.embed_passages(TEXTS)
    assert np.array_equal(together, [embedder.embed_passages([text])[0] for text in TEXTS])
    assert np.array_equal(embedder.embed_passages(TEXTS[::-1]), together[::-1])


def test_prefixes_are_those_of_the_files_or_of_the_known_model(tmp_path: Path) -> None:
    def prefixes(folder: Path) -> tuple[bool, bool]:
        """Whether questions and passages differ from the bare text."""
        bare = unit(token_vectors(folder, "cat").mean(axis=0))
        embedder = embedder_of(folder)
        return not np.allclose(embedder.embed_query("cat"), bare), not np.allclose(
            embedder.embed_passages(["cat"])[0], bare
        )

    prompts = {"prompts": {"query": "the ", "document": ""}}
    assert prefixes(make_folder(tmp_path / "own", pooling=MEAN, config_sentence_transformers=prompts)) == (True, False)
    assert prefixes(make_folder(tmp_path / "multilingual-e5-small", pooling=MEAN)) == (True, True)
    assert prefixes(make_folder(tmp_path / "m", pooling=MEAN)) == (False, False)
    cached = tmp_path / "models--intfloat--multilingual-e5-small/snapshots/0123"
    assert prefixes(make_folder(cached, pooling=MEAN)) == (True, True)


def test_a_known_model_covers_its_languages(tmp_path: Path) -> None:
    english = embedder_of(make_folder(tmp_path / "bge-small-en-v1.5", pooling=MEAN))
    unknown = embedder_of(make_folder(tmp_path / "m", pooling=MEAN))
    for text, is_english in (("A cat sleeps.", True), ("猫在沙发上睡觉", False), ("猫が寝ています", False)):
        assert english.covers(text) == is_english and unknown.covers(text)


@pytest.mark.parametrize(
    "limit",
    [
        {"sentence_bert_config": {"max_seq_length": 8}},
        {"tokenizer_config": {"model_max_length": 8}},
        {"config": {"max_position_embeddings": 8}},
        {"config": {"max_position_embeddings": 10, "model_type": "xlm-roberta"}},
        {"sentence_bert_config": {"max_seq_length": 512}, "tokenizer_config": {"model_max_length": 8}},
    ],
    ids=str,
)
def test_long_texts_are_cut_at_the_limit_of_the_model(tmp_path: Path, limit: dict[str, Any]) -> None:
    embedder = embedder_of(make_folder(tmp_path / "m", pooling=MEAN, **limit))
    words = "the cat sleeps on a sofa"
    assert np.allclose(embedder.embed_query(f"{words} interest rates"), embedder.embed_query(words), atol=1e-6)
    assert not np.allclose(embedder.embed_query("the cat sleeps on a"), embedder.embed_query(words), atol=1e-3)


def test_the_name_follows_the_model_and_not_its_place(tmp_path: Path) -> None:
    first = embedder_of(make_folder(tmp_path / "a" / "m", pooling=MEAN)).name
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert embedder_of(tmp_path / "b" / "m").name == first
    assert embedder_of(make_folder(tmp_path / "c" / "m", pooling=MEAN, seed=1)).name != first
    assert embedder_of(make_folder(tmp_path / "d" / "m", pooling={"pooling_mode_cls_token": True})).name != first
    prompts = {"prompts": {"query": "the "}}
    assert (
        embedder_of(make_folder(tmp_path / "e" / "m", pooling=MEAN, config_sentence_transformers=prompts)).name != first
    )


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def write(name: str, content: str | bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


DENSE = json.dumps(
    [{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Dense"}]
)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (remove("onnx/model.onnx"), "it has no model.onnx or onnx/model.onnx"),
        (remove("tokenizer.json"), "it has no tokenizer.json"),
        (remove("1_Pooling/config.json"), "it has no 1_Pooling/config.json, so that the pooling is unknown; add"),
        (write("onnx/model.onnx", b"version https://git-lfs"), "model.onnx is damaged"),
        (write("tokenizer.json", "{"), "tokenizer.json is damaged"),
        (write("config.json", "{"), "config.json is damaged"),
        (write("modules.json", DENSE), "a module of the kind Dense"),
        (write("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'), "only one of mean, cls and lasttoken"),
        (write("1_Pooling/config.json", '{"pooling_mode": "max"}'), 'its pooling is "max"'),
    ],
)
def test_unusable_folder_is_one_clear_error(tmp_path: Path, damage: Callable[[Path], None], reason: str) -> None:
    folder = make_folder(tmp_path / "m", pooling=MEAN)
    damage(folder)
    with pytest.raises(ConfigurationError) as caught:
        embedder_of(folder).embed_query("cat")
    message = str(caught.value)
    assert reason in message and str(folder) in message and "\n" not in message and message.endswith(".")


def test_model_that_is_no_embedder_is_reported(tmp_path: Path) -> None:
    from tests.reranking.tiny_model import make_folder as make_reranker_folder

    folder = make_reranker_folder(tmp_path / "m", flat=True, types=False)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(MEAN))
    with pytest.raises(ModelAnswerError, match="one vector of numbers per text"):
        embedder_of(folder).embed_passages(["cat"])


def test_missing_folder_and_missing_model(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r'no model in the folder "/no/such/place": check the path after "onnx:"'
    ):
        make_embedder("onnx:/no/such/place")
    with pytest.raises(ConfigurationError, match=r"run: veracity models pull intfloat/multilingual-e5-small$"):
        make_embedder("onnx:intfloat/multilingual-e5-small", models_folder=str(tmp_path))
