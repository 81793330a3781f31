"""What `prune` removes, or would remove."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Pruned(BaseModel):
    """The runs and conversations that were removed, and the runs that lost the details of their receipts. `oldest` and
    `newest` are when the first and the last of these runs began. With `dry_run`, nothing was changed."""

    model_config = ConfigDict(frozen=True)

    dry_run: bool
    runs: int = 0
    conversations: int = 0
    receipts: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.runs or self.receipts)
