"""The people who use a workspace together, and the tokens by which they are known.

A token is shown once, to whoever makes it; here only its SHA-256 is kept. Each question is one read of what is
committed, so a token that was taken away is refused from the next one on, in every process. Knows nothing about what a
role allows.
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import secrets
import unicodedata
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from sqlalchemy import Delete, Row, Update, bindparam, delete, insert, select, update

from veracity.errors import InputError, LedgerError, NotFoundError
from veracity.ledger.database import Database
from veracity.ledger.tables import users
from veracity.models import LOCAL, Role, User
from veracity.secrets import presentable

LONGEST_NAME = 500
BREAKING = ("Cc", "Zl", "Zp", "Cs")  # control characters, line breaks, halves of characters


def storable(name: str, whose: str, shortest: int) -> str:
    """In one spelling (NFC), however it was typed: names are compared. They also stand in lines of text: one that could
    only be stored as another one is refused, and so is one that would break the line."""
    if not isinstance(name, str):
        raise InputError(f"{whose} is named by text, not by {type(name).__name__}.")
    spelled = unicodedata.normalize("NFC", name)
    if not shortest <= len(spelled) <= LONGEST_NAME or any(unicodedata.category(one) in BREAKING for one in spelled):
        raise InputError(
            f"{whose} has a name of {shortest} to {LONGEST_NAME} characters, "
            "none of them a line break, a control character or half a character."
        )
    return spelled


def user_name(user: str) -> str:
    return storable(user, "A user", 0)


def decider_name(by: str) -> str:
    return storable(by, "Whoever decides", 0)


def rater_name(by: str) -> str:
    return storable(by, "Whoever rates", 0)


def conversation_name(conversation: str) -> str:
    return storable(conversation, "A conversation", 1)


TOKEN_PREFIX = "vt_"
TOKEN_BYTES = 32
LONGEST_TOKEN = 200  # characters; what is longer is none of ours
ROLES: tuple[Role, ...] = get_args(Role)
SEEN_EVERY = timedelta(hours=1)
# Letters of other scripts that look like Latin ones, as small or as capital letters.
LOOKALIKES = str.maketrans("авсенікмортухјѕԁһԛԝαβεζηικμνορτυχ", "abcehikmoptyxjsdhqwabezhikmnoptyx")
_BY_TOKEN = select(users).where(users.c.token_hash == bindparam("hash"))  # built once: it comes with every request


class Users:
    """Can be shared by threads, and a workspace by processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> builtins.list[User]:
        """In the order of their names."""
        if not self._database.is_there:
            return []
        with self._database.reading() as connection:
            return [_user(row) for row in connection.execute(select(users).order_by(users.c.name))]

    def any(self) -> bool:
        if not self._database.is_there:
            return False
        with self._database.reading() as connection:
            return connection.execute(select(users.c.name).limit(1)).first() is not None

    def who(self, token: str) -> User | None:
        """Whose token it is; None for whatever is nobody's. Hashes are looked up and compared, so the time it takes
        tells nothing about a token."""
        if not isinstance(token, str) or len(token) > LONGEST_TOKEN or not self._database.is_there:
            return None
        wanted = _hash(token)
        with self._database.reading() as connection:
            row = connection.execute(_BY_TOKEN, {"hash": wanted}).one_or_none()
        return _user(row) if row is not None and hmac.compare_digest(row.token_hash, wanted) else None

    def add(self, name: str, role: Role) -> str:
        """The token of the new user, which cannot be had again."""
        token = _new_token()
        new = _name(name)
        values = {"name": new, "role": _role(role), "token_hash": _hash(token), "created": datetime.now(UTC)}
        with self._database.writing() as connection:
            for known in connection.execute(select(users.c.name)).scalars():
                _require_other(new, known)
            connection.execute(insert(users), values)
        return token

    def seen(self, user: User) -> None:
        """Somebody was here: kept to the hour, and not at all where others write too long."""
        now = datetime.now(UTC)
        if user.last_seen is not None and now - user.last_seen < SEEN_EVERY:
            return
        with suppress(LedgerError), self._database.writing() as connection:
            connection.execute(update(users).where(users.c.name == user.name).values(last_seen=now))

    def remove(self, name: str) -> None:
        """The token is refused from now on. What the user asked and decided stays."""
        self._change(name, delete(users))

    def renew(self, name: str) -> str:
        """A new token; the old one is refused from now on."""
        token = _new_token()
        self._change(name, update(users).values(token_hash=_hash(token)))
        return token

    def change_role(self, name: str, role: Role) -> None:
        self._change(name, update(users).values(role=_role(role)))

    def _change(self, name: str, change: Update | Delete) -> None:
        known = _name(name)
        if self._database.is_there:
            with self._database.writing() as connection:
                if connection.execute(change.where(users.c.name == known)).rowcount:
                    return
        raise NotFoundError(f'There is no user "{presentable(known)}".')


def _name(name: str) -> str:
    """As any user's, and such that people who read it know who is meant: no unseen characters, no spaces around it. A
    token in its place, which somebody may paste, is not repeated."""
    spelled = storable(name, "A user", 1)
    if spelled.startswith(TOKEN_PREFIX):
        raise InputError(f'A user is known by a name, which does not begin with "{TOKEN_PREFIX}" as tokens do.')
    if not spelled.isprintable() or spelled != spelled.strip():
        raise InputError("The name of a user has no characters that cannot be seen, and no spaces around it.")
    if _looks(spelled) == _looks(LOCAL):
        raise InputError(f'"{LOCAL}" is the user of the command line, who needs no token: choose another name.')
    return spelled


def _require_other(new: str, known: str) -> None:
    """Whoever decides reads who asked: two users must not be taken for one."""
    if new == known:
        raise InputError(f'There is a user "{presentable(new)}" already: renew the token, or choose another name.')
    if _looks(new) == _looks(known):
        raise InputError(
            f'"{presentable(new)}" would be taken for the user "{presentable(known)}": choose another name.'
        )


def _looks(name: str) -> str:
    """What names have in common that people hardly tell apart: by width, by capitals, by letters of another script."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).translate(LOOKALIKES)


def _role(role: Role) -> Role:
    if role not in ROLES:
        raise InputError(
            f'The role of a user is {", ".join(ROLES[:-1])} or {ROLES[-1]}, not "{presentable(str(role))}".'
        )
    return role


def _new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _user(row: Row[Any]) -> User:
    return User(name=row.name, role=row.role, created=row.created, last_seen=row.last_seen)
