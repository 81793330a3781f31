"""Rows of evaluations that a server leaves to a worker: queued → started → done. A row is deleted with its result."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from veracity.errors import VeracityError, error_from_json, error_to_json
from veracity.ledger.leases import read_clock
from veracity.ledger.queue_tables import evaluations
from veracity.ledger.rows.job_table import JobTable
from veracity.models import EvaluationResult

EVALUATE_TASK = "veracity.evaluate"


class QueuedEvaluation(NamedTuple):
    """`result` is None until it is done."""

    has_started: bool
    result: EvaluationResult | VeracityError | None


class Evaluations(JobTable):
    def add(self, evaluation_id: str, user: str, request: dict[str, Any]) -> None:
        """Queue it. Users take turns."""
        values = {"evaluation_id": evaluation_id, "user_name": user, "state": "queued", "request": request}
        with self._writing() as connection:
            own = select(func.count()).where(evaluations.c.user_name == user, evaluations.c.state == "queued")
            priority = -connection.execute(own).scalar_one()
            connection.execute(insert(evaluations), {**values, "created": read_clock(connection)})
            self._jobs.defer(
                connection,
                EVALUATE_TASK,
                "evaluations",
                {"evaluation_id": evaluation_id},
                key=evaluation_id,
                priority=priority,
            )

    def start(self, evaluation_id: str) -> dict[str, Any] | None:
        """The request; None if the client is gone or another worker has finished it."""
        same = evaluations.c.evaluation_id == evaluation_id
        with self._writing() as connection:
            started = update(evaluations).where(same, evaluations.c.state != "done").values(state="started")
            request: dict[str, Any] | None = connection.execute(started.returning(evaluations.c.request)).scalar()
            return request

    def finish(self, evaluation_id: str, result: EvaluationResult | VeracityError) -> None:
        """No-op if the client is gone."""
        values = (
            {"error": error_to_json(result)}
            if isinstance(result, VeracityError)
            else {"result": result.model_dump(mode="json")}
        )
        done = update(evaluations).where(evaluations.c.evaluation_id == evaluation_id).values(state="done", **values)
        with self._writing() as connection:
            connection.execute(done)

    def look(self, evaluation_id: str) -> QueuedEvaluation | None:
        """Its state; None if it is gone, because Postgres was restarted."""
        query = select(evaluations).where(evaluations.c.evaluation_id == evaluation_id)
        with self._reading() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        result: EvaluationResult | VeracityError | None = None
        if row.state == "done":
            result = error_from_json(row.error) if row.error else EvaluationResult.model_validate(row.result)
        return QueuedEvaluation(row.state != "queued", result)

    def remove(self, evaluation_id: str) -> None:
        with self._writing() as connection:
            connection.execute(delete(evaluations).where(evaluations.c.evaluation_id == evaluation_id))

    def list_removed(self, evaluation_ids: Collection[str]) -> set[str]:
        """Those whose client is gone."""
        query = select(evaluations.c.evaluation_id).where(evaluations.c.evaluation_id.in_(evaluation_ids))
        with self._reading() as connection:
            return set(evaluation_ids).difference(connection.execute(query).scalars())

    def queue_lost(self) -> None:
        """Defer jobs for evaluations that have none, because a worker died."""
        with self._reading() as connection:
            pending = select(evaluations.c.evaluation_id).where(evaluations.c.state != "done")
            ids = list(connection.execute(pending).scalars())
            known = self._jobs.list_open(connection, EVALUATE_TASK, "evaluation_id") if ids else {}
        for evaluation_id in set(ids).difference(known):
            same = evaluations.c.evaluation_id == evaluation_id
            with self._writing() as connection:
                if connection.execute(update(evaluations).where(same).values(state="queued")).rowcount:
                    arguments = {"evaluation_id": evaluation_id}
                    self._jobs.defer(connection, EVALUATE_TASK, "evaluations", arguments, key=evaluation_id)

    def remove_unread(self, seconds: float) -> None:
        """Remove those that are older, whose server ended before it could read them, and the bytes of removed ones."""
        with self._writing() as connection:
            old = evaluations.c.created < read_clock(connection) - timedelta(seconds=seconds)
            connection.execute(delete(evaluations).where(old))
        self._jobs.erase_empty_tables()
