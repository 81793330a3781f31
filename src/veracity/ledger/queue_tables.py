"""Tables of what waits for workers: uploaded files and evaluations. Only a ledger in Postgres has them.

A row is deleted when its result was read. The tables are emptied physically as soon as they have no rows, so that no
page of them holds a text for long.
"""

from __future__ import annotations

import sqlalchemy as sa

from veracity.ledger.tables import AnyText, Json, UtcDateTime

metadata = sa.MetaData()

# Uploaded files. Their contents and the rows prepared from them are with the uploads: see knowledge/staging.py.
ingestions = sa.Table(
    "ingestions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascending: later uploads of a file replace earlier ones
    sa.Column("ingestion_id", AnyText, nullable=False, unique=True),
    sa.Column("upload", AnyText, nullable=False, index=True),
    sa.Column("slice", AnyText, nullable=False, index=True),  # the files that one job prepares
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("document_id", AnyText, nullable=False, index=True),
    sa.Column("state", AnyText, nullable=False, index=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("outcome", Json),
    sa.Column("error", Json),
    sa.Column("created", UtcDateTime, nullable=False),
)

# Not logged: the texts are in no write-ahead log, replica or base backup. A crash of Postgres empties the table.
evaluations = sa.Table(
    "evaluations",
    metadata,
    sa.Column("evaluation_id", AnyText, primary_key=True),
    sa.Column("user_name", AnyText, nullable=False),
    sa.Column("state", AnyText, nullable=False),
    sa.Column("request", Json, nullable=False),
    sa.Column("result", Json),
    sa.Column("error", Json),
    sa.Column("created", UtcDateTime, nullable=False),
    prefixes=["UNLOGGED"],
)
