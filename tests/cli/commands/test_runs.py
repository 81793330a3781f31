"""`show` and `rate`: the receipt of a run at the terminal and as a page, and feedback on its answer."""

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.receipt.page import Page
from tests.receipt.receipts import STANDALONE, answer, approval, at, bare, full
from tests.runs.scripts import QUESTION
from veracity.cli.commands.runs import show_receipt
from veracity.cli.ui.approval_prompt import login_name
from veracity.engine import Veracity
from veracity.errors import InputError
from veracity.receipt.render import render_receipt
from veracity.settings import Settings


@pytest.fixture
def answered(filled: Path) -> Path:
    with Veracity(filled) as engine:
        assert engine.ask(QUESTION, conversation="leave").status == "answered"
    return filled


def test_rating(run: Run, answered: Path) -> None:
    """Under the login name, like decisions."""
    down = run("rate", "last", "down", "--why", "It changed in May.", "-w", answered)
    assert down.code == 0 and "weak point" in down.out
    with Veracity(answered) as engine:
        (feedback,) = engine.feedback("last")
        assert (feedback.by, feedback.thumb, feedback.why) == (login_name(), "down", "It changed in May.")
        assert engine.receipt("last").feedback == [feedback]
        assert [turn.answer != "" for turn in engine.turns("leave")] == [True], "disliked answers stay visible"
    up = json.loads(run("rate", feedback.run_id[:-2], "up", "--json", "-w", answered).out)
    assert (up["run_id"], up["thumb"], up["why"]) == (feedback.run_id, "up", "")
    run("rate", "last", "down", "--by", "佐藤", "--why", "5月に変わりました。", "-w", answered)
    shown = run("show", "last", "-w", answered).out
    for expected in (f"Thumb up by {login_name()} at ", "Thumb down by 佐藤 at ", "5月に変わりました。"):
        assert expected in shown


def test_thumb_down_searches_more_sources_next_time_c3(answered: Path) -> None:
    """The question becomes a weak point: its earlier passages are an additional source."""
    with Veracity(answered) as engine:
        engine.rate("last", "down", by="bob")
        sources = [set(search.sources) for search in engine.receipt(engine.ask(QUESTION).run_id).rounds]
        assert sources and all("temporal" in names for names in sources)
        engine.rate(engine.runs()[1].run_id, "up", by="bob")
        sources = [set(search.sources) for search in engine.receipt(engine.ask(QUESTION).run_id).rounds]
        assert sources and not any("temporal" in names for names in sources)


def test_thumb_down_prevents_recall_d4(answered: Path) -> None:
    asked_back = "What did you tell me about annual leave?"
    with Veracity(answered) as engine:
        assert engine.ask(asked_back, conversation="leave").form == "recalled"
        engine.rate(engine.turns("leave")[0].run_id, "down")
        again = engine.ask(asked_back, conversation="leave")
        recalled_from = {item.document_id for item in again.evidence}
        assert f"run:{engine.turns('leave')[0].run_id}" not in recalled_from


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("last", "sideways"), 'The rating must be "up" or "down", not "sideways".'),
        (("nothing", "up"), 'There is no run "nothing".'),
        (("last", "up", "--why", "x" * 2001), "shorten it to 2,000"),
    ],
)
def test_invalid_input_exits_with_2(run: Run, answered: Path, arguments: tuple[str, ...], expected: str) -> None:
    ran = run("rate", *arguments, "-w", answered)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err and len(ran.err.strip().splitlines()) == 1


def test_pending_answer_cannot_be_rated(run: Run, strict: Path) -> None:
    with Veracity(strict) as engine:
        assert engine.ask(QUESTION).status == "awaiting_approval"
    ran = run("rate", "last", "down", "-w", strict)
    assert ran.code == 2 and "awaits approval" in ran.err


def test_engine_accepts_only_text(answered: Path) -> None:
    with Veracity(answered) as engine:
        for arguments in ({"run_id": 7}, {"why": None}, {"by": b"ann"}):
            with pytest.raises(InputError, match="must be a string"):
                engine.rate(**{"run_id": "last", "thumb": "up", **arguments})  # type: ignore[arg-type]


