"""The ledger: what was asked, what was done about it, and what came of it.

One door to the rows: each call is one transaction, so a kill leaves a call done or not done. What is committed survives
the end of the process; a loss of power may lose the last milliseconds. Can be shared by threads, and a workspace by
processes. Knows nothing about how a question is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from veracity.errors import InputError
from veracity.ledger import forgetting, outbox, passages, runs, weakpoints
from veracity.ledger.database import Database
from veracity.ledger.observations import Observations
from veracity.ledger.weakpoints import WeakPoint
from veracity.models import Answer, Evidence, RunStatus, RunSummary, Step, Usage
from veracity.providers.texts import encodable

WeakReason = Literal["failed_review", "low_score", "rejected"]
LONGEST_NAME = 500


class Ledger:
    """`folder` is made with the first write."""

    def __init__(self, folder: Path) -> None:
        self._database = Database(folder)

    def begin(self, run_id: str, question: str, user: str, language: str, models: dict[str, str]) -> None:
        named, asking = _storable(run_id, "A run", 1), _storable(user, "A user", 0)
        with self._database.writing() as connection:
            runs.add(connection, named, question, asking, language, models, forgetting.NOTHING)

    def record(self, run_id: str, *steps: Step) -> None:
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            runs.add_steps(connection, run_id, [forgetting.step_without_texts(step, run.forgotten) for step in steps])

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None:
        """`given`: it was handed to the writer. What is kept already is replaced, and stays given if it was."""
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            forgotten = forgetting.among(connection, {item.document_id for item in evidence}, run.number)
            passages.keep(connection, run_id, evidence, given, forgotten)
            if forgotten:
                forgetting.strip_late(connection, run_id, forgotten, given)

    def finish(
        self,
        run_id: str,
        status: RunStatus,
        *,
        answer: Answer | None,
        usage: Usage,
        seconds: float,
        problem: str = "",
        weak_point: WeakReason | None = None,
        observation: dict[str, Any] | None = None,
        attempt: int = 1,
    ) -> None:
        """The end of a run with all that follows from it. Finishing it again changes nothing."""
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            if run.status != "running":
                return
            touched = forgetting.extent(connection, run_id, answer, run.forgotten)
            if touched > run.forgotten:
                forgetting.strip(connection, run_id, touched)
            if answer is not None and touched == forgetting.GIVEN:
                answer = forgetting.answer_without_texts(answer)
            runs.end(connection, run_id, status, answer, usage, seconds, problem)
            if weak_point is not None:
                weakpoints.add(connection, run_id, run.user, run.question, weak_point)
            if observation is not None and not touched:
                outbox.put(connection, run_id, attempt, observation)

    def runs(self, limit: int = 20, user: str | None = None) -> list[RunSummary]:
        """The newest first."""
        with self._database.reading() as connection:
            return runs.latest(connection, limit, user)

    def find(self, name: str) -> str:
        """The full id of the run that is named by its id, by the beginning of it, or as "last"."""
        with self._database.reading() as connection:
            return runs.full_id(connection, name)

    def summary(self, run_id: str) -> RunSummary:
        with self._database.reading() as connection:
            return runs.summary(connection, run_id)

    def steps(self, run_id: str) -> list[Step]:
        with self._database.reading() as connection:
            return runs.steps_of(connection, run_id)

    def evidence(self, run_id: str) -> dict[str, Evidence]:
        with self._database.reading() as connection:
            return passages.of_run(connection, run_id)

    def answer(self, run_id: str) -> Answer | None:
        with self._database.reading() as connection:
            return runs.answer_of(connection, run_id)

    def models(self, run_id: str) -> dict[str, str]:
        with self._database.reading() as connection:
            return runs.models_of(connection, run_id)

    def usage(self, run_id: str) -> Usage:
        with self._database.reading() as connection:
            return runs.usage_of(connection, run_id)

    def weak_points(self, user: str, question: str, limit: int = 5) -> list[WeakPoint]:
        """Earlier questions of this user that failed and ask the same as this one; the most similar first."""
        asking = _storable(user, "A user", 0)
        with self._database.reading() as connection:
            return weakpoints.matching(connection, asking, question, limit)

    def deliver(self, observations: Observations) -> int:
        """Bring the file of observations up to date, also after a kill. How many records were written."""
        if not self._database.is_there:
            return 0
        written = outbox.deliver(self._database, observations)
        with self._database.reading() as connection:
            left = forgetting.not_scrubbed(connection)
        if left:
            self._scrub(left)
        return written

    def forget_documents(self, document_ids: Sequence[str], observations: Observations | None = None) -> None:
        """Nothing they say is left in the files afterwards. Without `observations`, their records go with the next
        delivery; and so does what a kill kept from being done here."""
        if not document_ids or not self._database.is_there:
            return
        with self._database.writing() as connection:
            forgetting.forget(connection, document_ids)
        if observations is not None:
            outbox.deliver(self._database, observations)
        self._scrub(document_ids)

    def close(self) -> None:
        self._database.close()

    def _scrub(self, document_ids: Sequence[str]) -> None:
        self._database.scrub()
        with self._database.writing() as connection:
            forgetting.mark_scrubbed(connection, document_ids)


def _storable(name: str, whose: str, shortest: int) -> str:
    """Names are compared: one that could only be stored as another one is refused."""
    if not shortest <= len(name) <= LONGEST_NAME or "\0" in name or encodable(name) != name:
        raise InputError(
            f"{whose} has a name of {shortest} to {LONGEST_NAME} characters, none of them NUL or half one."
        )
    return name
