"""Where the server listens, and with which token it is opened. Whoever may not start it learns so before all else.

Knows nothing about what is served.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Protocol

from veracity.errors import ConfigurationError
from veracity.secrets import presentable
from veracity.settings import ServerSettings

TOKEN_VARIABLE = "VERACITY_TOKEN"
SHORTEST_TOKEN = 16  # characters


class Users(Protocol):
    def any(self) -> bool: ...


@dataclass(frozen=True)
class Door:
    """`token` is that of the user "local"; empty: only others have one. `is_new`: nobody knows it yet."""

    listening: socket.socket
    address: str
    token: str
    is_new: bool


def open_door(settings: ServerSettings, users: Users) -> Door:
    token, is_new = _own_token(settings.host, users)
    listening = _listening(settings.host, settings.port)
    return Door(listening, _address(settings.host, listening), token, is_new)


def _own_token(host: str, users: Users) -> tuple[str, bool]:
    """That of the environment; else, where nobody from elsewhere can connect, a new one."""
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if given and (len(given) < SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given):
        raise ConfigurationError(
            f"{TOKEN_VARIABLE} (not shown) is no token: at least {SHORTEST_TOKEN} letters and digits without a space, "
            f'such as: python3 -c "import secrets; print(secrets.token_urlsafe(32))".'
        )
    if given:
        return given, False
    if is_loopback(host):
        return secrets.token_urlsafe(32), True
    if not users.any():
        raise ConfigurationError(
            f'Listening on "{presentable(host)}" lets others connect, and nobody has a token: add a user with '
            f"veracity users add NAME --role admin, or set {TOKEN_VARIABLE} in the environment."
        )
    return "", False


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise ConfigurationError(
            f'The server cannot listen on "{presentable(host)}", port {port} ({reason}): choose another with --host '
            "and --port, or stop what listens there."
        ) from None
    made.set_inheritable(True)
    return made


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{port}"
