"""The users of a shared workspace and their tokens.

A token is shown once, when it is created; the table holds its SHA-256 only. Every request reads the table, so a
removed token is refused from then on, in every process.
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import secrets
import unicodedata
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Delete, Row, Update, bindparam, delete, insert, select, update

from veracity.errors import InputError, LastAdminError, LedgerError, NotFoundError
from veracity.ledger.database import Database
from veracity.ledger.journal import Journal
from veracity.ledger.rows import upload_lists
from veracity.ledger.tables import MAX_NAME_LENGTH, normalize_name, users
from veracity.models import LOCAL, Role, User
from veracity.models.people import EXPERIMENT_PREFIX, is_experiment
from veracity.secrets import presentable

TOKEN_PREFIX = "vt_"
TOKEN_BYTES = 32
MAX_TOKEN_LENGTH = 200
SEEN_INTERVAL = timedelta(hours=1)
# Cyrillic and Greek letters that look like Latin ones, in lower or upper case.
LOOKALIKES = str.maketrans("авсенікмортухјѕԁһԛԝαβεζηικμνορτυχ", "abcehikmoptyxjsdhqwabezhikmnoptyx")
_BY_TOKEN = select(users).where(users.c.token_hash == bindparam("hash"))  # a constant: it runs for every request


class Users:
    """Can be shared by threads, and a workspace by processes."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal

    def list(self) -> builtins.list[User]:
        """All users, sorted by name."""
        with self._database.reading() as connection:
            return [_user(row) for row in connection.execute(select(users).order_by(users.c.name))]

    def any(self) -> bool:
        with self._database.reading() as connection:
            return connection.execute(select(users.c.name).limit(1)).first() is not None

    def who(self, token: str) -> User | None:
        """The user with this token. Compares hashes, so that the time it takes reveals nothing about valid tokens."""
        if not isinstance(token, str) or len(token) > MAX_TOKEN_LENGTH or not self._database.exists:
            return None
        wanted = _hash(token)
        with self._database.reading() as connection:
            row = connection.execute(_BY_TOKEN, {"hash": wanted}).one_or_none()
        return _user(row) if row is not None and hmac.compare_digest(row.token_hash, wanted) else None

    def add(self, name: str, role: Role) -> str:
        """The token of the new user. It cannot be read again."""
        token, name = _new_token(), _valid_name(name)
        values = {"name": name, "role": _valid_role(role), "token_hash": _hash(token), "created": datetime.now(UTC)}
        with self._database.writing(exclusive=True) as connection:  # two names that look alike are two rows
            for existing in connection.execute(select(users.c.name)).scalars():
                _require_distinct(name, existing)
            connection.execute(insert(users), values)
        return token

    @staticmethod
    def is_token(token: str) -> bool:
        """Whether it has the form of a user's token, valid or not."""
        return token.startswith(TOKEN_PREFIX)

    def mark_seen(self, user: User) -> None:
        """Store the time of the last request, to the hour. Skipped while the ledger is busy."""
        now = datetime.now(UTC)
        if user.last_seen is not None and now - user.last_seen < SEEN_INTERVAL:
            return
        with suppress(LedgerError), self._database.writing() as connection:
            connection.execute(update(users).where(users.c.name == user.name).values(last_seen=now))

    def remove(self, name: str, *, keeps_admin: bool = False) -> None:
        """Revokes the token and removes the list of the last upload. The user's questions and decisions stay. With
        `keeps_admin`, raises `LastAdminError` for the only admin."""
        self._revoke(name, delete(users), "user", keeps_admin)
        with self._database.writing() as connection:
            upload_lists.remove_user(connection, name)

    def renew(self, name: str) -> str:
        """A new token, which replaces the old one."""
        token = _new_token()
        self._revoke(name, update(users).values(token_hash=_hash(token)), "token", keeps_admin=False)
        return token

    def change_role(self, name: str, role: Role, *, keeps_admin: bool = False) -> None:
        """With `keeps_admin`, raises `LastAdminError` if no admin would be left."""
        self._change(name, update(users).values(role=_valid_role(role)), keeps_admin and role != "admin")

    def revoke(self, token_hash: str) -> builtins.list[str]:
        """Replace this token by one that nobody has. Returns the name of its user."""
        of_token = users.c.token_hash == token_hash
        with self._database.writing() as connection:
            names = connection.execute(select(users.c.name).where(of_token)).scalars().all()
            connection.execute(update(users).where(of_token).values(token_hash=_hash(_new_token())))
        return [*names]

    def _revoke(self, name: str, change: Update | Delete, kind: Literal["user", "token"], keeps_admin: bool) -> None:
        """The journal says which token, so that a restored backup does not make it valid again."""
        name = _valid_name(name)
        if self._token_hash(name) is None:
            raise _unknown(name)
        with self._journal.forgetting() as record:
            if keeps_admin:  # before it is recorded
                with self._database.reading() as connection:
                    _require_other_admin(connection, name)
            if token_hash := self._token_hash(name):
                record(kind, [name if kind == "user" else token_hash])
            self._change(name, change, keeps_admin)

    def _token_hash(self, name: str) -> str | None:
        with self._database.reading() as connection:
            return connection.execute(select(users.c.token_hash).where(users.c.name == name)).scalar()

    def _change(self, name: str, change: Update | Delete, keeps_admin: bool) -> None:
        name = _valid_name(name)
        if self._database.exists:
            with self._database.writing(exclusive=keeps_admin) as connection:  # two admins may remove each other
                if keeps_admin:
                    _require_other_admin(connection, name)
                if connection.execute(change.where(users.c.name == name)).rowcount:
                    return
        raise _unknown(name)


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f'There is no user "{presentable(name)}".')


