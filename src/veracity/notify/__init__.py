"""Announces approvals by webhook and mail."""

from veracity.notify.notifier import Notifier

__all__ = ["Notifier"]
