"""Sends announcements to a webhook, signed as the Standard Webhooks specification says.

A receiver compares the signature with its own of "ID.TIMESTAMP.BODY", and drops an id that it has seen.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from typing import Any

import httpx

from veracity.errors import ConfigurationError, NotificationError
from veracity.version import __version__

SECRET_VARIABLE = "VERACITY_WEBHOOK_SECRET"
SECRET_PREFIX = "whsec_"
MIN_SECRET_BYTES = 16
TIMEOUT_SECONDS = 10.0


class Webhook:
    """Raises `ConfigurationError` unless the environment has a usable secret."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._secret = read_secret()

    def send(self, delivery_id: str, body: dict[str, Any]) -> None:
        """Raises `NotificationError` unless the receiver answers with a 2xx status. Follows no redirect."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        timestamp = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Veracity/{__version__}",
            "webhook-id": delivery_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(self._secret, delivery_id, timestamp, content),
        }
        try:
            with httpx.stream("POST", self._url, content=content, headers=headers, timeout=TIMEOUT_SECONDS) as response:
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise NotificationError(f"The webhook cannot be reached ({type(error).__name__}).") from None
        if not 200 <= status < 300:
            raise NotificationError(f"The webhook answered with the status {status}.")


def sign(secret: bytes, delivery_id: str, timestamp: int, content: bytes) -> str:
    """The value of the header `webhook-signature`."""
    signed = f"{delivery_id}.{timestamp}.".encode() + content
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def read_secret() -> bytes:
    """The key for signatures: what follows "whsec_", decoded from Base64, or the whole text."""
    text = os.environ.get(SECRET_VARIABLE, "")
    secret = text.encode("utf-8", "surrogateescape")
    if text.startswith(SECRET_PREFIX):
        try:
            secret = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
    if len(secret) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"Webhooks are signed: set {SECRET_VARIABLE} in the environment to at least {MIN_SECRET_BYTES} random "
            'characters, or to "whsec_" and Base64.'
        )
    return secret
