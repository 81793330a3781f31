"""What an announcement says. Questions, drafts and reasons are only in it if `notify.texts` allows them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from veracity.models import Approval, Delivery
from veracity.settings import NotifySettings


def page_address(approval: Approval, settings: NotifySettings) -> str:
    """The address of the draft on the page; empty if `notify.page_url` is not set."""
    base = settings.page_url.rstrip("/")
    return f"{base}/#/inbox/{quote(approval.approval_id, safe='')}" if base else ""


def describe(approval: Approval, settings: NotifySettings) -> dict[str, Any]:
    """The approval as plain values."""
    decision = approval.decision
    values: dict[str, Any] = {
        **approval.model_dump(mode="json", include={"approval_id", "run_id", "state", "why", "created", "expires"}),
        "user": approval.user,
        "assignee": approval.assignee,
        "score": approval.draft.score,
        "url": page_address(approval, settings),
        "decision": decision and decision.model_dump(mode="json", include={"verdict", "by", "at"}),
    }
    if settings.texts:
        texts = {"question": approval.question, "draft": approval.draft.text}
        values |= {**texts, "reason": decision.reason if decision else "", "edit": decision.edit if decision else None}
    return values


def payload(delivery: Delivery, approval: Approval, settings: NotifySettings) -> dict[str, Any]:
    """The body of a webhook, in the form of the Standard Webhooks specification."""
    return {
        "type": delivery.event,
        "timestamp": delivery.created.isoformat(),
        "data": describe(approval, settings),
    }