def test_conversations_are_found_by_their_words(answered: Path) -> None:
    with Veracity(answered) as engine:
        engine.ask(QUESTION, conversation="another", user="bob")
        assert [item.conversation for item in engine.conversations(query="ANNUAL leave")] == ["leave"]
        assert engine.conversations(query="parking") == engine.conversations(query="leave", user="carl") == []
        assert [item.status for item in engine.turns("leave")] == ["answered"]


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("And in Osaka?", ("Feedback", "Thumb down", "Thumb up")),
        ("大阪的员工有多少天年休假？", ("用户反馈", "踩", "赞")),
        ("大阪の有給休暇は何日ですか？", ("利用者の評価", "低評価", "高評価")),
    ],
    ids=["en", "zh", "ja"],
)
def test_receipt_page_shows_feedback_x3(question: str, labels: tuple[str, ...]) -> None:
    feedback = [
        {"run_id": "r1", "by": "佐藤", "thumb": "down", "why": "<b>5月</b>から\nneu", "at": at(10)},
        {"run_id": "r1", "by": "ann", "thumb": "up", "at": at(20)},
    ]
    page = Page(render_receipt(bare("answered", run={"question": question}, feedback=feedback)))
    shown = page.section("feedback")
    assert labels[0] in page.text
    for text in (*labels[1:], "佐藤", "<b>5月</b>から\nneu", "ann", "2026-11-13 09:30:10 UTC"):
        assert text in shown
    assert page.all("b") == []
    assert Page(render_receipt(full())).section("feedback") == ""


def test_x3_receipt_as_one_page(run: Run, answered: Path, tmp_path: Path) -> None:
    file = tmp_path / "receipt.html"
    file.write_text("what was here before")
    ran = run("show", "last", "-w", answered, "--html", file)
    assert (ran.code, ran.err) == (0, "")
    assert str(file) in ran.out
    assert "Draft 1" not in ran.out
    page = Page(file.read_text(encoding="utf-8"))
    assert page.all("h1")[0].text == QUESTION
    assert "25 days of paid annual leave" in page.section("answer")
    assert "Full-time staff have 25 days of paid annual leave a year." in [item.text for item in page.all("mark")]
    assert "Review" in page.section("drafts")
    assert "Grade the evidence" in page.section("timeline")


def test_x5_page_is_in_the_language_of_the_terminal(
    run: Run, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    run("show", "last", "-w", answered, "--html", tmp_path / "receipt.html")
    page = Page((tmp_path / "receipt.html").read_text(encoding="utf-8"))
    assert page.all("html")[0].attributes["lang"] == "ja"
    assert not any(not (link.attributes["href"] or "").startswith("#") for link in page.all("a"))


def test_json_with_page_is_alone_on_standard_output(run: Run, answered: Path, tmp_path: Path) -> None:
    file = tmp_path / "receipt.html"
    ran = run("show", "last", "-w", answered, "--html", file, "--json")
    assert json.loads(ran.out)["run"]["question"] == QUESTION
    assert str(file) in ran.err
    assert file.exists()


@pytest.mark.parametrize(
    ("name", "expected"), [(".", "is a directory"), ("none/receipt.html", "cannot be written"), ("a\nb/c", "cannot be")]
)
def test_unwritable_page(run: Run, answered: Path, tmp_path: Path, name: str, expected: str) -> None:
    ran = run("show", "last", "-w", answered, "--html", tmp_path / name)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_terminal_shows_searches_scores_and_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    show_receipt(full(answer=None, steps=[]), Settings().scales)
    expected = " ".join(capsys.readouterr().out.split())
    for text in (
        f"Understood as: {STANDALONE}",
        "It asks about something the documents may hold.",
        "Web search: “annual leave Osaka”, searxng",
        "https://example.com/slow",
        "It did not answer in time.",
        "Draft 3 of attempt 2",
        "Score: fair (71), threshold 75",
        "Coverage: 60.0 It leaves out the carry-over.",
        "Not scored of attempt 2: The judge cannot be reached.",
        "Score below the threshold; since 2026-11-13 09:30:07 UTC",
        "rejected by mika at 2026-11-15 21:29:50 UTC: Too thin.",
        "approved by mika",
        "edited to: Staff in Osaka have 20 days of leave. [1] Five days",
    ):
        assert text in expected, text


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["Role", "From cache", "Writer", "unknown", "Prompts and replies of 2 model calls are kept"]),
        ("zh", ["角色", "其中缓存", "撰写", "未知", "保留了 2 次模型调用的提示与回复"]),
        ("ja", ["役割", "うちキャッシュ", "執筆", "不明", "モデル呼び出し 2 件のプロンプトと応答"]),
    ],
)
def test_x3_terminal_shows_usage_by_role(
    capsys: pytest.CaptureFixture[str], language: str, expected: list[str]
) -> None:
    show_receipt(full(answer=answer(language=language), steps=[]), Settings().scales)
    shown = capsys.readouterr().out
    spaced = " ".join(shown.split())
    for text in (*expected, "referee", "9 calls, 12,345 (1,024 cached) + 678 tokens, $0.0123"):
        assert text in spaced, text
    (row,) = [line for line in shown.splitlines() if "referee" in line]
    assert [cell.strip() for cell in row.split("│")][1:5] == ["3", "4,321", "1,024", "678"]
    assert "Write briefly." not in shown


def test_terminal_shows_pending_approval(capsys: pytest.CaptureFixture[str]) -> None:
    show_receipt(bare("awaiting_approval", approvals=[approval(1, 7.5)]), Settings().scales)
    expected = capsys.readouterr().out
    assert "Approval a1" in expected
    assert "pending" in expected
