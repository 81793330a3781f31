"""Where the server listens, and with which token it is opened. Whoever may not start it learns so before all else.

Knows nothing about what is served.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from veracity.errors import ConfigurationError, reason_of
from veracity.secrets import presentable
from veracity.settings import ServerSettings

TOKEN_VARIABLE = "VERACITY_TOKEN"
SHORTEST_TOKEN = 16  # characters
EVERYWHERE = ("0.0.0.0", "::")


class Users(Protocol):
    def any(self) -> bool: ...


@dataclass(frozen=True)
class Door:
    """`token` is that of the user "local"; empty: only others have one. `is_new`: nobody knows it yet."""

    listening: socket.socket
    host: str
    address: str
    token: str
    is_new: bool


def open_door(settings: ServerSettings, users: Users) -> Door:
    token, is_new = _own_token(settings.host, users)
    listening = _listening(settings.host, settings.port)
    return Door(listening, settings.host, _address(settings.host, listening.getsockname()[1]), token, is_new)


def shared_address(settings: ServerSettings) -> str:
    """Where others find it, as far as the settings name a host or a port; empty where they do not tell."""
    host = settings.host
    if host in EVERYWHERE:
        host = next(iter(settings.allowed_hosts), "")
    elif settings.allowed_hosts and is_loopback(host):
        host = ""  # a proxy stands in front of it, and only that knows its address
    is_named = settings.port and settings.model_fields_set & {"host", "port"}
    return _address(host, settings.port) if host and is_named else ""


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
    """It listens at once, though nobody answers yet: or another could take the same port until somebody does."""
    with ExitStack() as failing:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, place = found[0]
            made = failing.enter_context(socket.socket(family, socket.SOCK_STREAM))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
            made.listen()
        except OSError as problem:
            raise ConfigurationError(
                f'The server cannot listen on "{presentable(host)}", port {port} ({reason_of(problem)}): choose '
                "another with --host and --port, or stop what listens there."
            ) from None
        failing.pop_all()
    made.set_inheritable(True)
    return made


def _address(host: str, port: int) -> str:
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{port}"
