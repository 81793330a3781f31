"""`veracity doctor`."""

from pathlib import Path

import pytest

from tests.commands import Run
from tests.loopback import LoopbackServer, reply_with, status
from tests.recording import RecordingServer

KEY = "sk-test-0123456789abcdefghij"


def test_without_configuration(run: Run) -> None:
    ran = run("doctor")
    assert ran.code == 0
    assert "Workspace: none" in ran.out and "present: none" in ran.out and "No language model" in ran.out
    assert "The embedder bundled answers" in ran.out and "(384 dimensions)" in ran.out


def test_unusable_embedder_or_reranker_exits_with_1(run: Run, workspace: Path, server: LoopbackServer) -> None:
    server.respond_with(status(500), status(500), status(500), status(500))
    (workspace / "veracity.toml").write_text(
        '[models]\nembedder = "openai:e"\n[retrieval]\nreranker = "cross-encoder:nowhere"\n[llm]\nbackoff = 0.0\n'
    )
    ran = run("doctor", "-w", workspace)
    assert ran.code == 1
    assert "The embedder openai:e does not answer" in ran.out
    assert "The reranker cross-encoder:nowhere does not answer" in ran.out


def test_keys_are_named_and_never_shown(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
) -> None:
    """B13."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (workspace / "veracity.toml").write_text('[models]\njudge = "openai-chat:m"\n')
    server.respond_with(reply_with('{"word": "pong"}'))
    ran = run("doctor", "--workspace", workspace)
    assert ran.code == 0
    assert "OPENAI_API_KEY" in ran.out and "openai-chat:m answers" in ran.out and "veracity.toml" in ran.out
    assert KEY not in ran.out + ran.err


def test_model_that_does_not_answer_exits_with_1(
    run: Run, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
    server.respond_with(status(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    ran = run("doctor")
    assert ran.code == 1 and "does not answer" in ran.out
    assert KEY not in ran.out + ran.err
    assert len(server.requests) == 1


def test_no_ask_sends_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> None:
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
    assert run("doctor", "--no-ask").code == 0
    assert server.requests == []


def test_missing_key_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "anthropic:claude-x")
    ran = run("doctor")
    assert ran.code == 1 and "ANTHROPIC_API_KEY" in ran.out


def test_unused_judge_is_checked_too(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
) -> None:
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Groundedness"\n')
    server.respond_with(reply_with('{"word": "pong"}'))
    assert "openai-chat:m answers" in run("doctor", "-w", workspace).out


def test_bad_configuration_exits_with_2(run: Run, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text("[llm]\nworkers = 0\n")
    ran = run("doctor", "-w", workspace)
    assert ran.code == 2 and "llm.workers" in ran.err


def test_problems_come_first(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
) -> None:
    """A9: also the warning about one model in two roles."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (workspace / "veracity.toml").write_text(
        '[models]\nwriter = "openai-chat:m"\nreviewer = "openai-chat:m"\nembedder = "none"\n'
    )
    server.respond_with(status(401))
    ran = run("doctor", "-w", workspace)
    first, *lines = ran.out.splitlines()
    assert ran.code == 1 and first == "2 problems:"
    assert "openai-chat:m does not answer" in lines[0] and "reviews its own drafts" in lines[1]
    assert ran.out.count("does not answer") == ran.out.count("reviews its own drafts") == 1
    assert ran.out.index("reviews its own drafts") < ran.out.index("Workspace:")


def test_without_problems_it_says_so_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_MODELS__EMBEDDER", "none")
    assert run("doctor").out.startswith("No problems found.\n")
    assert run("doctor", "--no-ask").out.startswith("No problems found; no provider was called.\n")


