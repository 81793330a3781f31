"""Recognizes a conversation by what was said in it: OpenAI's clients send that with every question, and no name.

The ledger is what is compared with, so that it works after a restart and in any process. Knows nothing about HTTP.
"""

from __future__ import annotations

import secrets
from itertools import groupby

from veracity.engine import Veracity
from veracity.models import PastTurn, User
from veracity.providers.texts import encodable
from veracity.server.chat import Exchange

RECENT = 500  # conversations of the caller among which it is looked for
ALIKE = 20  # of these with the same first question that are compared
LONGEST = 1000  # turns of a conversation that is compared


def conversation_of(engine: Veracity, caller: User, before: list[Exchange], question: str) -> str:
    """The name of the caller's whose turns are these; else a new one, to which the earlier turns are not known."""
    new = f"chat-{secrets.token_hex(8)}"
    if not before:
        return new
    first = _asked(before[0].question)
    known = engine.conversations(user=caller.name, limit=RECENT)
    alike = [one for one in known if one.title == first and one.turns <= LONGEST][:ALIKE]
    fits = [
        (_likeness(engine.turns(one.conversation, user=caller.name, limit=LONGEST), before, question), one.conversation)
        for one in alike
    ]
    best = max(fits, key=lambda fit: fit[0], default=(-1, new))  # the latest of those that fit as well
    return best[1] if best[0] >= 0 else new


def _likeness(turns: list[PastTurn], before: list[Exchange], question: str) -> int:
    """How many answers are those that were given; -1 where the questions are others. A question that was put again at
    once, as clients do for another answer, is one."""
    known = [list(group) for _, group in groupby(turns, lambda turn: turn.question)]
    said = [list(group) for _, group in groupby(before, lambda one: _asked(one.question))]
    if len(known) == len(said) + 1 and known[-1][0].question == _asked(question):
        known.pop()  # this question was asked already, and its answer is to be another
    if [group[0].question for group in known] != [_asked(group[0].question) for group in said]:
        return -1
    pairs = zip(known, said, strict=True)
    return sum(any(_gave(turn, one.answer) for turn in group for one in told) for group, told in pairs)


def _gave(turn: PastTurn, said: str) -> bool:
    """Sources may stand below the answer. Where a person was asked, its text named the run."""
    answer = " ".join(turn.answer.split())
    return turn.run_id in said or (bool(answer) and " ".join(said.split()).startswith(answer))


def _asked(question: str) -> str:
    """As the ledger keeps it."""
    return encodable(question.strip())
