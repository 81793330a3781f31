"""A cross-encoder from a folder: a real model, tiny, on the real onnxruntime."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.reranking.tiny_model import make_folder, words_of
from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.providers import onnx
from veracity.reranking import cross_encoder
from veracity.reranking.cross_encoder import MAX_QUERY_TOKENS, MAX_TOKENS, CrossEncoder

NUMBERED = [" ".join(f"w{number}" for number in range(start, start + 3 + start % 17)) for start in range(0, 600, 5)]


@pytest.fixture(scope="module")
def reranker(folder: Path) -> CrossEncoder:
    return CrossEncoder(str(folder))


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(start, start + count))


@pytest.mark.parametrize(
    ("query", "passages", "best"),
    [
        ("Where does the cat sleep?", ["Interest rates rose.", "The cat sleeps on a sofa.", "Bread in an oven."], 1),
        ("猫在哪里睡觉？", ["银行利率上升", "猫在沙发上睡觉", "The cat sleeps."], 1),
        ("猫はどこで寝ていますか", ["金利が上がりました", "Interest rates rose.", "猫がソファで寝ています"], 2),
        ("treaty of westphalia", ["猫", "the treaty", "the treaty of westphalia"], 2),
    ],
)
def test_best_passage_has_the_highest_score(reranker: CrossEncoder, query: str, passages: list[str], best: int) -> None:
    scores = reranker.scores(query, passages)
    assert len(scores) == len(passages) and all(type(score) is float for score in scores)
    assert max(range(len(passages)), key=scores.__getitem__) == best


def test_scores_match_the_model_across_batches(reranker: CrossEncoder) -> None:
    """Also where many batches of different length are run, in the order of the passages."""
    query = words(MAX_QUERY_TOKENS)
    assert sum(len(passage.split()) for passage in NUMBERED) > 2 * onnx.MAX_BATCH_TOKENS
    asked = set(words_of(query))
    expected = [sum(word in asked for word in passage.split()) for passage in NUMBERED]
    assert reranker.scores(query, NUMBERED) == expected
    assert reranker.scores(query, NUMBERED[::-1]) == expected[::-1]


def test_score_does_not_depend_on_the_batch(reranker: CrossEncoder) -> None:
    together = reranker.scores("w7 w9 w100", NUMBERED)
    assert together == [reranker.scores("w7 w9 w100", [passage])[0] for passage in NUMBERED]


def test_scores_do_not_depend_on_the_number_of_threads(reranker: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "processors", lambda: 4)
    many = reranker.scores(words(50), NUMBERED)
    monkeypatch.setattr(onnx, "processors", lambda: 1)
    assert reranker.scores(words(50), NUMBERED) == many


def test_only_the_passage_is_truncated(reranker: CrossEncoder) -> None:
    """Of 512 pieces three are special ones and two the question's."""
    room = MAX_TOKENS - 3 - 2
    inside, outside = words(room - 1) + " cat", words(room) + " cat"
    assert reranker.scores("the cat", [inside, outside, "cat " * 2000]) == [1, 0, room]


def test_long_question_leaves_room_for_the_passage(reranker: CrossEncoder) -> None:
    long = words(600)
    scores = reranker.scores(long, [f"w{MAX_QUERY_TOKENS - 1}", f"w{MAX_QUERY_TOKENS}", words(700), words(10)])
    assert scores == [1, 0, min(MAX_QUERY_TOKENS, MAX_TOKENS - 3 - MAX_QUERY_TOKENS), 10]
    assert reranker.scores("猫" * 3000, ["猫", "cat"]) == [MAX_QUERY_TOKENS, 0]


