"""Models of sentence-transformers: real ones, tiny, with random weights. Skipped where the extra is not installed."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.reranking.tiny_model import make_tokenizer
from veracity.embedding import make_embedder
from veracity.errors import ConfigurationError
from veracity.local_models import ModelsFolder
from veracity.local_models.pull import Puller
from veracity.reranking import make_reranker
from veracity.reranking.base import TextReranker

pytest.importorskip("sentence_transformers")
NAME = "someone/multilingual-e5-small"  # a known name, so that prefixes are known
CONFIG = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def make_base(folder: Path, labels: int = 0) -> Path:
    """A BERT without sentence-transformers' own files, for which that library uses mean pooling."""
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    folder.mkdir()
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, **special})
    )
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), num_labels=labels or 2, **CONFIG)
    (BertForSequenceClassification(config) if labels else BertModel(config)).save_pretrained(folder)
    return folder


def test_pulled_embedder_runs_with_its_prefixes(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    models = ModelsFolder(str(tmp_path / "models"))
    with pytest.raises(ConfigurationError, match=f"veracity models pull sentence-transformers:{NAME}$"):
        make_embedder(f"sentence-transformers:{NAME}", models_folder=str(models.path))
    base = make_base(tmp_path / "base")
    puller = Puller(models, str(base))
    puller.pull(puller.plan(f"sentence-transformers:{NAME}"))
    embedder = make_embedder(f"sentence-transformers:{NAME}", models_folder=str(models.path))
    own = SentenceTransformer(str(base), local_files_only=True)
    texts = ["the cat sleeps", "猫在沙发上睡觉", "w1 " * 200]
    expected = own.encode([f"passage: {text}" for text in texts], normalize_embeddings=True)
    assert np.allclose(embedder.embed_passages(texts), expected, atol=1e-5) and embedder.dimensions == 32
    assert np.allclose(embedder.embed_query("cat"), own.encode("query: cat", normalize_embeddings=True), atol=1e-5)


def test_reranker_from_a_folder(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    base = make_base(tmp_path / "base", labels=1)
    reranker = make_reranker(f"sentence-transformers:{base}")
    assert isinstance(reranker, TextReranker)
    pairs = [("cat", "the cat sleeps"), ("cat", "rates rose")]
    expected = CrossEncoder(str(base), local_files_only=True).predict(pairs)
    assert np.allclose(reranker.scores("cat", [passage for _, passage in pairs]), expected, atol=1e-6)


def test_folder_that_is_no_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be used: its files are incomplete, not a model"):
        make_embedder(f"sentence-transformers:{tmp_path}").embed_query("cat")
