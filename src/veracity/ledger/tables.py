"""The tables of the ledger, limited to SQL that SQLite and Postgres share, and the names they accept."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from veracity.errors import InputError
from veracity.models.people import EXPERIMENT_PREFIX
from veracity.printable import encodable

MAX_NAME_LENGTH = 500
MAX_REASON_LENGTH = 2000
INDEXED_QUESTION_LENGTH = 100
_REFUSED_IN_NAMES = ("Cc", "Zl", "Zp", "Cs")  # control characters, line separators, lone surrogates


def normalize_name(name: str, subject: str, min_length: int = 0) -> str:
    """The name in NFC, to compare names. Raises `InputError` if it is too long or would break a line of text."""
    if not isinstance(name, str):
        raise InputError(f"The name of {subject} must be text, not {type(name).__name__}.")
    normalized = unicodedata.normalize("NFC", name)
    is_refused = any(unicodedata.category(character) in _REFUSED_IN_NAMES for character in normalized)
    if is_refused or not min_length <= len(normalized) <= MAX_NAME_LENGTH:
        raise InputError(
            f"The name of {subject} must have {min_length} to {MAX_NAME_LENGTH} characters and no line breaks, "
            "control characters or lone surrogates.",
            "name_invalid",
            n=MAX_NAME_LENGTH,
        )
    return normalized


def normalize_user(name: str) -> str:
    return normalize_name(name, "a user")


def normalize_conversation(name: str) -> str:
    return normalize_name(name, "a conversation", 1)


def require_short_reason(reason: str) -> None:
    if len(reason) > MAX_REASON_LENGTH:
        message = f"The reason has {len(reason):,} characters: shorten it to {MAX_REASON_LENGTH:,}."
        raise InputError(message, "too_long", n=MAX_REASON_LENGTH)


def as_stored(text: str) -> str:
    """Replaces lone surrogates, which cannot be encoded, and NUL, which Postgres refuses."""
    return encodable(text).replace("\0", "\ufffd")


class AnyText(sa.TypeDecorator[str]):
    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else as_stored(value)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Stored without a time zone, because SQLite has none; always UTC."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


Json = sa.JSON(none_as_null=True)

metadata = sa.MetaData()

ledger_version = sa.Table(
    "ledger_version", metadata, sa.Column("version", sa.Integer, primary_key=True, autoincrement=False)
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascending: the newest run has the highest
    sa.Column("run_id", AnyText, nullable=False, unique=True),
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("question", AnyText, nullable=False),
    sa.Column("language", AnyText, nullable=False),
    sa.Column("models", Json, nullable=False),
    sa.Column("status", AnyText, nullable=False),
    sa.Column("started", UtcDateTime, nullable=False),
    sa.Column("seconds", sa.Float),
    sa.Column("problem", AnyText, nullable=False),
    sa.Column("usage", Json, nullable=False),
    sa.Column("answer", Json),
    sa.Column("forgotten", sa.Integer, nullable=False),  # a forget.Exposure
    sa.Column("conversation", AnyText, nullable=False, server_default=""),
    sa.Column("turn", sa.Integer, nullable=False, server_default=sa.text("0")),  # from 1; 0 outside a conversation
    sa.Column("max_rewrites", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("deadline", sa.Float, nullable=False, server_default=sa.text("120")),
    sa.Column("request_key", AnyText),  # idempotency key
    sa.Column("only", Json, nullable=False, server_default="[]"),
    sa.Column("usage_by_role", Json, nullable=False, server_default="{}"),
    sa.Index("runs_of_user", "user_name", "number"),
    sa.Index("runs_of_conversation", "user_name", "conversation", "turn"),
    sa.Index("runs_by_status", "status", "number"),
    sa.Index("runs_by_key", "user_name", "request_key", unique=True),
    sqlite_autoincrement=True,
)
# A whole question may be too long for an index. Literals, because SQLite ignores the index for bound parameters.
question_head = sa.func.substr(runs.c.question, sa.text("1"), sa.text(str(INDEXED_QUESTION_LENGTH)))
sa.Index("runs_by_question", runs.c.user_name, question_head, runs.c.number)
# A run that is a case of an experiment.
is_case = sa.func.substr(runs.c.user_name, 1, len(EXPERIMENT_PREFIX)) == EXPERIMENT_PREFIX

steps = sa.Table(
    "steps",
    metadata,
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("started", UtcDateTime, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("facts", Json, nullable=False),
    sa.Column("texts", Json),
)

# Calls to models with their texts, if `receipts.prompts` is set. `texts` is NULL after forgetting.
model_calls = sa.Table(
    "model_calls",
    metadata,
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("role", AnyText, nullable=False),
    sa.Column("model", AnyText, nullable=False),
    sa.Column("started", UtcDateTime, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("usage", Json, nullable=False),
    sa.Column("texts", Json),
)

evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("evidence_id", AnyText, primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("document_id", AnyText, nullable=False, index=True),
    sa.Column("given", sa.Boolean, nullable=False),
    sa.Column("forgotten", sa.Boolean, nullable=False),
    sa.Column("body", Json, nullable=False),
)

weak_points = sa.Table(
    "weak_points",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), nullable=False, unique=True),
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("question", AnyText, nullable=False),
    sa.Column("reason", AnyText, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

# Finds the newest weak points by user and word, so that a lookup costs the same however many there are.
weak_terms = sa.Table(
    "weak_terms",
    metadata,
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("term", AnyText, primary_key=True),
    sa.Column("weak_point", sa.Integer, sa.ForeignKey("weak_points.number"), primary_key=True, autoincrement=False),
)

# Changes to make to the observations file. `record` is cleared once the file holds it.
outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("state", AnyText, nullable=False, index=True),
    sa.Column("record", Json),
    sa.Column("place", AnyText),  # the file that got it, if machines share the ledger
    sa.UniqueConstraint("run_id", "attempt"),
    sqlite_autoincrement=True,
)

# Runs up to `last_run` may still store what they read before the document was forgotten.
forgotten_documents = sa.Table(
    "forgotten_documents",
    metadata,
    sa.Column("document_id", AnyText, primary_key=True),
    sa.Column("last_run", sa.Integer, nullable=False),
    sa.Column("is_scrubbed", sa.Boolean, nullable=False, index=True),
)

# The owner of each run. The fencing token grows with every acquired lease and survives a release.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("token", sa.Integer, nullable=False),
    sa.Column("owner", AnyText),
    sa.Column("host", AnyText),
    sa.Column("expires", UtcDateTime),
    sa.Index("leases_by_owner", "owner"),
)

approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascending: the newest has the highest
    sa.Column("approval_id", AnyText, nullable=False, unique=True),
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), nullable=False, index=True),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("conversation", AnyText, nullable=False),
    sa.Column("question", AnyText, nullable=False),
    sa.Column("why", AnyText, nullable=False),
    sa.Column("on_reject", AnyText, nullable=False),
    sa.Column("draft", Json, nullable=False),
    sa.Column("draft_hash", AnyText, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("state", AnyText, nullable=False),
    sa.Column("verdict", AnyText),
    sa.Column("decided_by", AnyText),
    sa.Column("decided_at", UtcDateTime),
    sa.Column("reason", AnyText, nullable=False),
    sa.Column("edit", AnyText),
    sa.Column("decision_key", AnyText, nullable=False),
    sa.Column("inclusion", sa.Float, nullable=False, server_default=sa.text("1")),  # of an audit: its probability
    sa.Column("send_backs", sa.Integer, nullable=False, server_default=sa.text("0")),  # how many are left
    sa.Column("assignee", AnyText, nullable=False, server_default=""),
    sa.Column("expires", UtcDateTime),
    sa.Column("effective", UtcDateTime),  # of a decision that could be withdrawn: when it takes effect
    sa.Index("approvals_by_state", "state", "number"),
    sa.Index("approvals_by_expiry", "state", "expires"),
    sqlite_autoincrement=True,
)
# A covering index: the columns behind `draft` in a row cannot be read without reading the whole draft.
approval_changed = sa.func.coalesce(approvals.c.decided_at, approvals.c.created)
_BEHIND_DRAFT = (approvals.c.state, approvals.c.decided_by, approvals.c.assignee)
sa.Index("approvals_by_latest", approval_changed, approvals.c.number, *_BEHIND_DRAFT)

# Announcements of approvals, by webhook or mail. They hold no texts: those are read when one is sent.
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("delivery_id", AnyText, nullable=False, unique=True),
    sa.Column("approval_id", AnyText, nullable=False, index=True),
    sa.Column("event", AnyText, nullable=False),
    sa.Column("channel", AnyText, nullable=False),
    sa.Column("state", AnyText, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due", UtcDateTime, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("problem", AnyText, nullable=False),
    sa.Index("deliveries_by_state", "state", "due"),
    sqlite_autoincrement=True,
)

# `emptied_at` is the newest run when the summary was last emptied. Runs up to it may have read forgotten texts.
# `title` and `pinned` (since when) are the user's; without a title, the first question is shown.
conversations = sa.Table(
    "conversations",
    metadata,
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("conversation", AnyText, primary_key=True),
    sa.Column("last_turn", sa.Integer, nullable=False),
    sa.Column("summary", AnyText, nullable=False),
    sa.Column("folded", sa.Integer, nullable=False),
    sa.Column("emptied_at", sa.Integer, nullable=False),
    sa.Column("title", AnyText),
    sa.Column("pinned", UtcDateTime),
)

# Questions that the documents are known to answer. `content` is a hash of the document's text.
example_questions = sa.Table(
    "example_questions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("document_id", AnyText, nullable=False, index=True),
    sa.Column("content", AnyText, nullable=False),
    sa.Column("language", AnyText, nullable=False),
    sa.Column("question", AnyText, nullable=False),
    sqlite_autoincrement=True,
)

# At most one row: the documents whose examples were found or, until it `expires`, that a process is working on.
example_search = sa.Table(
    "example_search",
    metadata,
    sa.Column("documents", AnyText, primary_key=True),
    sa.Column("expires", UtcDateTime),
)

# Index of recallable answers, by word and by vector, within a conversation or for a user.
recall_terms = sa.Table(
    "recall_terms",
    metadata,
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("term", AnyText, primary_key=True),
    sa.Column("run", sa.Integer, sa.ForeignKey("runs.number"), primary_key=True, autoincrement=False),
    sa.Column("conversation", AnyText, nullable=False),
    sa.Index("recall_terms_of_conversation", "user_name", "conversation", "term", "run"),
    sa.Index("recall_terms_of_run", "run"),
)

recall_vectors = sa.Table(
    "recall_vectors",
    metadata,
    sa.Column("run", sa.Integer, sa.ForeignKey("runs.number"), primary_key=True, autoincrement=False),
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("conversation", AnyText, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Index("recall_vectors_of_user", "user_name", "run"),
    sa.Index("recall_vectors_of_conversation", "user_name", "conversation", "run"),
)

# Users who may use the workspace over the network. Tokens are stored as SHA-256 only.
users = sa.Table(
    "users",
    metadata,
    sa.Column("name", AnyText, primary_key=True),
    sa.Column("role", AnyText, nullable=False),
    sa.Column("token_hash", AnyText, nullable=False, unique=True),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("last_seen", UtcDateTime),
)

# Ratings of answers. `user_name` is the rater, not the user who asked.
feedback = sa.Table(
    "feedback",
    metadata,
    sa.Column("run_id", AnyText, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("thumb", AnyText, nullable=False),
    sa.Column("why", AnyText, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

# The servers and workers that share the ledger. `configuration` is a hash: only equal ones may take each other's jobs.
members = sa.Table(
    "members",
    metadata,
    sa.Column("name", AnyText, primary_key=True),  # as the owner of runs
    sa.Column("kind", AnyText, nullable=False),
    sa.Column("host", AnyText, nullable=False),
    sa.Column("configuration", AnyText, nullable=False),
    sa.Column("started", UtcDateTime, nullable=False),
    sa.Column("seen", UtcDateTime, nullable=False),
)

# The files of each person's last upload, until the person dismisses the list.
upload_files = sa.Table(
    "upload_files",
    metadata,
    sa.Column("user_name", AnyText, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("upload", AnyText, nullable=False),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("document_id", AnyText, nullable=False, index=True),
    sa.Column("status", AnyText, nullable=False),
    sa.Column("reason", AnyText, nullable=False),
)
