"""Questions about windows, and the examples that the reader learns from. The language model and the reader itself
need PyTorch, which is no dependency of the tests."""

import json
import random
from pathlib import Path

from training.corpus import Unit, Window, load_corpus
from training.paragraphs import write_lines
from training.questions import make_batches, prefix, tasks
from training.reader_lists import UNIT_MARK, Group, Packer, alter, build_written, endless_batches, pack, texts_of
from training.reader_report import auc
from training.written import Written

DOCUMENT = "kubernetes/website:content/en/docs/leave.md"


def window(text: str, document: str = DOCUMENT, use: str = "train") -> Window:
    first = f"Employees have {text} days of annual leave in a calendar year."
    units = (Unit("heading", "## Leave", None), Unit("prose", first, None), Unit("item", "Ask your team first.", None))
    return Window(document, "en", use, "Handbook", units)


def test_a_prompt_names_the_unit_and_the_last_question_has_no_answer() -> None:
    asked = tasks(window("25"), random.Random(1))
    assert [task.unit for task in asked[:4]] == [1, 1, 1, 1]  # the other statement is too short
    assert "sentence A answers" in asked[0].prompt
    assert asked[4].language in ("zh", "ja")
    assert asked[5].unit == -1
    assert "A. Employees have 25 days" in prefix(window("25"))


def test_batches_keep_documents_together_and_leave_out_excluded_windows() -> None:
    windows = [window(str(number), f"{DOCUMENT}{number // 2}") for number in range(6)]
    windows.append(window("9", use="excluded"))
    found = make_batches(windows, [100] * 7, 4)
    assert sorted(number for batch in found for number in batch) == list(range(6))
    assert all(number % 2 == 1 or number + 1 in batch for batch in found for number in batch)


def test_lists_of_a_window_and_its_neighbours() -> None:
    windows = [window(str(number), f"{DOCUMENT}{number}") for number in range(8)]
    answered, *_ = build_written([Written(0, (1,), "How many days of leave?")], {0: list(range(1, 8))}, windows)
    ids = {text: list(range(200, 205)) for text in texts_of([answered], windows)}
    packer = Packer(windows, ids, random.Random(1))
    own = packer.pack(answered, vary=False, kind="own")
    removed = packer.pack(answered, vary=False, kind="removed")
    assert own and removed
    assert own.rows[0].units == [1, 2]
    assert own.rows[0].gold == 0
    assert [own.rows[0].item.ids[place] for place in own.rows[0].places] == [1, 1]
    assert len(own.rows) == 6
    assert removed.rows[0].units == [2]
    assert all(row.gold < 0 for row in removed.rows)
    assert removed.weight < own.weight  # since another window may answer


def test_a_question_with_another_number_or_name_has_no_answer() -> None:
    windows = [window(text) for text in ("25", "Kenya 30", "Peru")]
    texts = ("Do we have 25 days?", "How many in Kenya?", "How many in Peru?")
    groups = [Group(text, number, 1, 1.0, (), is_removable=True) for number, text in enumerate(texts)]
    found = [group for seed in range(9) for group in alter(groups, windows, random.Random(seed))]
    assert {group.window for group in found} == {0, 1, 2}
    assert all(group.gold == -1 for group in found)
    assert all("25" not in group.question for group in found if group.window == 0)
    assert {group.question for group in found if group.window == 1} == {"How many in Peru?"}


def test_batches_have_rows_of_several_lists() -> None:
    windows = [window(str(number), f"{DOCUMENT}{number}") for number in range(8)]
    groups = build_written([Written(0, (1,), "How many days of leave?")], {0: list(range(1, 8))}, windows)
    ids = {text: list(range(200, 200 + length % 9)) for length, text in enumerate(texts_of(groups, windows))}
    batch = next(endless_batches(groups * 4, Packer(windows, ids, random.Random(1)), 400))
    assert len(batch.list_of) == sum(len(part.ids) for part in batch.parts) == len(batch.places)
    assert set(batch.gold.sum(1)) <= {0, 1}
    rows = [ids for part in batch.parts for ids in part.ids]
    for ids_of_row, places, counts in zip(rows, batch.places, batch.counts, strict=True):
        assert {ids_of_row[place] for place in places[counts]} == {UNIT_MARK}
    assert sum(part.ids.size for part in batch.parts) <= 400 * 2  # padded to a multiple of 16


def test_units_beyond_the_limit_have_no_place() -> None:
    item, places = pack([200] * 100, [201], [("prose", [300] * 500)] * 4)
    assert len(item.ids) == 448
    assert places[-1] == -1


def test_excluded_documents_are_not_learned_from(tmp_path: Path) -> None:
    def row(document: str) -> dict[str, object]:
        units = [["prose", "员工每年有二十五天带薪年假。", None]]
        return {"doc": document, "lang": "zh", "use": "train", "head": "年假", "units": units}

    write_lines(tmp_path / "windows.jsonl.xz", [row("LawRefBook/Laws:宪法/a.md"), row("LawRefBook/Laws:案例/b.md")])
    write_lines(tmp_path / "par.jsonl.xz", [["zh", "Leave", "年假"]])
    lines = [{"w": number, "q": [["年假有多少天？", "zh", 0, 2.0]], "o": []} for number in (0, 1)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "gen.jsonl").write_text(text + '{"w": 1, "q"', encoding="utf-8")
    corpus = load_corpus(tmp_path, seed=5)
    assert corpus.monolingual == ["年假 员工每年有二十五天带薪年假。"]
    assert [pair.window for pair in corpus.questions] == [0]


def test_auc_counts_ties_half() -> None:
    assert auc([1.0, 2.0], [0.0, 1.0]) == 0.875
