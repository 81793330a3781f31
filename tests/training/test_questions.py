"""Questions about windows, and the examples that the reader learns from. The language model and the reader itself
need PyTorch, which is no dependency of the tests."""

import json
import random
from pathlib import Path

from training.corpus import Generated, OtherQuestion, Question, Unit, Window, load_corpus
from training.paragraphs import write_lines
from training.questions import make_batches, prefix, strangers, tasks
from training.reader_examples import VARIANTS, ExampleBuilder, Packer, is_usable, pack, texts_of
from training.reader_report import auc

DOCUMENT = "kubernetes/website:content/en/docs/leave.md"


def window(text: str, document: str = DOCUMENT, use: str = "train") -> Window:
    first = f"Employees have {text} days of annual leave in a calendar year."
    units = (Unit("heading", "## Leave", None), Unit("prose", first, None), Unit("item", "Ask your team first.", None))
    return Window(document, "en", use, "Handbook", units)


def generated(number: int, other: int) -> Generated:
    questions = (
        Question(f"How many days of leave does plan {number} give?", "en", 1, 3.0),
        Question("Write about the passage, please?", "en", 1, 3.0),
        Question("Does leave expire in other countries?", "en", -1, -2.0),
    )
    return Generated(number, questions, (OtherQuestion(other, 0, -3.0),))


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
    near = strangers([windows[0], windows[1], windows[4]], random.Random(1))[0]
    assert [other for other, _ in near] == [1, 1, 1, 1, 2, 2]


def test_examples_of_a_window_its_neighbour_and_another_document() -> None:
    windows = [window("25"), window("26"), window("27", f"{DOCUMENT}.other")]
    rows = [generated(0, 1), generated(1, 2), generated(2, 0)]
    examples, held = ExampleBuilder(rows, windows, VARIANTS["base"], random.Random(1)).build()
    kinds = {example.kind for example in examples}
    assert held == []
    assert {"own", "not", "near", "far"} <= kinds
    own = next(example for example in examples if example.kind == "own")
    assert own.gold == 1
    assert not is_usable("Write about the passage, please?")
    ids = {text: list(range(200, 205)) for text in texts_of(examples, windows)}
    row = Packer(windows, ids, random.Random(1)).row(own, vary=False)
    assert row.units == [1, 2]
    assert row.gold == [0]
    assert [row.item.ids[place] for place in row.places] == [1, 1]


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