def _require_other_admin(connection: Connection, name: str) -> None:
    if connection.execute(select(users.c.name).where(users.c.role == "admin")).scalars().all() == [name]:
        raise LastAdminError(f"{presentable(name)} is the only admin: make somebody else an admin first.")


def _valid_name(name: str) -> str:
    """Raises `InputError` for a name that people could misread. A token pasted as a name is not repeated."""
    name = normalize_name(name, "a user", 1)
    if name.startswith(TOKEN_PREFIX):
        message = f'The name of a user must not start with "{TOKEN_PREFIX}", which is how tokens start.'
        raise InputError(message, "name_reserved", name=TOKEN_PREFIX)
    if not name.isprintable() or name != name.strip():
        message = "The name of a user must not contain invisible characters or start or end with a space."
        raise InputError(message, "name_invalid", n=MAX_NAME_LENGTH)
    if _appearance(name) == _appearance(LOCAL):
        message = f'"{LOCAL}" is the user of the command line, who needs no token: choose another name.'
        raise InputError(message, "name_reserved", name=LOCAL)
    if is_experiment(_appearance(name)):
        message = f'The name of a user must not start with "{EXPERIMENT_PREFIX}": experiments use such names.'
        raise InputError(message, "name_reserved", name=EXPERIMENT_PREFIX)
    return name


def _require_distinct(name: str, existing: str) -> None:
    """An approver reads who asked, so no two users may look alike."""
    if name == existing:
        message = f'The user "{presentable(name)}" exists already: renew the token, or choose another name.'
        raise InputError(message, "name_taken", name=presentable(name))
    if _appearance(name) == _appearance(existing):
        message = f'"{presentable(name)}" looks like the user "{presentable(existing)}": choose another name.'
        raise InputError(message, "name_similar", name=presentable(name), other=presentable(existing))


def _appearance(name: str) -> str:
    """Equal for names that differ only by width, case or letters of another script that look the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).translate(LOOKALIKES)


def _valid_role(role: Role) -> Role:
    if role not in get_args(Role):
        raise InputError(f'The role of a user must be asker, approver or admin, not "{presentable(str(role))}".')
    return role


def _new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _user(row: Row[Any]) -> User:
    return User(name=row.name, role=row.role, created=row.created, last_seen=row.last_seen)
