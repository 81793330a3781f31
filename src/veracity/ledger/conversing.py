"""The ledger's methods for conversations and for answers that are used again (SPEC D2, D4). Knows nothing about how a
conversation is understood."""

from __future__ import annotations

from veracity.ledger import conversations, finding, recalling
from veracity.ledger.database import Database
from veracity.ledger.names import conversation_name, user_name
from veracity.models import ConversationSummary, PastTurn, Remembered


class Conversing:
    """A part of Ledger. Each call is one transaction."""

    _database: Database

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        """The summary, and the turns that it does not hold; of those only the ones before this run's own."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.reading() as connection:
            return conversations.remembered(connection, asking, named, before_run)

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """It sums up the turns up to number `folded`. One that sums up no more than what is there changes nothing."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.writing() as connection:
            conversations.keep_summary(connection, asking, named, summary, folded)

    def past_turns(
        self,
        user: str,
        conversation: str | None,
        query: str,
        vector: bytes | None,
        limit: int,
        leave_out: str = "",
    ) -> list[PastTurn]:
        """Earlier answers to this user that bear on the query, the best first. Without a conversation: of all of his,
        and of single questions. `vector` is the query's, float32; `leave_out` is a run."""
        asking = user_name(user)
        named = None if conversation is None else conversation_name(conversation)
        if vector is not None:
            recalling.require_vector(vector)
        with self._database.reading() as connection:
            return recalling.matching(connection, asking, named, query, vector, limit, leave_out)

    def conversations(self, user: str, limit: int = 20, query: str = "", after: str = "") -> list[ConversationSummary]:
        """That with the newest turn first. With a query, those in which a turn holds all its words. Those that follow
        the conversation `after`, where one is named."""
        asking = user_name(user)
        with self._database.reading() as connection:
            if not query.strip():
                return conversations.listed(connection, asking, limit, after)
            fitting = finding.conversations_with(connection, asking, query)
            known = conversations.listed(connection, asking, None, after) if fitting else []
            return [one for one in known if one.conversation in fitting][:limit]

    def turns(
        self, user: str, conversation: str, limit: int = 50, *, to_show: bool = False, before: int | None = None
    ) -> list[PastTurn]:
        """The newest, or those just before the turn of this number, in the order in which they were asked. An answer
        that may not be used again is left out; with `to_show`, for people, only one that never went out."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.reading() as connection:
            return conversations.turns(connection, asking, named, limit, to_show=to_show, before=before)
