"""The ledger's methods that tell of runs, and change nothing."""

from __future__ import annotations

from veracity.ledger import passages, runs
from veracity.ledger.database import Database
from veracity.models import Answer, Evidence, RunParameters, RunSummary, Step, Usage


class Showing:
    """A part of Ledger. Each call reads what is committed."""

    _database: Database

    def parameters(self, run_id: str) -> RunParameters:
        with self._database.reading() as connection:
            return runs.parameters(connection, run_id)

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

    def unfinished(self) -> list[str]:
        """The runs that are under way or wait for a person."""
        with self._database.reading() as connection:
            return runs.unfinished(connection)

    def answer(self, run_id: str) -> Answer | None:
        with self._database.reading() as connection:
            return runs.answer_of(connection, run_id)

    def models(self, run_id: str) -> dict[str, str]:
        with self._database.reading() as connection:
            return runs.models_of(connection, run_id)

    def usage(self, run_id: str) -> Usage:
        with self._database.reading() as connection:
            return runs.usage_of(connection, run_id)
