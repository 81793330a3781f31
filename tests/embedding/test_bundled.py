"""The bundled model: its vectors are those of the original, whatever the texts are embedded with."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from veracity.embedding import bundled
from veracity.embedding.bundled import BATCH, FOLDER, BundledEmbedder
from veracity.errors import ConfigurationError

# The first numbers of the vectors that sentence-transformers makes with the original, unquantised weights.
ORIGINAL = {
    "A cat sleeps on the sofa.": [0.1645, -0.0697, -0.0501, 0.0512],
    "How do I reset my password?": [0.0069, -0.063, -0.072, -0.0325],
    "The Treaty of Westphalia ended the Thirty Years' War in 1648.": [0.0344, 0.0945, 0.0793, -0.0728],
    "Die Katze schläft auf dem Sofa.": [0.02, 0.0186, 0.013, -0.0109],
    # Longer than is read, by both:
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 40: [
        -0.0824,
        -0.0117,
        -0.0607,
        0.028,
    ],
}
TEXTS = [f"{'word ' * (number % 7)}Fact number {number} is about {topic}." for number in range(28) for topic in "ABCDE"]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture
def copied_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "minilm"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(bundled, "FOLDER", folder)
    bundled._load.cache_clear()
    yield folder
    bundled._load.cache_clear()


def test_vectors_are_the_original_s(embedder: BundledEmbedder) -> None:
    vectors = embedder.embed_passages(list(ORIGINAL))
    assert np.abs(vectors[:, :4] - np.array(list(ORIGINAL.values()))).max() < 0.02


def test_vectors_have_the_form_they_should(embedder: BundledEmbedder) -> None:
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
def test_what_means_the_same_is_near(embedder: BundledEmbedder, text: str, near: str, far: str) -> None:
    vector, others = embedder.embed_query(text), embedder.embed_passages([near, far])
    assert vector @ others[0] > vector @ others[1] + 0.2


def test_the_same_text_has_the_same_vector_every_time(embedder: BundledEmbedder) -> None:
    assert np.array_equal(embedder.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_a_vector_does_not_depend_on_the_other_texts(embedder: BundledEmbedder) -> None:
    """Nor on padding, nor on the place in the batch, which is also the proof that the order is kept."""
    assert sum(len(text.split()) for text in TEXTS) > BATCH  # so that there are several
    together = embedder.embed_passages([*TEXTS, "An outlier !!! $$$ ### " * 100])[: len(TEXTS)]
    backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
    alone = np.array([embedder.embed_query(text) for text in TEXTS])
    assert np.abs(together - alone).max() < 0.01 and np.abs(backwards - alone).max() < 0.01
    assert (together * alone).sum(axis=1).min() > 0.9999


def test_only_the_beginning_of_a_long_text_is_read(embedder: BundledEmbedder) -> None:
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
        "\u202eevil",
        "[CLS] [MASK] [SEP]",
    ],
)
def test_any_text_has_a_vector(embedder: BundledEmbedder, text: str) -> None:
    vector = embedder.embed_query(text)
    assert np.isfinite(vector).all() and np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_threads_can_share_it(embedder: BundledEmbedder) -> None:
    texts = TEXTS[:50]
    expected = embedder.embed_passages(texts)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: BundledEmbedder().embed_passages(texts), range(8)))
    assert all(np.allclose(result, expected, atol=1e-5) for result in results)


def test_it_is_loaded_once(copied_model: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: BundledEmbedder().embed_query("why?"), range(8)))
    assert bundled._load.cache_info().misses == 1


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("A cat sleeps on the sofa.", True),
        ("Die Katze schläft auf dem Sofa.", True),
        ("1648", True),
        ("", True),
        ("猫在沙发上睡觉。", False),
        ("猫がソファで寝ています。", False),
    ],
)
def test_chinese_and_japanese_are_left_to_words(embedder: BundledEmbedder, text: str, covered: bool) -> None:
    assert embedder.covers(text) is covered


def damage_model(folder: Path) -> None:
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)


def cut_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])


def lose_model(folder: Path) -> None:
    (folder / "model.onnx").unlink()


def change_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def lose_everything(folder: Path) -> None:
    shutil.rmtree(folder)


def empty_sums(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("")


def garble_sums(folder: Path) -> None:
    (folder / "SHA256SUMS").write_bytes(b"\xff\xfe nonsense with\nmore words\n")


@pytest.mark.parametrize(
    "harm", [damage_model, cut_model, lose_model, change_tokenizer, lose_everything, empty_sums, garble_sums]
)
def test_a_damaged_model_is_told_as_such(copied_model: Path, harm: object) -> None:
    assert callable(harm)
    harm(copied_model)
    with pytest.raises(ConfigurationError, match=r"damaged or missing: reinstall Veracity .*\.$") as caught:
        BundledEmbedder().embed_query("why?")
    assert caught.value.__cause__ is None


def test_a_repaired_model_can_be_used_without_a_restart(copied_model: Path) -> None:
    (copied_model / "model.onnx").rename(copied_model / "away")
    with pytest.raises(ConfigurationError):
        BundledEmbedder().embed_query("why?")
    (copied_model / "away").rename(copied_model / "model.onnx")
    assert BundledEmbedder().embed_query("why?").shape == (384,)


def test_its_licence_and_origin_come_along() -> None:
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in (FOLDER / "README.md").read_text(encoding="utf-8")
