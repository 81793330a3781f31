"""`ingest`, `search`, `documents`, `forget` and `reindex`."""

import json
from pathlib import Path

import pytest

from tests.commands import Ran, Run
from veracity.cli.ui.console import UNLIMITED_WIDTH, console, make_console
from veracity.knowledge.library import writer_lock

TEXTS = {
    "pump.md": "# Pump P-7\n\n## Oil\n\nChange the oil of the pump every 500 hours.\n",
    "假期.txt": "员工每年享有十二天带薪年假。未休的年假可以结转到次年三月。\n",
    "休暇.txt": "社員には年に十六日の有給休暇が付与されます。\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    for name, text in TEXTS.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def filled(run: Run, folder: Path, workspace: Path) -> Path:
    """A workspace that searches by words, with the documents in it."""
    (workspace / "veracity.toml").write_text('[models]\nembedder = "none"\n')
    assert run("ingest", folder, "-w", workspace).code == 0
    return workspace


class TestIngest:
    def test_reports_each_file_and_a_summary(self, run: Run, folder: Path, workspace: Path) -> None:
        (folder / "empty.txt").write_bytes(b"")
        (folder / "sound.mp3").write_bytes(b"ID3\x04" + bytes(40))
        (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
        ran = run("ingest", folder, "-w", workspace)
        assert ran.code == 1  # one failed
        lines = [line.split() for line in ran.out.splitlines()[:-1]]
        assert {Path(path).name: status for status, path, *_ in lines} == {
            **dict.fromkeys(TEXTS, "added"), "empty.txt": "skipped", "sound.mp3": "skipped", "broken.pdf": "failed",
        }  # fmt: skip
        assert ran.out.splitlines()[-1].startswith("3 added, 2 skipped, 1 failed: 3 passages in ")
        assert "Traceback" not in ran.err

    def test_unchanged_files_are_only_counted(self, run: Run, folder: Path, filled: Path) -> None:
        (folder / "pump.md").write_text("# Pump P-7\n\nChange the oil every 300 hours.\n")
        ran = run("ingest", folder, "-w", filled)
        assert ran.code == 0
        assert [line.split()[0] for line in ran.out.splitlines()[:-1]] == ["updated"]
        assert "1 updated, 2 unchanged" in ran.out
        (folder / "pump.md").unlink()
        assert "removed" not in run("ingest", folder, "-w", filled).out
        assert "1 removed" in run("ingest", folder, "-w", filled, "--prune").out
        assert "pump" not in run("documents", "-w", filled).out

    def test_json(self, run: Run, folder: Path, workspace: Path) -> None:
        ran = run("ingest", folder / "pump.md", "-w", workspace, "--json")
        expected = json.loads(ran.out)
        assert expected["counts"]["added"] == 1 and expected["passages"] == 1
        assert expected["outcomes"][0]["name"] == str(folder / "pump.md")

    def test_what_is_left_out_is_one_line_of_the_summary(self, run: Run, folder: Path, workspace: Path) -> None:
        for name in ("style.css", "package-lock.json", "yarn.lock", ".hidden.md", "draft.md", "old.md"):
            (folder / name).write_text("text")
        (folder / ".veracityignore").write_text("old.md\n")
        options = ("--exclude", "draft*", "-w", workspace)
        ran = run("ingest", folder, *options)
        summary, left_out = ran.out.splitlines()[-2:]
        assert ran.code == 0 and summary.startswith("3 added: 3 passages")
        assert left_out.startswith("Left out: lock files (2), ")
        assert set(left_out.removeprefix("Left out: ").split(", ")) == {
            "lock files (2)", "style sheets (1)", "hidden (1)", ".veracityignore (1)", "excluded (1)",
        }  # fmt: skip
        data = json.loads(run("ingest", folder, *options, "--include", "*.css", "--json").out)
        assert data["counts"]["added"] == 1 and data["left_out"] == {"not included": 7, "excluded": 1}

    def test_bad_pattern_is_refused(self, run: Run, folder: Path, workspace: Path) -> None:
        ran = run("ingest", folder, "--exclude", "[z-a]", "-w", workspace)
        assert_one_sentence(ran, 2, 'The pattern "[z-a]" cannot be used')
        assert not (workspace / "knowledge").exists()

    @pytest.mark.parametrize("path", ["nowhere", "no*thing.md", "文档"])
    def test_missing_path_is_refused(self, run: Run, workspace: Path, path: str) -> None:
        ran = run("ingest", path, "-w", workspace)
        assert_one_sentence(ran, 2, f'There is no file or folder "{path}"')

    def test_directory_is_not_made_a_workspace(self, run: Run, folder: Path) -> None:
        assert_one_sentence(run("ingest", folder), 2, "not a workspace")
        assert_one_sentence(run("search", "oil"), 2, "not a workspace")
        assert list(Path().iterdir()) == []

    def test_named_workspace_is_created(self, run: Run, folder: Path, tmp_path: Path) -> None:
        assert run("ingest", folder / "pump.md", "-w", tmp_path / "new").code == 0
        assert run("search", "oil", "-w", tmp_path / "new").code == 0
        assert_one_sentence(run("search", "oil", "-w", tmp_path / "other"), 2, "There is no workspace")

    def test_second_writer_is_refused_and_readers_are_not_blocked(self, run: Run, folder: Path, filled: Path) -> None:
        with writer_lock(filled / "knowledge"):
            for command in (("ingest", folder), ("forget", folder / "pump.md"), ("reindex",)):
                assert_one_sentence(run(*command, "-w", filled), 4, "are being changed by")
            assert "500" in run("search", "oil", "-w", filled).out


class TestSearch:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("How often do I change the oil?", "every 500 hours"),
            ("年假有多少天", "十二天"),
            ("有給休暇は何日ですか", "十六日"),
        ],
    )
    def test_shows_passage_and_location(self, run: Run, filled: Path, query: str, found: str) -> None:
        ran = run("search", query, "-k", "1", "-w", filled)
        assert ran.code == 0 and found in ran.out
        expected = " ".join(ran.out.split())
        assert expected.startswith("1. ") and ", characters " in expected and "knowledge" in expected

    def test_shows_headings(self, run: Run, filled: Path) -> None:
        assert "Pump P-7 › Oil" in run("search", "oil", "-w", filled).out

    def test_json_has_offsets_and_matches(self, run: Run, filled: Path) -> None:
        [item] = json.loads(run("search", "change oil", "--json", "-w", filled, "--source", "knowledge").out)
        assert TEXTS["pump.md"][item["start"] : item["end"]] == item["text"]
        assert [item["text"][start:end] for start, end in item["matches"]] == ["Oil", "Change", "oil"]
        assert item["headings"][-1] == "Oil" and item["page"] is None and item["source"] == "knowledge"
        assert 0 < item["metadata"]["relevance_score"] <= 1

    def test_no_passages(self, run: Run, filled: Path) -> None:
        assert run("search", "zebra", "-w", filled).out == "No passages found.\n"
        assert json.loads(run("search", "zebra", "-w", filled, "--json").out) == []

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((" ",), "The query is empty"),
            (("oil", "-k", "0"), "between 1 and 1000"),
            (("oil", "--source", "internet"), 'There is no source "internet"; known: knowledge, graph'),
        ],
    )
    def test_invalid_input(self, run: Run, filled: Path, arguments: tuple[str, ...], expected: str) -> None:
        assert_one_sentence(run("search", *arguments, "-w", filled), 2, expected)

    def test_document_cannot_control_the_terminal(self, run: Run, folder: Path, filled: Path) -> None:
        (folder / "evil\x1b[31m.txt").write_text(
            "Evil \x1b]0;owned\x07 oil [red]rich[/red] text. " + "The oil is good. " * 40
        )
        run("ingest", folder, "-w", filled)
        ran = run("search", "evil", "-w", filled)
        assert "\x1b" not in ran.out and "\x07" not in ran.out and "[red]rich[/red]" in ran.out

    def test_empty_workspace(self, run: Run, workspace: Path) -> None:
        assert run("search", "oil", "-w", workspace).out.startswith("The workspace has no documents yet")
        assert "0 documents, 0 passages" in run("documents", "-w", workspace).out


