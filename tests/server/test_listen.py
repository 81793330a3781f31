"""The server's socket."""

from contextlib import closing

import pytest

from veracity.errors import ConfigurationError
from veracity.server.listen import open_listener
from veracity.settings import ServerSettings


def no_users() -> bool:
    return False


def test_a_port_in_use_is_refused() -> None:
    """Even while the first process is still loading."""
    listener = open_listener(ServerSettings(port=0), no_users)
    with closing(listener.listening):
        port = listener.listening.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} .*in use.*: choose another"):
            open_listener(ServerSettings(port=port), no_users)
    closing(open_listener(ServerSettings(port=port), no_users).listening).__exit__()
