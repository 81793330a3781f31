"""`show`: a receipt as a page in a file, and what the terminal tells of it."""

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.pages.material import STANDALONE, approval, bare, full
from tests.pages.reading import Page
from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity.cli.commands import runs
from veracity.engine import Veracity


@pytest.fixture
def asked(workspace: Path, run: Run) -> Path:
    """A workspace in which a question was answered."""
    (workspace / "veracity.toml").write_text("[models]\nembedder = 'none'\n")
    with Veracity(workspace) as engine:
        engine.add(DOCUMENTS)
        engine.ask(QUESTION)
    return workspace


def test_x3_a_receipt_as_one_page(run: Run, asked: Path, tmp_path: Path) -> None:
    file = tmp_path / "receipt.html"
    file.write_text("what was here before")
    ran = run("show", "last", "-w", asked, "--html", file)
    assert (ran.code, ran.err) == (0, "")
    assert str(file) in ran.out
    assert "Draft 0" not in ran.out
    page = Page(file.read_text(encoding="utf-8"))
    assert page.all("h1")[0].text == QUESTION
    assert "25 days of paid annual leave" in page.section("answer")
    assert "Full-time staff have 25 days of paid annual leave a year." in [one.text for one in page.all("mark")]
    assert "Review" in page.section("drafts")
    assert "Grade the evidence" in page.section("timeline")


def test_json_beside_a_page_stays_alone_on_standard_output(run: Run, asked: Path, tmp_path: Path) -> None:
    file = tmp_path / "receipt.html"
    ran = run("show", "last", "-w", asked, "--html", file, "--json")
    assert json.loads(ran.out)["run"]["question"] == QUESTION
    assert str(file) in ran.err
    assert file.exists()


@pytest.mark.parametrize(
    ("name", "told"), [(".", "is a directory"), ("none/receipt.html", "cannot be written"), ("a\nb/c", "cannot be")]
)
def test_where_no_page_can_be_written(run: Run, asked: Path, tmp_path: Path, name: str, told: str) -> None:
    ran = run("show", "last", "-w", asked, "--html", tmp_path / name)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_the_terminal_tells_what_happened_around_the_drafts(capsys: pytest.CaptureFixture[str]) -> None:
    runs.tell(full(answer=None, steps=[]))
    told = " ".join(capsys.readouterr().out.split())
    for text in (
        f"Understood as: {STANDALONE}",
        "It asks about something the documents may hold.",
        "Web look-up: “annual leave Osaka”, searxng",
        "https://example.com/slow",
        "It did not answer in time.",
        "Draft 0 of attempt 2",
        "Score: 0.71, the threshold is 0.75",
        "Coverage: 60.0 It leaves out the carry-over.",
        "Not scored of attempt 2: The judge cannot be reached.",
        "scored below the threshold; since 2026-11-13 09:30:07 UTC",
        "rejected by mika at 2026-11-15 21:29:50 UTC: Too thin.",
        "approved by mika",
        "edited to: Staff in Osaka have 20 days of leave. [1] Five days",
    ):
        assert text in told, text


def test_the_terminal_tells_who_waits(capsys: pytest.CaptureFixture[str]) -> None:
    runs.tell(bare("awaiting_approval", approvals=[approval(1, 7.5)]))
    told = capsys.readouterr().out
    assert "Approval a1" in told
    assert "pending" in told