class TestDocuments:
    def test_lines_are_wrapped_only_for_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COLUMNS")
        assert make_console().width == UNLIMITED_WIDTH
        monkeypatch.setenv("COLUMNS", "90")
        assert make_console().width == 90

    def test_lists_and_forgets(self, run: Run, folder: Path, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        documents = json.loads(run("documents", "-w", filled, "--json").out)
        assert {Path(document["location"]).name: document["language"] for document in documents} == {
            "pump.md": "en", "假期.txt": "zh", "休暇.txt": "ja",
        }  # fmt: skip
        assert "3 documents, 3 passages" in run("documents", "-w", filled).out
        monkeypatch.setattr(console, "width", 80)
        rows = run("documents", "-w", filled).out.splitlines()
        assert len(rows) == len(["heads", "a line", *documents, "", "a sum"])  # no row is wrapped
        assert all(
            "…" in row and Path(document["location"]).name in row
            for row, document in zip(rows[2:], documents, strict=False)
        )
        by_id = next(document["id"] for document in documents if document["language"] == "zh")
        assert "forgot" in run("forget", by_id, "-w", filled).out
        assert "forgot" in run("forget", folder / "pump.md", "-w", filled).out
        assert [document["language"] for document in json.loads(run("documents", "-w", filled, "--json").out)] == ["ja"]
        assert run("search", "oil", "-w", filled).out == "No passages found.\n"
        assert (folder / "pump.md").exists()
        assert_one_sentence(run("forget", by_id, "-w", filled), 2, "There is no document")


class TestReindex:
    def test_changed_setting_requires_it(self, run: Run, filled: Path) -> None:
        (filled / "veracity.toml").write_text('[models]\nembedder = "none"\n[knowledge]\npassage_tokens = 64\n')
        for command in (("search", "oil"), ("ingest", filled / "veracity.toml")):
            assert_one_sentence(run(*command, "-w", filled), 2, 'run "veracity reindex"')
        ran = run("reindex", "-w", filled)
        assert ran.code == 0 and "3 updated" in ran.out
        assert "500 hours" in run("search", "oil", "-w", filled).out


def assert_one_sentence(ran: Ran, code: int, expected: str) -> None:
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("veracity: ") and expected in ran.err
    assert ran.err.count("\n") == 1 and "Traceback" not in ran.err
