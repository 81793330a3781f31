"""The requests, open streams and questions of each user on all servers, for limits that hold for a whole deployment.

Only a ledger in Postgres has the tables of requests and streams. They are not logged: a crash of Postgres empties them,
and the servers write their streams again a second later.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from veracity.ledger.database import Database
from veracity.ledger.leases import count_waiting
from veracity.ledger.rows import runs
from veracity.ledger.tables import AnyText, normalize_user
from veracity.models import Traffic

metadata = sa.MetaData()

spent_requests = sa.Table(
    "spent_requests",
    metadata,
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("spent", sa.Float, nullable=False),  # decreases with time: see _SPEND
    sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    prefixes=["UNLOGGED"],
)
open_streams = sa.Table(
    "open_streams",
    metadata,
    sa.Column("server", AnyText, primary_key=True),
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("streams", sa.Integer, nullable=False),
    sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
    prefixes=["UNLOGGED"],
)

STALE_SECONDS = 10  # the streams of a server that reports nothing for so long are not counted
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('veracity:traffic:' || current_schema(), 0))"
_SPEND = sa.text(
    "INSERT INTO spent_requests AS old (user_name, spent, at) "
    "SELECT user_name, spent, clock_timestamp() FROM unnest(CAST(:users AS text[]), CAST(:counts AS float[])) "
    "AS new (user_name, spent) ORDER BY user_name "  # in one order: two servers must not wait for each other
    "ON CONFLICT (user_name) DO UPDATE SET at = excluded.at, spent = excluded.spent + "
    "greatest(0, old.spent - extract(epoch FROM excluded.at - old.at) * :per_second) "
    "RETURNING user_name, spent"
)
_REMOVE_STALE = (  # not those that another server is changing
    "DELETE FROM spent_requests WHERE user_name IN (SELECT user_name FROM spent_requests "
    "WHERE at < clock_timestamp() - interval '1 minute' FOR UPDATE SKIP LOCKED)",
    "DELETE FROM open_streams WHERE (server, user_name) IN (SELECT server, user_name FROM open_streams "
    f"WHERE seen < clock_timestamp() - interval '{STALE_SECONDS} seconds' FOR UPDATE SKIP LOCKED)",
)


class SharedTraffic:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._server = secrets.token_hex(8)
        self._has_tables = False

    def exchange(self, requests: Mapping[str, int], streams: Mapping[str, int], per_minute: int) -> Traffic:
        """Report the requests since the last call and the open streams of this server, by user.

        The result holds what these users have spent of `per_minute` requests on all servers, and the streams that are
        open on the other servers.
        """
        self._create_tables()
        with self._database.writing() as connection:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            spent = _spend(connection, requests, per_minute) if requests else {}
            self._put_streams(connection, streams)
            for statement in _REMOVE_STALE:
                connection.exec_driver_sql(statement)
            user, count = open_streams.c.user_name, sa.func.sum(open_streams.c.streams)
            elsewhere = sa.select(user, count).where(open_streams.c.server != self._server).group_by(user)
            rows = connection.execute(elsewhere).all()
        return Traffic(spent=spent, streams_elsewhere={name: int(number) for name, number in rows})

    def nth_newest_ask(self, user: str, number: int) -> datetime | None:
        """When the user asked the last question but `number` - 1."""
        with self._database.reading() as connection:
            return runs.get_nth_newest_start(connection, normalize_user(user), number)

    def queued(self, user: str | None = None) -> int:
        """The questions, of all users or of one, that wait for a worker."""
        with self._database.reading() as connection:
            return count_waiting(connection, user)

    def _create_tables(self) -> None:
        if not self._has_tables:
            with self._database.writing() as connection:
                connection.exec_driver_sql(_LOCK)
                metadata.create_all(connection)
            self._has_tables = True

    def _put_streams(self, connection: sa.Connection, streams: Mapping[str, int]) -> None:
        connection.execute(sa.delete(open_streams).where(open_streams.c.server == self._server))
        rows = [{"server": self._server, "user_name": user, "streams": count} for user, count in streams.items()]
        if rows:
            connection.execute(sa.insert(open_streams).values(seen=sa.func.clock_timestamp()), rows)


def _spend(connection: sa.Connection, requests: Mapping[str, int], per_minute: int) -> dict[str, float]:
    values = {"users": list(requests), "counts": list(requests.values()), "per_second": per_minute / 60}
    return {row.user_name: row.spent for row in connection.execute(_SPEND, values)}
