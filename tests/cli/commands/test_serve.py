"""`serve`, up to the start of the server, which has its own tests."""

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
from veracity.server.listen import Listener

Serve = Callable[[Veracity, Listener, Callable[[Listener], None]], None]


@pytest.fixture
def served_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Serve], None]:
    def serve(by: Serve) -> None:
        def serve_and_close(
            engine: Veracity, listener: Listener, announce: Callable[[Listener], None], *, works: bool
        ) -> None:
            with listener.listening:
                by(engine, listener, announce)

        monkeypatch.setattr(serve_module, "serve", serve_and_close)

    return serve


def test_options_override_settings_and_a_changed_judge_is_used(
    run: Run, workspace: Path, served_by: Callable[[Serve], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "veracity.toml").write_text('[server]\nhost = "no-such-host.invalid"\n')
    found: list[str] = []

    def serve(engine: Veracity, listener: Listener, announce: Callable[[Listener], None]) -> None:
        found.extend((listener.host, engine.describe_metrics().metric_set))
        (workspace / "veracity.toml").write_text('[models]\njudge = "openai:gpt-5"\n')
        found.append(engine.describe_metrics().metric_set)

    served_by(serve)
    ran = run("serve", "-w", workspace, "--host", "localhost", "--port", "0")
    assert (ran.code, ran.err) == (0, "")
    assert found == ["localhost", "default-local", "default-llm"]


def test_folder_that_is_not_a_workspace_is_not_served(run: Run, tmp_path: Path) -> None:
    for arguments in ((), ("-w", tmp_path / "elsewhere")):
        ran = run("serve", "--port", "0", *arguments)
        assert ran.code == 2 and "not a workspace" in ran.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("display", ["", ":0"])
def test_browser_is_opened_without_the_token_in_a_command(
    run: Run, workspace: Path, served_by: Callable[[Serve], None], monkeypatch: pytest.MonkeyPatch, display: str
) -> None:
    """Other users of the machine can see command lines."""
    (workspace / "veracity.toml").write_text("")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    opened: list[str] = []
    is_open = threading.Event()

    def open_it(url: str) -> None:
        opened.append(url)
        is_open.set()

    monkeypatch.setattr(webbrowser, "open", open_it)
    pages: list[tuple[str, str, int]] = []

    def serve(engine: Veracity, listener: Listener, announce: Callable[[Listener], None]) -> None:
        announce(listener)
        if display:
            assert is_open.wait(60)
            file = Path(unquote(urlsplit(opened[0]).path))
            pages.append((listener.token, file.read_text(), stat.S_IMODE(file.parent.stat().st_mode)))

    served_by(serve)
    ran = run("serve", "-w", workspace, "--port", "0", "--open")
    assert ran.code == 0 and "#token=" in ran.out
    if display:
        ((token, page, mode),) = pages
        assert len(opened) == 1 and token not in opened[0] and mode == 0o700
        assert f"/#token={token}" in page
    else:
        assert opened == [] and "open the address yourself" in ran.err
    assert list((workspace / "ledger").glob("open*")) == []
