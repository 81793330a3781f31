"""The server's socket and own token. Opened first, so that configuration errors show before anything is loaded."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from veracity.errors import ConfigurationError, reason_of
from veracity.secrets import presentable
from veracity.settings import ServerSettings

TOKEN_VARIABLE = "VERACITY_TOKEN"
MIN_TOKEN_LENGTH = 16
ALL_INTERFACES = ("0.0.0.0", "::")
NO_OPTIONS: Mapping[str, str | int] = {}


@dataclass(frozen=True)
class Listener:
    """`token` belongs to the user "local"; empty if only other users have tokens. `is_new_token`: it was generated.
    `options` are the settings that the command line sets."""

    listening: socket.socket
    host: str
    address: str
    token: str
    is_new_token: bool
    options: Mapping[str, str | int]


def open_listener(
    settings: ServerSettings, has_users: Callable[[], bool], options: Mapping[str, str | int] = NO_OPTIONS
) -> Listener:
    """`options` override the settings."""
    settings = settings.model_copy(update=options)
    token, is_new = _own_token(settings.host, has_users)
    listening = _listen(settings.host, settings.port)
    address = _address(settings.host, listening.getsockname()[1])
    return Listener(listening, settings.host, address, token, is_new, options)


def shared_address(settings: ServerSettings) -> str:
    """The address for other users; empty if the settings do not determine it."""
    host = settings.host
    if host in ALL_INTERFACES:
        host = next(iter(settings.allowed_hosts), "")
    elif settings.allowed_hosts and is_loopback(host):
        host = ""  # behind a proxy, whose address is unknown here
    is_configured = settings.port and settings.model_fields_set & {"host", "port"}
    return _address(host, settings.port) if host and is_configured else ""


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _own_token(host: str, has_users: Callable[[], bool]) -> tuple[str, bool]:
    """The token from the environment, or on loopback a new one; and whether it is new."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token and (len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token):
        raise ConfigurationError(
            f"{TOKEN_VARIABLE} (not shown) is not a valid token: use at least {MIN_TOKEN_LENGTH} letters and digits "
            f'without spaces, such as: python3 -c "import secrets; print(secrets.token_urlsafe(32))".'
        )
    if token:
        return token, False
    if is_loopback(host):
        return secrets.token_urlsafe(32), True
    if not has_users():
        raise ConfigurationError(
            f'Listening on "{presentable(host)}" lets others connect, but no user has a token: add a user with '
            f"veracity users add NAME --role admin, or set {TOKEN_VARIABLE} in the environment."
        )
    return "", False


def _listen(host: str, port: int) -> socket.socket:
    """Listens right away, so that no other process can take the port while the server loads."""
    with ExitStack() as on_error:
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = addresses[0]
            listening = on_error.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()
        except OSError as error:
            raise ConfigurationError(
                f'The server cannot listen on "{presentable(host)}", port {port} ({reason_of(error)}): choose another '
                "with --host and --port, or stop the program that uses it."
            ) from None
        on_error.pop_all()
    listening.set_inheritable(True)
    return listening


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
