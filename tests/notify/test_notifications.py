"""Approvals are announced by a signed webhook and by mail (SPEC D11)."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.notify.receivers import Receiver, mail_server, webhook
from tests.runs.conftest import MakeEngine, engine_with, filled, gated, root
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import Serve, serve
from tests.waiting import until
from veracity.engine import Veracity
from veracity.errors import ConfigurationError
from veracity.ledger.tables import deliveries
from veracity.settings import Settings, load_settings
from veracity.testing import ScriptedLLM

__all__ = ["engine_with", "filled", "gated", "root", "serve"]

SECRET = "a secret of these tests"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("VERACITY_WEBHOOK_SECRET", SECRET)
    with webhook() as receiver:
        yield receiver


def engine_for(gated: MakeEngine, notify: dict[str, Any], *drafts: str, **approval: Any) -> Veracity:
    llm = ScriptedLLM.by_role(writer=list(drafts or (GOOD,)), reviewer=PASS, judge=judged(30))
    return gated(llm, notify=notify, approval=approval)


def make_due(root: Path) -> None:
    """As if the time until the next attempt had passed."""
    engine = sa.create_engine(f"sqlite:///{root / 'ledger' / 'ledger.sqlite'}")
    with engine.begin() as connection:
        connection.execute(sa.update(deliveries).values(due=datetime.now(UTC) - timedelta(seconds=1)))
    engine.dispose()


def test_d11_the_webhook_gets_a_signed_announcement_without_texts(gated: MakeEngine, hook: Receiver) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url, "page_url": "https://answers.example.com/"})
    approval_id = engine.ask(QUESTION, user="cy").approval_id
    assert hook.requests == []  # a run does not wait for it
    assert engine.inbox.send_notifications() == 1
    [(headers, body)] = hook.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.digest(SECRET.encode(), signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    event = json.loads(body)
    assert event["type"] == "approval.pending"
    assert event["data"] | {"created": ""} == {
        "approval_id": approval_id,
        "run_id": engine.runs()[0].run_id,
        "state": "pending",
        "why": "low_score",
        "created": "",
        "expires": None,
        "user": "cy",
        "assignee": "",
        "score": 0.3,
        "url": f"https://answers.example.com/#/inbox/{approval_id}",
        "decision": None,
    }
    assert b"annual leave" not in body
    assert engine.inbox.send_notifications() == 0


def test_d11_every_change_is_announced_once(gated: MakeEngine, hook: Receiver) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url, "texts": True})
    approval_id = engine.ask(QUESTION).approval_id
    engine.inbox.assign(approval_id, "ana")
    engine.inbox.assign(approval_id, "ana")
    engine.decide(approval_id, "approve", by="ana", reason="Fine.")
    assert engine.inbox.send_notifications() == 3
    events = [json.loads(body) for _, body in hook.requests]
    assert [event["type"] for event in events] == ["approval.pending", "approval.assigned", "approval.decided"]
    assert len({headers["webhook-id"] for headers, _ in hook.requests}) == 3
    data = events[-1]["data"]
    assert (data["question"], data["draft"], data["reason"]) == (QUESTION, GOOD, "Fine.")
    assert (data["decision"]["verdict"], data["decision"]["by"]) == ("approve", "ana")


def test_a_withdrawn_decision_is_not_announced(gated: MakeEngine, hook: Receiver) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url})
    approval_id = engine.ask(QUESTION).approval_id
    engine.inbox.hold(approval_id, "approve", seconds=60)
    assert engine.inbox.send_notifications() == 1  # that it waits; the decision is not due
    engine.inbox.withdraw(approval_id)
    assert engine.inbox.send_notifications() == 0
    assert len(hook.requests) == 1


def test_an_expired_draft_is_announced_d11(gated: MakeEngine, hook: Receiver) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url}, expires=1e-6)
    engine.ask(QUESTION)
    engine.recover()
    assert [json.loads(body)["type"] for _, body in hook.requests] == ["approval.pending", "approval.expired"]


def test_a_failed_delivery_is_tried_again_with_the_same_id(gated: MakeEngine, hook: Receiver, root: Path) -> None:
    hook.statuses += [503, 302]
    engine = engine_for(gated, {"webhook_url": hook.url})
    engine.ask(QUESTION)
    for _ in range(2):
        assert engine.inbox.send_notifications() == 0
        assert engine.inbox.send_notifications() == 0  # not due yet
        make_due(root)
    assert engine.inbox.send_notifications() == 1
    assert len(hook.requests) == 3
    assert len({headers["webhook-id"] for headers, _ in hook.requests}) == 1


def test_a_process_that_died_after_sending_sends_the_same_id_again(
    gated: MakeEngine, hook: Receiver, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url})
    engine.ask(QUESTION)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("veracity.ledger.inbox.Inbox.finish_delivery", die)
        engine.inbox.send_notifications()
    assert engine.inbox.send_notifications() == 0  # it is claimed for a while
    make_due(root)
    assert engine.inbox.send_notifications() == 1
    assert len(hook.requests) == 2 and len({headers["webhook-id"] for headers, _ in hook.requests}) == 1


def test_an_unreachable_webhook_is_given_up_in_the_end(
    gated: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VERACITY_WEBHOOK_SECRET", SECRET)
    engine = engine_for(gated, {"webhook_url": "http://127.0.0.1:9/hook"})
    engine.ask(QUESTION)
    for _ in range(12):
        make_due(root)
        assert engine.inbox.send_notifications() == 0
    make_due(root)
    caplog.clear()
    assert engine.inbox.send_notifications() == 0
    assert "given up" not in caplog.text and SECRET not in caplog.text
    assert engine._parts.ledger.inbox.count_deliveries() == {"failed": 1}


def test_the_server_sends_without_being_asked(gated: MakeEngine, hook: Receiver, serve: Serve) -> None:
    engine = engine_for(gated, {"webhook_url": hook.url})
    served = serve(engine)
    served.client().post("/api/ask", json={"question": QUESTION})
    until(lambda: len(hook.requests) == 1)


@pytest.mark.parametrize("secret", ["", "short", "whsec_", "whsec_not base64!"])
def test_a_webhook_needs_a_secret(gated: MakeEngine, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("VERACITY_WEBHOOK_SECRET", secret)
    engine = engine_for(gated, {"webhook_url": "http://127.0.0.1:9/hook"})
    engine.ask(QUESTION)
    with pytest.raises(ConfigurationError, match="VERACITY_WEBHOOK_SECRET"):
        engine.inbox.send_notifications()


def test_mail_asks_for_a_decision(gated: MakeEngine) -> None:
    with mail_server() as receiver:
        mail = {"mail_to": ["team@example.com"], "smtp_host": "127.0.0.1", "smtp_port": receiver.port}
        engine = engine_for(gated, {**mail, "smtp_security": "none", "page_url": "http://127.0.0.1:8000"})
        approval_id = engine.ask("正式员工每年有多少天年假？", user="cy").approval_id
        assert engine.inbox.send_notifications() == 1
        [message] = receiver.mails
        assert (message["To"], message["Subject"]) == ("team@example.com", "有回答等待批准")
        text = message.get_content()
        assert f"#/inbox/{approval_id}" in text and "年假" not in text
        engine.decide(approval_id, "approve")
        assert engine.inbox.send_notifications() == 1  # done, but nothing is left to ask for
        assert len(receiver.mails) == 1


def test_a_line_break_in_a_name_cannot_add_a_header(gated: MakeEngine) -> None:
    with mail_server() as receiver:
        mail = {"mail_to": ["team@example.com"], "smtp_host": "127.0.0.1", "smtp_port": receiver.port, "texts": True}
        engine = engine_for(gated, {**mail, "smtp_security": "none"}, "Done.\r\nBcc: eve@example.com [1]")
        engine.ask("How many days?\nBcc: eve@example.com")
        assert engine.inbox.send_notifications() == 1
        assert receiver.mails[0]["Bcc"] is None and "eve@example.com" in receiver.mails[0].get_content()


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook_url": "ftp://example.com"},
        {"webhook_url": "https://user:secret@example.com/"},
        {"page_url": "answers.example.com"},
        {"mail_to": ["nobody"]},
        {"mail_from": "a@example.com\nBcc: b@example.com"},
        {"smtp_security": "ssl"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    text = "[notify]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in wrong.items())
    with pytest.raises(ConfigurationError, match="notify"):
        load_settings(text.encode(), Path("veracity.toml"))
    assert Settings().notify.channels == ()
