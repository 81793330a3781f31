"""The processes that share a ledger, this one among them: which servers and workers live, and what others changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

from veracity.errors import LedgerError
from veracity.ledger import leases
from veracity.ledger.database import Database
from veracity.ledger.owners import Owners
from veracity.ledger.rows import members
from veracity.models import LedgerChange, Member

if TYPE_CHECKING:
    from veracity.ledger.backend import Listen
    from veracity.ledger.notifications import ChangeListener


class Membership:
    """Can be read before, and without, joining. `begin_lease` registers this process as an owner of runs and keeps its
    leases."""

    def __init__(
        self, database: Database, owners: Owners, begin_lease: Callable[[], str], listen: Listen | None
    ) -> None:
        self._database = database
        self._owners = owners
        self._begin_lease = begin_lease
        self._listen = listen
        self._own: Member | None = None

    def register(self) -> None:
        """Let other processes of this machine see that this one lives, until it closes the ledger. A disk that cannot
        be written is no problem yet."""
        with suppress(LedgerError):
            self._owners.register()

    def join(self, kind: Literal["server", "worker"], configuration: str) -> None:
        """Add this process among the servers and workers until it closes the ledger, and remove dead ones.

        Processes with the same `configuration` give the same answers.
        """
        name = self._begin_lease()
        dead = [other.name for other in self._list() if not self._owners.is_alive(other.name)]
        with self._database.writing() as connection:
            now = leases.read_clock(connection)
            self._own = Member(
                name=name, kind=kind, host=self._owners.host, configuration=configuration, started=now, seen=now
            )
            members.put(connection, self._own, dead)

    def leave(self) -> None:
        """No-op if this process has not joined. An entry that cannot be removed is seen to be dead."""
        if self._own is not None:
            with suppress(LedgerError), self._database.writing() as connection:
                members.remove(connection, [self._own.name])
            self._own = None

    def renew(self, connection: Connection, name: str, former_names: Collection[str]) -> None:
        """Store that this process lives, under the name that it has now. No-op if it has not joined."""
        if self._own is not None:
            self._own = self._own.model_copy(update={"name": name, "seen": leases.read_clock(connection)})
            members.put(connection, self._own, former_names)

    def list_alive(self) -> list[Member]:
        """The live servers and workers, oldest first."""
        return [member for member in self._list() if self._owners.is_alive(member.name)]

    def other_leader(self) -> Member | None:
        """The oldest live member, if its configuration is another than this process joined with. Then this process
        takes no jobs."""
        own, others = self._own, self.list_alive()
        return others[0] if own and others and others[0].configuration != own.configuration else None

    def listen(self, on_change: Callable[[LedgerChange], None]) -> ChangeListener | None:
        """Calls `on_change`, on another thread, when any process has changed a run, a draft or the documents. None if
        the ledger is a file: then callers must poll."""
        return self._listen(on_change) if self._listen else None

    def _list(self) -> list[Member]:
        with self._database.reading() as connection:
            return members.list_members(connection)
