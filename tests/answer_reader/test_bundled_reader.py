"""The bundled answer reader: it finds the sentence that answers in three languages, and scores passages alone."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veracity.answer_reader import UNREAD, Passage, bundled, make_answer_reader
from veracity.answer_reader.bundled import FOLDER, BundledReader
from veracity.errors import ConfigurationError

READER = BundledReader()
LEAVE = Passage(
    "Handbook – Leave",
    [
        ("heading", "## Leave"),
        ("prose", "Every employee gets 25 days of annual leave."),
        ("prose", "Ask your manager two weeks before a holiday."),
        ("item", "- Unused days expire at the end of March."),
    ],
)
CHINESE = Passage(
    "员工手册",
    [
        ("prose", "每位员工每年有25天年假。"),
        ("prose", "请假须提前两周向经理申请。"),
        ("prose", "未用的假期在三月底失效。"),
    ],
)
JAPANESE = Passage(
    "就業規則",
    [
        ("prose", "従業員には年間25日の有給休暇があります。"),
        ("prose", "休暇は2週間前までに上司に申請してください。"),
        ("prose", "未使用の休暇は3月末に失効します。"),
    ],
)
OTHER = Passage("Printer", [("prose", "The printer is on the second floor."), ("prose", "It needs A4 paper.")])


@pytest.mark.parametrize(
    ("question", "passage", "place"),
    [
        ("How many days of annual leave do I get?", LEAVE, 1),
        ("When do unused days expire?", LEAVE, 3),
        ("每年有多少天年假？", CHINESE, 0),
        ("没用完的假期什么时候失效？", CHINESE, 2),
        ("有給休暇は何日もらえますか？", JAPANESE, 0),
        ("休暇は誰に申請しますか？", JAPANESE, 1),
    ],
)
def test_the_unit_that_answers_has_the_highest_score(question: str, passage: Passage, place: int) -> None:
    scores, others = READER.read(question, [passage, OTHER])
    assert scores.index(max(scores)) == place
    assert max(others) < max(scores) - 2


def test_scores_do_not_depend_on_the_other_passages_or_threads() -> None:
    [alone] = READER.read("When do unused days expire?", [LEAVE])
    bundled._read.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: READER.read("When do unused days expire?", [OTHER, JAPANESE, LEAVE])[2], range(8))
    assert all(scores == pytest.approx(alone, abs=1e-4) for scores in found)


def test_units_beyond_the_input_are_unread() -> None:
    long = Passage("", [("prose", f"Sentence {number} says {'nothing ' * 60}.") for number in range(20)])
    [scores] = READER.read("What does it say?", [long])
    assert len(scores) == 20
    assert scores[0] != UNREAD and scores[-1] == UNREAD


def test_nothing_to_read() -> None:
    assert READER.read("What?", []) == []
    assert READER.read("", [Passage("", []), Passage("", [("prose", "")])])[0] == []


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=400),
    st.lists(
        st.tuples(st.sampled_from(["prose", "item", "row", "code", "heading"]), st.text(max_size=900)), max_size=30
    ),
)
def test_any_text_gets_a_score_for_each_unit(text: str, units: list[tuple[str, str]]) -> None:
    [scores] = READER.read(text, [Passage(text, units)])
    assert len(scores) == len(units)
    assert all(-100 < score < 100 for score in scores)


def test_none_is_no_reader() -> None:
    assert make_answer_reader("none") is None


@pytest.fixture
def damaged_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "multilingual"
    shutil.copytree(FOLDER, folder)
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"!")
    monkeypatch.setattr(bundled, "FOLDER", folder)
    bundled._load.cache_clear()
    bundled._read.cache_clear()
    yield
    bundled._load.cache_clear()
    bundled._read.cache_clear()


@pytest.mark.usefixtures("damaged_model")
def test_a_damaged_model_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='The bundled reader is damaged or missing: .* the reader to "none"'):
        READER.read("What?", [LEAVE])
