"""The tables of the ledger, in words that SQLite and Postgres share. Knows nothing about what is done with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from veracity.providers.texts import encodable


class Words(TypeDecorator[str]):
    """Text from anywhere. Half a character cannot be stored, and Postgres stores no NUL: a mark takes their place."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else encodable(value).replace("\0", "\ufffd")


class Moment(TypeDecorator[datetime]):
    """A time that knows its zone. Stored as UTC without saying so, since SQLite cannot say it."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


Json = JSON(none_as_null=True)
tables = MetaData()

ledger_version = Table("ledger_version", tables, Column("version", Integer, primary_key=True, autoincrement=False))

runs = Table(
    "runs",
    tables,
    Column("number", Integer, primary_key=True),  # grows: the newest run has the highest
    Column("run_id", Words, nullable=False, unique=True),
    Column("user_name", Words, nullable=False),
    Column("question", Words, nullable=False),
    Column("language", Words, nullable=False),
    Column("models", Json, nullable=False),
    Column("status", Words, nullable=False),
    Column("started", Moment, nullable=False),
    Column("seconds", Float),
    Column("problem", Words, nullable=False),
    Column("usage", Json, nullable=False),
    Column("answer", Json),
    Column("forgotten", Integer, nullable=False),  # one of forgetting.NOTHING, FOUND, GIVEN
    Index("runs_of_user", "user_name", "number"),
    sqlite_autoincrement=True,
)

steps = Table(
    "steps",
    tables,
    Column("run_id", Words, ForeignKey("runs.run_id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("name", Words, nullable=False),
    Column("started", Moment, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("facts", Json, nullable=False),
    Column("texts", Json),
)

evidence = Table(
    "evidence",
    tables,
    Column("run_id", Words, ForeignKey("runs.run_id"), primary_key=True),
    Column("evidence_id", Words, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("document_id", Words, nullable=False, index=True),
    Column("given", Boolean, nullable=False),
    Column("forgotten", Boolean, nullable=False),
    Column("body", Json, nullable=False),
)

weak_points = Table(
    "weak_points",
    tables,
    Column("number", Integer, primary_key=True),
    Column("run_id", Words, ForeignKey("runs.run_id"), nullable=False, unique=True),
    Column("user_name", Words, nullable=False),
    Column("question", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("created", Moment, nullable=False),
    sqlite_autoincrement=True,
)

# By user and word to the newest weak points: what a lookup costs does not depend on how many there are.
weak_terms = Table(
    "weak_terms",
    tables,
    Column("user_name", Words, primary_key=True),
    Column("term", Words, primary_key=True),
    Column("weak_point", Integer, ForeignKey("weak_points.number"), primary_key=True, autoincrement=False),
)

# What is to be written to the file of observations, or taken out of it. `record` goes once it is in the file.
outbox = Table(
    "outbox",
    tables,
    Column("number", Integer, primary_key=True),
    Column("run_id", Words, ForeignKey("runs.run_id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", Words, nullable=False, index=True),
    Column("record", Json),
    UniqueConstraint("run_id", "attempt"),
    sqlite_autoincrement=True,
)

# Runs up to `last_run` may still hand in what they read before the document was forgotten.
forgotten_documents = Table(
    "forgotten_documents",
    tables,
    Column("document_id", Words, primary_key=True),
    Column("last_run", Integer, nullable=False),
    Column("is_scrubbed", Boolean, nullable=False, index=True),
)
