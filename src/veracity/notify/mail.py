"""Sends announcements as mail."""

from __future__ import annotations

import os
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime

from veracity.errors import NotificationError
from veracity.locales import text
from veracity.models import Approval, Delivery
from veracity.notify.message import page_address
from veracity.settings import NotifySettings

USER_VARIABLE = "VERACITY_SMTP_USER"
PASSWORD_VARIABLE = "VERACITY_SMTP_PASSWORD"
TIMEOUT_SECONDS = 10.0


class Mail:
    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings

    def send(self, delivery: Delivery, approval: Approval) -> None:
        """Raises `NotificationError` unless the server accepts the mail."""
        message = compose(delivery, approval, self._settings)
        user, password = os.environ.get(USER_VARIABLE, ""), os.environ.get(PASSWORD_VARIABLE, "")
        try:
            with self._connect() as server:
                if user:
                    server.login(user, password)
                server.send_message(message)
        except smtplib.SMTPException as error:  # its text may quote what was sent
            raise NotificationError(f"The mail server refused the mail ({type(error).__name__}).") from None
        except OSError as error:
            raise NotificationError(f"The mail server cannot be reached ({type(error).__name__}).") from None

    def _connect(self) -> smtplib.SMTP:
        own = self._settings
        if own.smtp_security == "tls":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(own.smtp_host, own.smtp_port, timeout=TIMEOUT_SECONDS, context=context)
        server = smtplib.SMTP(own.smtp_host, own.smtp_port, timeout=TIMEOUT_SECONDS)
        if own.smtp_security == "starttls":
            try:
                server.starttls(context=ssl.create_default_context())
            except BaseException:
                server.close()
                raise
        return server


def compose(delivery: Delivery, approval: Approval, settings: NotifySettings) -> EmailMessage:
    """In the language of the question. The id of the mail is that of the delivery."""
    language, kind = approval.draft.language, delivery.event.removeprefix("approval.")
    values = {"assignee": approval.assignee, "approval_id": approval.approval_id, "user": approval.user}
    lines = [text(language, "mail", f"{kind}.text", **values)]
    if approval.state == "pending":
        lines.append(text(language, "mail", "why", why=text(language, "notices", f"waiting_{approval.why}")))
    if settings.texts:
        lines += ["", approval.question, "", approval.draft.text]
    if address := page_address(approval, settings):
        lines += ["", address]
    message = EmailMessage()
    message["Subject"] = text(language, "mail", f"{kind}.subject")
    message["From"] = settings.mail_from
    message["To"] = ", ".join(settings.mail_to)
    message["Date"] = format_datetime(delivery.created)
    message["Message-ID"] = f"<{delivery.delivery_id}@{settings.mail_from.rpartition('@')[2].rstrip('>')}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(lines))
    return message