def remove_special_tokens(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    document = json.loads(tokenizer.to_str()) | {"post_processor": None}
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize("damage", [lambda _: None, remove_special_tokens])
def test_long_question_is_truncated_with_any_tokenizer(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    made = make_folder(tmp_path / "m", types=False, template=True)
    damage(made)
    reranker = CrossEncoder(str(made))
    assert np.isfinite(reranker.scores(words(700), [words(700), "cat"])).all()
    assert reranker.scores("cat " * 700, [""]) == [MAX_QUERY_TOKENS**2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\0",
        "\ud83d",
        "👩‍👩‍👧" * 50,
        "x" * 1_000_000,
        "e" + "\u0301" * 5000,
        "\u202eevil",
        "cat " * 100_000,
    ],
)
def test_any_text_has_a_score(reranker: CrossEncoder, text: str) -> None:
    assert np.isfinite(reranker.scores(text, ["cat", text, ""])).all()


def test_special_tokens_in_a_passage_are_text(folder: Path) -> None:
    encoding = cross_encoder._load(folder).tokenizer.encode("cat", "[SEP] cat [CLS]")
    assert encoding.ids.count(3) == 2 and encoding.ids.count(2) == 1


def test_no_passages_load_no_model(folder: Path) -> None:
    fresh = CrossEncoder(str(folder))
    assert fresh.scores("why?", []) == [] and fresh._model is None
    assert fresh.name == f"cross-encoder:{folder}"


@pytest.mark.parametrize(
    "made",
    [
        {"types": False, "template": True},
        {"types": False},
        {"weights": np.array([[-1, 2]], np.float32)},
        {"weights": np.array([[5, 6]], np.float32)},
        {"flat": True},
        {"kind": "int32"},
        {"where": "onnx/model.onnx"},
    ],
    ids=str,
)
def test_supported_model_formats(tmp_path: Path, made: dict[str, Any]) -> None:
    scores = CrossEncoder(str(make_folder(tmp_path / "m", **made))).scores(
        "the cat sleeps", ["rates rose again", "the cat sleeps", "a cat ended"]
    )
    assert scores[1] > scores[2] > scores[0]


def test_two_outputs_are_subtracted(tmp_path: Path) -> None:
    two = CrossEncoder(str(make_folder(tmp_path / "m", weights=np.array([[9, 6]], np.float32))))
    assert two.scores("cat", ["cat", "cat cat", "war"]) == [-3, -6, 0]


@pytest.mark.parametrize(
    "made",
    [
        {"weights": np.array([[1, 2, 3]], np.float32)},
        {"weights": np.array([[np.nan]], np.float32)},
        {"weights": np.array([[np.inf]], np.float32)},
    ],
    ids=["three columns", "no number", "infinite"],
)
def test_unsupported_outputs_are_reported(tmp_path: Path, made: dict[str, Any]) -> None:
    odd = CrossEncoder(str(make_folder(tmp_path / "m", **made)))
    with pytest.raises(ModelAnswerError, match=r"one score per passage: check .* one or two outputs\.$") as caught:
        odd.scores("cat", ["cat"])
    assert str(tmp_path) in str(caught.value) and caught.value.__context__ is None


def test_model_that_fails_to_run_is_reported(tmp_path: Path) -> None:
    """Its table of words is too small for the tokenizer."""
    from tests.reranking import tiny_model

    made = make_folder(tmp_path / "m")
    small = tiny_model.make_model(10, types=True, weights=tiny_model.PLAIN, flat=False, kind="int64")
    (made / "model.onnx").write_bytes(small)
    with pytest.raises(ModelAnswerError, match="one score per passage") as caught:
        CrossEncoder(str(made)).scores("w600", ["w600"])
    assert caught.value.__context__ is None


def lose_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def lose_model(folder: Path) -> None:
    (folder / "model.onnx").unlink()


def lose_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def cut_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])


def empty_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"")


def point_to_model(folder: Path) -> None:
    """What Git leaves where large files were not fetched."""
    (folder / "model.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 9\n")


def cut_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:1000])


def garble_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes(b"\xff\xfe")


def add_input(folder: Path) -> None:
    make_folder(folder, extra=["position_ids"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lose_folder, "no model.onnx or onnx/model.onnx"),
        (lose_model, "no model.onnx or onnx/model.onnx"),
        (lose_tokenizer, "no tokenizer.json"),
        (cut_model, "model.onnx is damaged"),
        (empty_model, "model.onnx is damaged|takes no inputs"),
        (point_to_model, "model.onnx is damaged"),
        (cut_tokenizer, "tokenizer.json is damaged"),
        (garble_tokenizer, "tokenizer.json is damaged"),
        (add_input, "takes input_ids, attention_mask, token_type_ids, position_ids instead of"),
    ],
)
def test_unusable_folder_is_reported(tmp_path: Path, damage: Callable[[Path], None], words: str) -> None:
    made = make_folder(tmp_path / "m")
    damage(made)
    with pytest.raises(ConfigurationError, match=words) as caught:
        CrossEncoder(str(made)).scores("cat", ["cat"])
    message = str(caught.value)
    assert str(made) in message and "\n" not in message and message.endswith(".")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["no such\nfolder", "\0", "x" * 5000, "~nobody-is-called-so/model", "a/" * 3000])
def test_invalid_folder_names(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^[^\n]*cannot be used: it has no model.onnx[^\n]*\.$") as caught:
        CrossEncoder(name)
    assert len(str(caught.value)) < 500


def test_hugging_face_cache_folder_is_shown() -> None:
    folder = "~/hub/models--x/snapshots/" + "0123456789abcdef0123456789abcdef01234567"
    with pytest.raises(ConfigurationError, match="0123456789abcdef"):
        CrossEncoder(folder)


def test_repaired_folder_needs_no_restart(tmp_path: Path) -> None:
    made = make_folder(tmp_path / "m")
    model = (made / "model.onnx").read_bytes()
    reranker = CrossEncoder(str(made))
    cut_model(made)
    with pytest.raises(ConfigurationError):
        reranker.scores("cat", ["cat"])
    (made / "model.onnx").write_bytes(model)
    assert reranker.scores("cat", ["cat"]) == [1]


def test_threads_share_one_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []

    load = cross_encoder._load

    def counted(path: Path) -> cross_encoder._Model:
        loaded.append(path)
        return load(path)

    monkeypatch.setattr(cross_encoder, "_load", counted)
    fresh = CrossEncoder(str(folder))
    queries = [words(20, start) for start in range(0, 80, 10)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: fresh.scores(query, NUMBERED), queries))
    assert len(loaded) == 1
    assert found == [fresh.scores(query, NUMBERED) for query in queries]
