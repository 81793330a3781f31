"""The servers and workers that share a ledger, and this process among them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Literal

from sqlalchemy import Connection

from veracity.errors import LedgerError
from veracity.ledger import leases
from veracity.ledger.database import Database
from veracity.ledger.owners import Owners
from veracity.ledger.rows import members
from veracity.models import Member


class Membership:
    """Can be read before, and without, joining."""

    def __init__(self, database: Database, owners: Owners) -> None:
        self._database = database
        self._owners = owners
        self._own: Member | None = None

    def join(self, name: str, kind: Literal["server", "worker"], configuration: str) -> None:
        """Add this process under its name as an owner, and remove dead ones."""
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
        """Oldest first."""
        return [member for member in self._list() if self._owners.is_alive(member.name)]

    def other_leader(self) -> Member | None:
        """The oldest live member, if its configuration is another than this process registered."""
        own, others = self._own, self.list_alive()
        return others[0] if own and others and others[0].configuration != own.configuration else None

    def _list(self) -> list[Member]:
        with self._database.reading() as connection:
            return members.list_members(connection)
