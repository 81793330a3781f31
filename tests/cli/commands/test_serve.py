"""`serve`, up to the moment at which it answers. What it does then is tested with the server."""

import stat
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.commands import Run
from veracity.engine import Veracity
from veracity.server import serve as serve_module
from veracity.server.listen import Door

Serve = Callable[[Veracity, Door, Callable[[Door], None]], None]


@pytest.fixture
def served_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Serve], None]:
    def serve(by: Serve) -> None:
        def and_closed(engine: Veracity, door: Door, announce: Callable[[Door], None]) -> None:
            with door.listening:
                by(engine, door, announce)

        monkeypatch.setattr(serve_module, "serve", and_closed)

    return serve


def test_a_changed_judge_counts_and_options_win(
    run: Run, workspace: Path, served_by: Callable[[Serve], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "veracity.toml").write_text('[server]\nhost = "no-such-host.invalid"\n')
    found: list[str] = []

    def serve(engine: Veracity, door: Door, announce: Callable[[Door], None]) -> None:
        found.extend((door.host, engine.describe_metrics().metric_set))
        (workspace / "veracity.toml").write_text('[models]\njudge = "openai:gpt-5"\n')
        found.append(engine.describe_metrics().metric_set)

    served_by(serve)
    ran = run("serve", "-w", workspace, "--host", "localhost", "--port", "0")
    assert (ran.code, ran.err) == (0, "")
    assert found == ["localhost", "default-local", "default-llm"]


def test_a_folder_that_is_no_workspace_is_not_served(run: Run, tmp_path: Path) -> None:
    for arguments in ((), ("-w", tmp_path / "elsewhere")):
        ran = run("serve", "--port", "0", *arguments)
        assert ran.code == 2 and "not a workspace" in ran.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("screen", ["", ":0"])
def test_the_page_is_opened_and_no_command_holds_the_token(
    run: Run, workspace: Path, served_by: Callable[[Serve], None], monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    """Other users of the machine see the commands that run on it."""
    (workspace / "veracity.toml").write_text("")
    monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    opened: list[str] = []
    is_open = threading.Event()

    def open_it(url: str) -> None:
        opened.append(url)
        is_open.set()

    monkeypatch.setattr(webbrowser, "open", open_it)
    pages: list[tuple[str, str, int]] = []

    def serve(engine: Veracity, door: Door, announce: Callable[[Door], None]) -> None:
        announce(door)
        if screen:
            assert is_open.wait(60)
            file = Path(unquote(urlsplit(opened[0]).path))
            pages.append((door.token, file.read_text(), stat.S_IMODE(file.parent.stat().st_mode)))

    served_by(serve)
    ran = run("serve", "-w", workspace, "--port", "0", "--open")
    assert ran.code == 0 and "#token=" in ran.out
    if screen:
        ((token, page, mode),) = pages
        assert len(opened) == 1 and token not in opened[0] and mode == 0o700
        assert f"/#token={token}" in page
    else:
        assert opened == [] and "open the address yourself" in ran.err
    assert list((workspace / "ledger").glob("open*")) == []
