"""`veracity mcp`: the SDK's own client starts it as a subprocess."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.commands import Run
from tests.runs.conftest import filled, root
from tests.runs.scripts import QUESTION
from veracity.cli.commands import mcp as command
from veracity.engine import Veracity

__all__ = ["filled", "root"]


def with_client(workspace: Path, work: Callable[[Client], Awaitable[Any]], *options: str) -> Any:
    (workspace / "veracity.toml").write_text('[models]\nembedder = "none"\n[approval]\npolicy = "always"\n')
    arguments = ["-m", "veracity", "mcp", "-w", str(workspace), *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def run() -> Any:
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(run())


def test_an_agent_searches_asks_and_decides(root: Path) -> None:
    async def work(client: Client) -> tuple[Any, ...]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search", {"query": "有給休暇は年に何日ありますか?", "limit": 1})
        waits = await client.call_tool("ask", {"question": QUESTION})
        pending = await client.call_tool("list_pending", {})
        (approval,) = pending.structured_content["approvals"]
        given = {"approval_id": approval["approval_id"], "draft_hash": approval["draft"]["draft_hash"]}
        decided = await client.call_tool("decide", {**given, "verdict": "approve"})
        return tools, found, waits, decided

    tools, found, waits, decided = with_client(root, work, "--allow-decide")
    assert tools == ["search", "ask", "answer_status", "list_pending", "decide"]
    assert "二十日" in found.structured_content["passages"][0]["text"]
    assert waits.structured_content["status"] == "awaiting_approval"
    assert "25 days" not in waits.model_dump_json()
    assert decided.structured_content["status"] == "answered"
    assert "25 days" in decided.structured_content["answer"]
    with Veracity(root) as engine:
        (run,) = engine.runs()
        assert (run.user, run.status) == ("local", "answered")


def test_a_named_user_is_an_asker_unless_the_workspace_says_otherwise(run: Run, root: Path) -> None:
    ran = run("mcp", "-w", root, "--user", "agent", "--allow-decide")
    assert (ran.code, ran.out) == (2, "")
    assert '"agent" is an asker' in ran.err


def test_the_missing_package_is_named(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    ran = run("mcp", "-w", root)
    assert (ran.code, ran.out) == (2, "")
    assert 'pip install "veracity[mcp]"' in ran.err
