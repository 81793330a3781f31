"""The bundled model: its vectors match the unquantized model, translations are near, and batches change nothing."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from veracity.embedding import bundled
from veracity.embedding.bundled import FOLDER, BundledEmbedder
from veracity.errors import ConfigurationError

# The first numbers of the vectors by PyTorch with the unquantized weights.
ORIGINAL = {
    "A cat sleeps on the sofa.": [0.1627, -0.0646, -0.0448, 0.076],
    "The Treaty of Westphalia ended the Thirty Years' War in 1648.": [0.017, 0.1059, 0.0644, -0.0704],
    "如何重置密码？": [0.0114, -0.0494, -0.0762, -0.0166],
    "猫在沙发上睡觉。": [0.12, -0.0743, 0.039, 0.085],
    "パスワードをリセットするにはどうすればよいですか。": [-0.0064, -0.0418, -0.0767, -0.0424],
    "1648年のヴェストファーレン条約は三十年戦争を終わらせた。": [0.0481, 0.0395, -0.0301, -0.0501],
    # Longer than the limit, truncated by both:
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 40: [
        -0.0379,
        0.0074,
        -0.0482,
        0.0368,
    ],
}
TEXTS = [f"{'word ' * (number % 7)}Fact number {number} is about {topic}." for number in range(28) for topic in "ABCDE"]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture
def copied_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "multilingual"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(bundled, "FOLDER", folder)
    bundled._load.cache_clear()
    yield folder
    bundled._load.cache_clear()


def test_vectors_match_the_original_model(embedder: BundledEmbedder) -> None:
    vectors = embedder.embed_passages(list(ORIGINAL))
    assert np.abs(vectors[:, :4] - np.array(list(ORIGINAL.values()))).max() < 0.02


def test_vectors_are_unit_float32_rows(embedder: BundledEmbedder) -> None:
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("why?").shape == (embedder.dimensions,)
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("A kitten naps on the couch.", "A cat sleeps on the sofa.", "Interest rates rose again in March."),
        ("How can I change my login?", "How do I reset my password?", "How do I bake bread?"),
        ("Which peace ended the war in 1648?", "The Treaty of Westphalia.", "The invention of the telephone."),
    ],
)
def test_similar_meanings_are_near(embedder: BundledEmbedder, text: str, near: str, far: str) -> None:
    vector, others = embedder.embed_query(text), embedder.embed_passages([near, far])
    assert vector @ others[0] > vector @ others[1] + 0.2


def test_vectors_are_deterministic(embedder: BundledEmbedder) -> None:
    assert np.array_equal(embedder.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_vector_does_not_depend_on_the_batch(embedder: BundledEmbedder) -> None:
    """Nor on the position in the batch, so the order is kept too."""
    together = embedder.embed_passages([*TEXTS, "An outlier !!! $$$ ### " * 100])[: len(TEXTS)]
    backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
    alone = np.array([embedder.embed_query(text) for text in TEXTS])
    assert np.array_equal(together, alone) and np.array_equal(backwards, alone)


def test_long_text_is_truncated(embedder: BundledEmbedder) -> None:
    beginning = "one two three four " * 64
    first, second = embedder.embed_passages([beginning + "cats " * 500, beginning + "interest rates " * 500])
    assert np.array_equal(first, second)
    assert np.allclose(first, embedder.embed_query(beginning + "x" * 10_000_000), atol=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\0",
        "\ud83d",
        "👩‍👩‍👧" * 50,
        "e" + "\u0301" * 5000,
        "x" * 100_000,
        "中文",
        "𠮷野家",
        "\u202eevil",
        "[CLS] [MASK] [SEP]",
    ],
)
def test_any_text_has_a_vector(embedder: BundledEmbedder, text: str) -> None:
    vector = embedder.embed_query(text)
    assert np.isfinite(vector).all() and np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_embedder_is_thread_safe(embedder: BundledEmbedder) -> None:
    texts = TEXTS[:50]
    expected = embedder.embed_passages(texts)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: BundledEmbedder().embed_passages(texts), range(8)))
    assert all(np.allclose(result, expected, atol=1e-5) for result in results)


def test_model_is_loaded_once(copied_model: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: BundledEmbedder().embed_query("why?"), range(8)))
    assert bundled._load.cache_info().misses == 1


@pytest.mark.parametrize(
    ("text", "translations", "other"),
    [
        ("A cat sleeps on the sofa.", ["猫在沙发上睡觉。", "猫がソファで寝ています。"], "How do I reset my password?"),
        ("如何重置密码？", ["How do I reset my password?", "パスワードをリセットする方法は？"], "猫在沙发上睡觉。"),
        ("有給休暇の申請方法", ["How to apply for paid leave", "如何申请带薪休假"], "東京の天気予報"),
    ],
)
def test_translations_are_near(embedder: BundledEmbedder, text: str, translations: list[str], other: str) -> None:
    near, far = embedder.embed_passages(translations), embedder.embed_query(other)
    vector = embedder.embed_query(text)
    assert embedder.covers(text)
    assert min(near @ vector) > vector @ far + 0.2


def flip_bit(folder: Path) -> None:
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)


def truncate_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])


def remove_model(folder: Path) -> None:
    (folder / "model.onnx").unlink()


def replace_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def empty_checksums(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("")


def corrupt_checksums(folder: Path) -> None:
    (folder / "SHA256SUMS").write_bytes(b"\xff\xfe nonsense with\nmore words\n")


@pytest.mark.parametrize(
    "damage",
    [flip_bit, truncate_model, remove_model, replace_tokenizer, remove_folder, empty_checksums, corrupt_checksums],
)
def test_damaged_model_is_reported(copied_model: Path, damage: object) -> None:
    assert callable(damage)
    damage(copied_model)
    with pytest.raises(ConfigurationError, match=r"damaged or missing: reinstall Veracity .*\.$") as caught:
        BundledEmbedder().embed_query("why?")
    assert caught.value.__cause__ is None


def test_repaired_model_needs_no_restart(copied_model: Path) -> None:
    (copied_model / "model.onnx").rename(copied_model / "away")
    with pytest.raises(ConfigurationError):
        BundledEmbedder().embed_query("why?")
    (copied_model / "away").rename(copied_model / "model.onnx")
    assert BundledEmbedder().embed_query("why?").shape == (384,)


def test_licence_and_origin_are_included() -> None:
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in (FOLDER / "README.md").read_text(encoding="utf-8")
