"""The ledger's methods that tell of runs, and change nothing."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.ledger import finding, passages, runs, standings
from veracity.ledger.database import Database
from veracity.ledger.names import user_name
from veracity.models import Answer, Evidence, RunParameters, RunStanding, RunStatus, RunSummary, Step, Usage


class Showing:
    """A part of Ledger. Each call reads what is committed."""

    _database: Database

    def parameters(self, run_id: str) -> RunParameters:
        with self._database.reading() as connection:
            return runs.parameters(connection, run_id)

    def runs(self, limit: int = 20, user: str | None = None, after: str = "") -> list[RunSummary]:
        """The newest first; those that follow the run `after`, where one is named."""
        asking = None if user is None else user_name(user)
        with self._database.reading() as connection:
            return runs.latest(connection, limit, asking, after)

    def runs_asking(self, user: str, question: str, limit: int) -> list[RunSummary]:
        """Those of this user that ask exactly this, the newest first."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return finding.runs_asking(connection, asking, question, limit)

    def run_under(self, user: str, key: str) -> RunSummary | None:
        """The one that this user asked under the key."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return finding.run_under(connection, asking, key)

    def statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        with self._database.reading() as connection:
            return standings.of_runs(connection, run_ids)

    def find(self, name: str) -> str:
        """The full id of the run that is named by its id, by the beginning of it, or as "last"."""
        with self._database.reading() as connection:
            return runs.full_id(connection, name)

    def summary(self, run_id: str) -> RunSummary:
        with self._database.reading() as connection:
            return runs.summary(connection, run_id)

    def standing(self, run_id: str) -> RunStanding | None:
        with self._database.reading() as connection:
            return standings.of_run(connection, run_id)

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
