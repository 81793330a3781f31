"""Only admins see file system paths."""

from pathlib import Path

import httpx
import pytest

from tests.runs.scripts import PASS, judged
from tests.server.conftest import MakeEngine, Serve
from tests.server.events import events_of
from veracity.errors import ConfigurationError
from veracity.models import Role, User
from veracity.server.permissions import redact_paths_in_text
from veracity.testing import ScriptedLLM

QUESTION = "How many days of annual leave do staff in Dublin have?"
ANSWER = "Staff in Dublin have 31 days of paid annual leave a year. [1]"
SECRET = "srv-秘密"
ROLES: tuple[Role, ...] = ("asker", "admin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / SECRET / "home of ann" / "dublin"
    folder.mkdir(parents=True)
    (folder / "leave.md").write_text("# Dublin\n\nStaff in Dublin have 31 days of paid annual leave a year.\n")
    return folder


def read_everything(client: httpx.Client, admin: httpx.Client) -> dict[str, str]:
    """The responses for a pending and approved answer and its evidence."""
    answer = client.post("/api/ask", json={"question": QUESTION}).json()
    run, approval = f"/api/runs/{answer['run_id']}", f"/api/approvals/{answer['approval_id']}"
    found = client.post("/api/search", json={"query": "leave in Dublin"}).json()[0]
    texts = {
        "search": str(found),
        "receipt": client.get(run).text,
        "page": client.get(f"{run}/page").text,
        "approval": client.get(approval).text,
        "approvals": client.get("/api/approvals").text,
        "documents": client.get("/api/documents").text,
        "document": client.get("/api/document", params={"id": found["document_id"]}).text,
    }
    admin.post(f"{approval}/decision", json={"verdict": "approve"})
    texts["events"] = str(events_of(client, f"{run}/events"))
    texts["response"] = client.get(f"/v1/responses/resp_{answer['run_id']}").text
    asked = {"model": "veracity", "messages": [{"role": "user", "content": QUESTION}]}
    texts["completion"] = client.post("/v1/chat/completions", json=asked).text
    return texts


def test_only_admins_see_document_paths(serve: Serve, gated: MakeEngine, folder: Path) -> None:
    engine = gated(ScriptedLLM.by_role(writer=ANSWER, reviewer=PASS, judge=judged(*[40, 95] * 2)))
    engine.ingest(folder)
    served = serve(engine)
    for role in ROLES:
        texts = read_everything(served.client(role=role), served.client())
        for name, text in texts.items():
            assert (SECRET in text) == (role == "admin"), (role, name)
            assert "dublin/leave.md" in text, (role, name)


def test_only_admins_see_paths_in_errors(serve: Serve, engine_with: MakeEngine, root: Path) -> None:
    problem = ConfigurationError(f"{root}/prompts/writer.md is blank: write the instructions or remove it.")
    served = serve(engine_with(ScriptedLLM.by_role(writer=problem, reviewer=PASS)))
    clients = {role: served.client(role=role) for role in ROLES}
    for role, client in clients.items():
        refused = client.post("/api/ask", json={"question": QUESTION})
        run = client.get("/api/runs").json()[0]
        events = events_of(client, f"/api/runs/{run['run_id']}/events")
        texts = [refused.json()["error"]["message"], run["problem"], events[-1].data["problem"]]
        assert all("prompts/writer.md is blank" in item for item in texts)
        assert [str(root.parent) in item for item in texts] == [role == "admin"] * 3
    (root / "configs").mkdir(exist_ok=True)
    (root / "configs" / "evaluator.toml").write_text("nonsense = = 1")
    for role, client in clients.items():
        broken = client.get("/api/evaluator").text
        assert "configs/evaluator.toml" in broken and (str(root.parent) in broken) == (role == "admin")


@pytest.mark.parametrize(
    ("sentence", "shortened"),
    [
        (
            'There is no workspace "/a b/c/w": create it with "veracity init /a b/c/w".',
            'There is no workspace "…/c/w": create it with "veracity init …/c/w".',
        ),
        ("/home/ann b/w/veracity.toml, line 3: no.", "…/w/veracity.toml, line 3: no."),
        ("/ws/acme, inc (east)/secret/w/metrics/bad.py, line 3 (no).", "…/metrics/bad.py, line 3 (no)."),
        ("In '/home/ann's: a; b/w/a.toml': no.", "In '…/w/a.toml': no."),
        ("无法读取：/srv/甲，乙（东）/秘密/w/a.toml，或 /b/c/d。", "无法读取：…/w/a.toml，或 …/c/d。"),
        ("/a/b/c, /d/e/f,/g/h/i:/j/k/l (in /m/n/o) /p", "…/b/c, …/e/f,…/h/i:…/k/l (in …/n/o) /p"),
        (r"C:\Users\ann\w\veracity.toml is blank.", "…/w/veracity.toml is blank."),
        (r"\\host\share\w is gone.", "…/share/w is gone."),
        ("cross-encoder:/opt/models/m failed.", "cross-encoder:…/models/m failed."),
        ("无法评分：/srv/w/configs/evaluator.toml 无效。", "无法评分：…/configs/evaluator.toml 无效。"),
        ("採点できません（/srv/w/metrics/a.py）。", "採点できません（…/metrics/a.py）。"),
        (
            "See https://h.example/a/b/c and/or 5/6/7 和/或, at /x.",
            "See https://h.example/a/b/c and/or 5/6/7 和/或, at /x.",
        ),
    ],
)
def test_paths_in_sentences_are_shortened(sentence: str, shortened: str) -> None:
    assert redact_paths_in_text(sentence, None) == shortened
    admin = User.model_validate({"name": "a", "role": "admin", "created": "2026-11-15T00:00:00Z"})
    assert redact_paths_in_text(sentence, admin) == sentence