def test_only_changed_settings_are_listed_unless_all_are_wanted(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "veracity.toml").write_text('[models]\nembedder = "none"\n[quality]\nmax_rewrites = 2\n')
    monkeypatch.setenv("VERACITY_ANSWERING__RUN_DEADLINE", "120")
    shown = run("doctor", "-w", workspace).out
    assert "models.embedder" in shown and "answering.run_deadline" in shown and "(set)" in shown
    assert "quality.max_rewrites" not in shown, "the file sets the default value"
    assert "retrieval.fusion" not in shown and "--all" in shown
    shown = run("doctor", "-w", workspace, "--all").out
    assert "quality.max_rewrites" in shown and "retrieval.fusion" in shown
    (workspace / "veracity.toml").unlink()
    monkeypatch.delenv("VERACITY_ANSWERING__RUN_DEADLINE")
    assert "All settings have their default values" in run("doctor", "-w", workspace).out


ALL_ROLES = """
[models]
writer = "big:w"
reviewer = "small:r"
rewriter = "small:q"
router = "big:o"
summarizer = "small:s"
judge = "big:j"
embedder = "small:e"
reranker = "big:rank"
[servers.big]
url = "{big}"
key_env = "BIG_API_KEY"
[servers.small]
url = "{small}"
[servers.spare]
url = "http://127.0.0.1:1/v1"
key_env = "SPARE_KEY"
"""


def test_every_role_is_listed_and_tried_at_its_server(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    pong = {model: {"word": "pong"} for model in "wrqosj"}
    with RecordingServer(pong) as big, RecordingServer(pong) as small:
        (workspace / "veracity.toml").write_text(ALL_ROLES.format(big=big.url, small=small.url))
        unasked = run("doctor", "-w", workspace, "--no-ask")
        assert unasked.code == 0 and 'The server "big" needs a key: set BIG_API_KEY in the environment.' in unasked.out
        monkeypatch.setenv("BIG_API_KEY", f"{KEY}-big")
        assert not big.recorded and not small.recorded
        ran = run("doctor", "-w", workspace)
        assert (big.models, small.models) == ({"w", "o", "j", "rank"}, {"r", "q", "s", "e"})
        assert (big.keys, small.keys) == ({f"Bearer {KEY}-big"}, {None})
    assert ran.code == 0 and KEY not in ran.out + ran.err
    lines = [" ".join(line.replace("│", " ").split()) for line in ran.out.splitlines()]
    for row in ("writer big:w", "router big:o", "summarizer small:s", "embedder small:e", "reranker big:rank"):
        assert row in lines
    assert "judge of ClarityCoherence, Coverage, Relevance big:j" in lines
    assert f"big {big.url} BIG_API_KEY (set)" in lines and f"small {small.url} none" in lines
    assert "spare http://127.0.0.1:1/v1 SPARE_KEY (not set)" in lines
    assert lines[:2] == ["1 problem:", '• The server "spare" needs a key: set SPARE_KEY in the environment.']
    assert "big:o answers" in ran.out and "small:s answers" in ran.out


def test_roles_without_a_model_are_local(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_MODELS__EMBEDDER", "none")
    lines = [" ".join(line.replace("│", " ").split()) for line in run("doctor").out.splitlines()]
    assert {"writer none: local", "router none: local", "judge none: local", "reranker none"} <= set(lines)


def test_a_model_that_will_be_retired_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_MODELS__ROUTER", "anthropic:claude-sonnet-4-5")
    first, second, *_ = run("doctor", "--no-ask").out.splitlines()
    assert first == "1 problem:" and 'The model "anthropic:claude-sonnet-4-5" ' in second
    assert "retired" in second and "2026-11-30: name another one, such as anthropic:claude-sonnet-5-5." in second


def test_the_parts_of_a_workspace_are_checked(run: Run, workspace: Path) -> None:
    ran = run("doctor", "--no-ask", "-w", workspace)
    assert ran.code == 0 and "ledger ok, knowledge ok, disk ok" in ran.out
    assert not (workspace / "ledger").exists() and not (workspace / "knowledge").exists()
    (workspace / "ledger").mkdir()
    (workspace / "ledger/ledger.sqlite").write_bytes(b"not a database" * 100)
    ran = run("doctor", "--no-ask", "-w", workspace)
    assert ran.code == 1 and "ledger failed, knowledge ok, disk ok" in ran.out
    assert "1 problem" in ran.out and "ledger" in ran.out and "cannot be used" in ran.out
