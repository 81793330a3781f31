"""What the columns of the ledger hold, in a way that SQLite and Postgres share. Knows nothing about tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Text, TypeDecorator

from veracity.providers.texts import encodable


def as_stored(text: str) -> str:
    """Half a character cannot be stored, and Postgres stores no NUL: a mark takes their place."""
    return encodable(text).replace("\0", "\ufffd")


class Words(TypeDecorator[str]):
    """Text from anywhere."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else as_stored(value)


class Moment(TypeDecorator[datetime]):
    """A time that knows its zone. Stored as UTC without saying so, since SQLite cannot say it."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


Json = JSON(none_as_null=True)
