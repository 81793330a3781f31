"""Sends the announcements that the ledger has queued.

A delivery that fails is tried again, later each time. One that was sent by a process that then died is sent again with
the same id.
"""

from __future__ import annotations

import logging

from veracity.errors import NotFoundError, NotificationError
from veracity.ledger import Ledger
from veracity.models import Approval, Delivery
from veracity.notify.mail import Mail
from veracity.notify.message import payload
from veracity.notify.webhook import Webhook
from veracity.settings import NotifySettings

log = logging.getLogger("veracity")

MAX_IN_A_ROW = 50


class Notifier:
    """Raises `ConfigurationError` if a channel cannot be used as it is configured."""

    def __init__(self, settings: NotifySettings, ledger: Ledger) -> None:
        self._settings = settings
        self._ledger = ledger
        self._webhook = Webhook(settings.webhook_url) if settings.webhook_url else None
        self._mail = Mail(settings) if settings.mail_to else None

    def send_due(self) -> int:
        """Send what is due now, up to a limit. Returns how many were delivered."""
        sent = 0
        for _ in range(MAX_IN_A_ROW):
            delivery = self._ledger.inbox.claim_delivery()
            if delivery is None:
                break
            sent += self._deliver(delivery)
        return sent

    def _deliver(self, delivery: Delivery) -> bool:
        try:
            self._send(delivery, self._ledger.approval(delivery.approval_id))
        except NotFoundError:
            pass  # it was removed: nobody needs to know any more
        except NotificationError as error:
            if not self._ledger.inbox.retry_delivery(delivery, str(error)):
                log.warning("%s The announcement %s was given up.", error, delivery.delivery_id)
            elif delivery.attempts == 1:
                log.warning("%s The announcement %s is tried again.", error, delivery.delivery_id)
            return False
        self._ledger.inbox.finish_delivery(delivery.delivery_id)
        return True

    def _send(self, delivery: Delivery, approval: Approval) -> None:
        """No-op on a channel that is no longer configured, and for mail that has nothing left to ask for."""
        if delivery.channel == "webhook" and self._webhook:
            self._webhook.send(delivery.delivery_id, payload(delivery, approval, self._settings))
        asks = delivery.event != "approval.decided" and (
            approval.state == "pending" or delivery.event == "approval.expired"
        )
        if delivery.channel == "mail" and self._mail and asks:
            self._mail.send(delivery, approval)
