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
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    func,
    text,
)

from veracity.printable import encodable


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
    Column("forgotten", Integer, nullable=False),  # one of stripping.NOTHING, FOUND, GIVEN, ALL
    Column("conversation", Words, nullable=False, server_default=""),
    Column("turn", Integer, nullable=False, server_default=text("0")),  # counts within the conversation, from 1
    Column("max_rewrites", Integer, nullable=False, server_default=text("0")),
    Column("deadline", Float, nullable=False, server_default=text("120")),
    Column("request_key", Words),  # by which whoever asked names the question when it is sent again
    Index("runs_of_user", "user_name", "number"),
    Index("runs_of_conversation", "user_name", "conversation", "turn"),
    Index("runs_by_status", "status", "number"),
    Index("runs_by_key", "user_name", "request_key", unique=True),
    sqlite_autoincrement=True,
)
# A whole question may be too long for an index. The numbers are words of the query: as parameters it would not be used.
HEAD = 100
question_head = func.substr(runs.c.question, text("1"), text(str(HEAD)))
Index("runs_by_question", runs.c.user_name, question_head, runs.c.number)

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

# Who works on a run. The token grows with every taking over and stays when nobody owns the run any more.
leases = Table(
    "leases",
    tables,
    Column("run_id", Words, ForeignKey("runs.run_id"), primary_key=True),
    Column("token", Integer, nullable=False),
    Column("owner", Words),
    Column("host", Words),
    Column("expires", Moment),
)

approvals = Table(
    "approvals",
    tables,
    Column("number", Integer, primary_key=True),  # grows: the newest has the highest
    Column("approval_id", Words, nullable=False, unique=True),
    Column("run_id", Words, ForeignKey("runs.run_id"), nullable=False, index=True),
    Column("attempt", Integer, nullable=False),
    Column("user_name", Words, nullable=False),
    Column("conversation", Words, nullable=False),
    Column("question", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("on_reject", Words, nullable=False),
    Column("draft", Json, nullable=False),
    Column("draft_hash", Words, nullable=False),
    Column("created", Moment, nullable=False),
    Column("state", Words, nullable=False),
    Column("verdict", Words),
    Column("decided_by", Words),
    Column("decided_at", Moment),
    Column("reason", Words, nullable=False),
    Column("edit", Words),
    Column("decision_key", Words, nullable=False),
    Index("approvals_by_state", "state", "number"),
    sqlite_autoincrement=True,
)
# With what lies behind the draft in a row: a draft fills pages of the file, and all of them would be read.
approval_changed = func.coalesce(approvals.c.decided_at, approvals.c.created)
Index("approvals_by_change", approval_changed, approvals.c.number, approvals.c.state, approvals.c.decided_by)

# `emptied_at` is the newest run when the summary was last emptied: runs up to it may have read what was forgotten.
conversations = Table(
    "conversations",
    tables,
    Column("user_name", Words, primary_key=True),
    Column("conversation", Words, primary_key=True),
    Column("last_turn", Integer, nullable=False),
    Column("summary", Words, nullable=False),
    Column("folded", Integer, nullable=False),
    Column("emptied_at", Integer, nullable=False),
)

# Answers that may be found again: by their words and by their vectors, of one conversation or of all.
recall_terms = Table(
    "recall_terms",
    tables,
    Column("user_name", Words, primary_key=True),
    Column("term", Words, primary_key=True),
    Column("run", Integer, ForeignKey("runs.number"), primary_key=True, autoincrement=False),
    Column("conversation", Words, nullable=False),
    Index("recall_terms_of_conversation", "user_name", "conversation", "term", "run"),
    Index("recall_terms_of_run", "run"),
)

recall_vectors = Table(
    "recall_vectors",
    tables,
    Column("run", Integer, ForeignKey("runs.number"), primary_key=True, autoincrement=False),
    Column("user_name", Words, nullable=False),
    Column("conversation", Words, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Index("recall_vectors_of_user", "user_name", "run"),
    Index("recall_vectors_of_conversation", "user_name", "conversation", "run"),
)

# Who may use the workspace over the network. Of a token only its SHA-256 is kept.
users = Table(
    "users",
    tables,
    Column("name", Words, primary_key=True),
    Column("role", Words, nullable=False),
    Column("token_hash", Words, nullable=False, unique=True),
    Column("created", Moment, nullable=False),
    Column("last_seen", Moment),
)

# What people say of answers. `user_name` is whoever says it, not whoever asked.
feedback = Table(
    "feedback",
    tables,
    Column("run_id", Words, ForeignKey("runs.run_id"), primary_key=True),
    Column("user_name", Words, primary_key=True),
    Column("thumb", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("at", Moment, nullable=False),
)
