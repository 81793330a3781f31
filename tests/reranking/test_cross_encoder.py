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
from veracity.reranking import cross_encoder
from veracity.reranking.cross_encoder import BATCH, LONGEST, LONGEST_QUERY, CrossEncoder

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
def test_what_answers_the_question_comes_first(
    reranker: CrossEncoder, query: str, passages: list[str], best: int
) -> None:
    scores = reranker.scores(query, passages)
    assert len(scores) == len(passages) and all(type(score) is float for score in scores)
    assert max(range(len(passages)), key=scores.__getitem__) == best


def test_scores_are_those_of_the_model(reranker: CrossEncoder) -> None:
    """Also where many batches of different length are run, in the order of the passages."""
    query = words(LONGEST_QUERY)
    assert sum(len(passage.split()) for passage in NUMBERED) > 2 * BATCH
    asked = set(words_of(query))
    expected = [sum(word in asked for word in passage.split()) for passage in NUMBERED]
    assert reranker.scores(query, NUMBERED) == expected
    assert reranker.scores(query, NUMBERED[::-1]) == expected[::-1]


def test_a_score_does_not_depend_on_the_other_passages(reranker: CrossEncoder) -> None:
    together = reranker.scores("w7 w9 w100", NUMBERED)
    assert together == [reranker.scores("w7 w9 w100", [passage])[0] for passage in NUMBERED]


def test_batches_are_filled_with_passages_of_like_length() -> None:
    pairs = [cross_encoder._Pair([1] * length, [0] * length) for length in (500, 3, 400, 4, 5, 130)]
    batches = list(cross_encoder._batches(pairs))
    assert batches == [[1, 3, 4], [5], [2], [0]]


def test_one_thread_does_as_well_as_many(reranker: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder, "processors", lambda: 4)
    many = reranker.scores(words(50), NUMBERED)
    monkeypatch.setattr(cross_encoder, "processors", lambda: 1)
    assert reranker.scores(words(50), NUMBERED) == many


def test_only_the_passage_is_cut(reranker: CrossEncoder) -> None:
    """Of 512 pieces three are special ones and two the question's."""
    room = LONGEST - 3 - 2
    inside, outside = words(room - 1) + " cat", words(room) + " cat"
    assert reranker.scores("the cat", [inside, outside, "cat " * 2000]) == [1, 0, room]


def test_a_long_question_leaves_room_for_the_passage(reranker: CrossEncoder) -> None:
    long = words(600)
    scores = reranker.scores(long, [f"w{LONGEST_QUERY - 1}", f"w{LONGEST_QUERY}", words(700), words(10)])
    assert scores == [1, 0, min(LONGEST_QUERY, LONGEST - 3 - LONGEST_QUERY), 10]
    assert reranker.scores("猫" * 3000, ["猫", "cat"]) == [LONGEST_QUERY, 0]


def no_special_pieces(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    document = json.loads(tokenizer.to_str()) | {"post_processor": None}
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize("harm", [lambda _: None, no_special_pieces])
def test_a_long_question_is_cut_whatever_the_tokenizer(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    made = make_folder(tmp_path / "m", types=False, template=True)
    harm(made)
    reranker = CrossEncoder(str(made))
    assert np.isfinite(reranker.scores(words(700), [words(700), "cat"])).all()
    assert reranker.scores("cat " * 700, [""]) == [LONGEST_QUERY**2]


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


def test_a_passage_cannot_pretend_to_be_two(reranker: CrossEncoder) -> None:
    read = reranker._loaded().tokenizer.encode("cat", "[SEP] cat [CLS]")
    assert read.ids.count(3) == 2 and read.ids.count(2) == 1


def test_nothing_to_rank_loads_nothing(folder: Path) -> None:
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
def test_models_of_all_forms_rank(tmp_path: Path, made: dict[str, Any]) -> None:
    scores = CrossEncoder(str(make_folder(tmp_path / "m", **made))).scores(
        "the cat sleeps", ["rates rose again", "the cat sleeps", "a cat ended"]
    )
    assert scores[1] > scores[2] > scores[0]


def test_two_columns_count_by_their_difference(tmp_path: Path) -> None:
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
def test_other_outputs_are_told(tmp_path: Path, made: dict[str, Any]) -> None:
    odd = CrossEncoder(str(make_folder(tmp_path / "m", **made)))
    with pytest.raises(ModelAnswerError, match=r"one score per passage: check .* one or two outputs\.$") as caught:
        odd.scores("cat", ["cat"])
    assert str(tmp_path) in str(caught.value) and caught.value.__context__ is None


def test_a_model_that_fails_at_work_is_told(tmp_path: Path) -> None:
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


def ask_for_more(folder: Path) -> None:
    make_folder(folder, extra=["position_ids"])


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lose_folder, "no model.onnx, nor onnx/model.onnx"),
        (lose_model, "no model.onnx, nor onnx/model.onnx"),
        (lose_tokenizer, "no tokenizer.json"),
        (cut_model, "model.onnx is damaged"),
        (empty_model, "model.onnx is damaged|takes nothing"),
        (point_to_model, "model.onnx is damaged"),
        (cut_tokenizer, "tokenizer.json is damaged"),
        (garble_tokenizer, "tokenizer.json is damaged"),
        (ask_for_more, "takes input_ids, attention_mask, token_type_ids, position_ids and not"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, harm: Callable[[Path], None], words: str) -> None:
    made = make_folder(tmp_path / "m")
    harm(made)
    with pytest.raises(ConfigurationError, match=words) as caught:
        CrossEncoder(str(made)).scores("cat", ["cat"])
    message = str(caught.value)
    assert str(made) in message and "\n" not in message and message.endswith(".")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["no such\nfolder", "\0", "x" * 5000, "~nobody-is-called-so/model", "a/" * 3000])
def test_names_no_folder_can_have(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^[^\n]*cannot be used: it has no model.onnx[^\n]*\.$") as caught:
        CrossEncoder(name)
    assert len(str(caught.value)) < 500


def test_the_cache_of_hugging_face_is_no_secret() -> None:
    folder = "~/hub/models--x/snapshots/" + "0123456789abcdef0123456789abcdef01234567"
    with pytest.raises(ConfigurationError, match="0123456789abcdef"):
        CrossEncoder(folder)


def test_a_repaired_folder_can_be_used_without_a_restart(tmp_path: Path) -> None:
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

    def counted(path: Path) -> cross_encoder.LoadedModel:
        loaded.append(path)
        return cross_encoder.load(path)

    monkeypatch.setattr(cross_encoder, "load", counted)
    fresh = CrossEncoder(str(folder))
    queries = [words(20, start) for start in range(0, 80, 10)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: fresh.scores(query, NUMBERED), queries))
    assert len(loaded) == 1
    assert found == [fresh.scores(query, NUMBERED) for query in queries]
