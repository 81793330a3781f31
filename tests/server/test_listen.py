"""Where the server listens, before anything is loaded that answers."""

from contextlib import closing

import pytest

from veracity.errors import ConfigurationError
from veracity.server.listen import open_door
from veracity.settings import ServerSettings


class Nobody:
    def any(self) -> bool:
        return False


def test_of_two_who_take_one_port_at_once_the_second_is_told() -> None:
    """Also while the first one still loads what is to answer there."""
    door = open_door(ServerSettings(port=0), Nobody())
    with closing(door.listening):
        port = door.listening.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} .*in use.*: choose another"):
            open_door(ServerSettings(port=port), Nobody())
    closing(open_door(ServerSettings(port=port), Nobody()).listening).__exit__()
