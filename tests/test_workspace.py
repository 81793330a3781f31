"""The files of a workspace (SPEC B3, B7, B16)."""

import os
from pathlib import Path

import pytest

from veracity.engine import Veracity
from veracity.errors import ConfigurationError, LedgerError
from veracity.models import Document
from veracity.workspace import Workspace, find_workspace, open_workspace


def test_b7_metric_files_are_public_python_files(workspace: Path) -> None:
    folder = workspace / "metrics"
    for name in ("b.py", "a.py", "_shared.py", "__init__.py", ".#lock.py", ".hidden.py", "notes.md", "c.pyc", "D.PY"):
        (folder / name).write_text("")
    (folder / "link.py").symlink_to(folder / "_shared.py")
    assert [path.name for path in Workspace(workspace).metric_files()] == ["a.py", "b.py", "link.py"]


def test_b16_contents_are_the_files_that_configure_the_evaluator(workspace: Path) -> None:
    assert Workspace(workspace).contents() == {}
    (workspace / "veracity.toml").write_bytes(b"1")
    (workspace / "configs" / "evaluator.toml").write_bytes(b"2")
    (workspace / "metrics" / "a.py").write_bytes(b"3")
    assert list(Workspace(workspace).contents().values()) == [b"1", b"2", b"3"]


def test_b7_without_a_metrics_folder_there_are_no_metrics(tmp_path: Path) -> None:
    assert Workspace(tmp_path).metric_files() == []


def test_b8_a_metrics_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("")
    with pytest.raises(
        ConfigurationError, match=r"metrics cannot be read \(Not a directory\): make it a readable folder"
    ):
        Workspace(tmp_path).metric_files()


def test_b7_a_directory_or_broken_link_named_like_a_metric_is_an_error(workspace: Path) -> None:
    (workspace / "metrics" / "x.py").mkdir()
    with pytest.raises(ConfigurationError, match=r"x\.py is not a file: make it one or remove it"):
        Workspace(workspace).contents()
    (workspace / "metrics" / "x.py").rmdir()
    (workspace / "metrics" / "x.py").symlink_to("absent.py")
    with pytest.raises(ConfigurationError, match=r"x\.py is a broken link"):
        Workspace(workspace).contents()


def test_b8_a_missing_workspace_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="is not a directory: name the directory"):
        open_workspace(tmp_path / "file")
    for place in ("absent", "file/below", "a\0b"):
        with pytest.raises(ConfigurationError, match='There is no workspace ".*": create it with "veracity init'):
            open_workspace(tmp_path / place)
    with pytest.raises(ConfigurationError, match=r'The workspace ".*" cannot be read \(File name too long\)'):
        open_workspace(tmp_path / ("x" * 5000))
    assert open_workspace(str(tmp_path)) == Workspace(tmp_path)


def test_the_current_directory_is_a_workspace_if_it_has_our_files(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    assert find_workspace(None) is None
    (workspace / "configs" / "evaluator.toml").write_text("")
    assert find_workspace(None) == Path()
    assert find_workspace(Path("named")) == Path("named")


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_a_workspace_stores_is_private(tmp_path: Path) -> None:
    """Only the owner can reach the questions, answers and documents, whatever the umask."""
    umask = os.umask(0o022)
    try:
        with Veracity(tmp_path / "workspace") as engine:
            engine.add([Document(id="a", title="Leave", text="Full-time staff have 25 days of annual leave a year.")])
            assert engine.ask("How many days of annual leave do full-time staff have?").status == "answered"
    finally:
        os.umask(umask)
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "workspace").iterdir()}
    assert {"ledger", "knowledge", "observational_data.json"} <= modes.keys()
    assert {name for name, mode in modes.items() if mode and not name.startswith(".")} == set()


def test_an_emptied_ledger_is_an_error(tmp_path: Path) -> None:
    with Veracity(tmp_path) as engine:
        engine.add([Document(id="a", title="Leave", text="Full-time staff have 25 days of annual leave a year.")])
        engine.users.add("ann", "asker")
    (tmp_path / "ledger" / "ledger.sqlite").write_bytes(b"")
    with Veracity(tmp_path) as engine, pytest.raises(LedgerError, match=r'ledger\.sqlite" is empty: restore it'):
        engine.users.list()
