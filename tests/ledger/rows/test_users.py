"""Users, their names, roles and tokens."""

import hashlib
import re
import sqlite3
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.ledger.material import begin, bytes_of
from veracity.engine import Veracity
from veracity.errors import InputError, LastAdminError, NotFoundError, VeracityError
from veracity.ledger import Ledger, Users
from veracity.models import Role


@pytest.fixture
def users(ledger: Ledger) -> Users:
    return ledger.users


def test_a_token_identifies_its_user(users: Users) -> None:
    tokens = {name: users.add(name, "asker") for name in ("ann", "王芳", "佐藤 花子")}
    approver = users.add("bob", "approver")
    assert {name: users.who(token).name for name, token in tokens.items() if users.who(token)} == {  # type: ignore[union-attr]
        name: name for name in tokens
    }
    found = users.who(approver)
    assert found is not None and (found.name, found.role, found.created.tzinfo is not None) == ("bob", "approver", True)
    assert [user.name for user in users.list()] == ["ann", "bob", "佐藤 花子", "王芳"]


def test_a_token_is_random_and_only_its_hash_is_stored(users: Users, tmp_path: Path) -> None:
    tokens = [users.add(f"user{number}", "asker") for number in range(20)]
    assert len(set(tokens)) == 20
    assert all(re.fullmatch(r"vt_[A-Za-z0-9_-]{43}", token) for token in tokens)
    content = bytes_of(tmp_path)
    for token in tokens:
        assert token.encode() not in content and token[3:].encode() not in content
        assert hashlib.sha256(token.encode()).hexdigest().encode() in content


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        " ",
        "vt_",
        "x",
        "\0",
        "half \ud83d",
        "vt_" + "x" * 43,
        "x" * 10_000_000,
        "' OR 1=1 --",
        "%",
        None,
        7,
        b"vt_",
        [],
    ],
    ids=lambda garbage: repr(garbage)[:20],
)
def test_an_invalid_token_identifies_nobody(users: Users, garbage: Any) -> None:
    assert users.who(garbage) is None  # before the ledger exists
    token = users.add("ann", "admin")
    assert users.who(garbage) is None
    for almost in (
        token[:-1],
        token + "=",
        token.upper(),
        f" {token}",
        token[3:],
        hashlib.sha256(token.encode()).hexdigest(),
    ):
        assert users.who(almost) is None


def test_reading_users_creates_no_files(users: Users, tmp_path: Path) -> None:
    assert (users.list(), users.any(), users.who("vt_x")) == ([], False, None)
    for change in (users.remove, users.renew, lambda name: users.change_role(name, "admin")):
        with pytest.raises(NotFoundError, match='There is no user "ann"'):
            change("ann")
    assert not (tmp_path / "ledger").exists()
    users.add("ann", "asker")
    assert users.any()


def test_a_revoked_token_is_refused_in_every_process(ledger: Ledger, tmp_path: Path) -> None:
    """Another ledger on the same folder shares only the file."""
    other = Ledger(tmp_path / "ledger")
    token = ledger.users.add("ann", "asker")
    assert other.users.who(token) is not None
    renewed = ledger.users.renew("ann")
    assert other.users.who(token) is None
    assert other.users.who(renewed) is not None
    ledger.users.change_role("ann", "approver")
    found = other.users.who(renewed)
    assert found is not None and found.role == "approver"
    ledger.users.remove("ann")
    assert other.users.who(renewed) is None
    assert not other.users.any()
    other.close()


def test_a_user_who_is_added_again_gets_a_new_token(users: Users) -> None:
    old = users.add("ann", "admin")
    with pytest.raises(InputError, match='The user "ann" exists already'):
        users.add("ann", "asker")
    assert users.who(old) is not None
    users.remove("ann")
    new = users.add("ann", "asker")
    assert users.who(old) is None
    found = users.who(new)
    assert found is not None and found.role == "asker"


def test_of_concurrent_additions_of_a_name_one_succeeds(users: Users) -> None:
    tokens: list[str] = []
    refused: list[str] = []

    def add() -> None:
        try:
            tokens.append(users.add("ann", "asker"))
        except InputError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(tokens), len(refused)) == (1, 7)
    assert users.who(tokens[0]) is not None


@pytest.mark.parametrize("name", ["local", "LOCAL", "Local", "ｌｏｃａｌ", "lосаl"])
def test_the_user_of_the_command_line_cannot_be_added(users: Users, name: str) -> None:
    with pytest.raises(InputError, match="is the user of the command line"):
        users.add(name, "asker")


@pytest.mark.parametrize(
    "name", ["", "x" * 501, "a\nb", "a\0", "half \ud83d", " ", " ann", "ann ", "an\u200bn", "\u202enna"]
)
def test_an_unreadable_name_is_refused(users: Users, name: str) -> None:
    with pytest.raises(InputError, match="The name of a user must have 1 to 500|must not contain invisible characters"):
        users.add(name, "asker")
    assert users.list() == []


def test_names_are_normalized(ledger: Ledger) -> None:
    """macOS sends a letter and its accent, or its voicing mark, as two characters."""
    for composed in ("José", "がもう"):
        typed = unicodedata.normalize("NFD", composed)
        assert typed != composed
        found = ledger.users.who(ledger.users.add(typed, "asker"))
        assert found is not None and found.name == composed
        begin(ledger, composed, "Q?", typed, unicodedata.normalize("NFD", "café"))
        assert [run.user for run in ledger.runs(user=typed)] == [run.user for run in ledger.runs(user=composed)]
        assert [summary.conversation for summary in ledger.conversations(typed)] == ["café"]
        assert len(ledger.turns(composed, "café")) == len(ledger.runs(user=composed)) == 1
        ledger.users.change_role(typed, "admin")
        ledger.users.remove(composed)
    assert ledger.users.list() == []


@pytest.mark.parametrize(
    ("existing", "new"),
    [("Anna", "anna"), ("Anna", "Ａｎｎａ"), ("Anna", "Аnna"), ("JOSÉ", "josé"), ("ｶﾅ", "カナ"), ("straße", "STRASSE")],
)
def test_a_name_that_looks_like_another_is_refused(users: Users, existing: str, new: str) -> None:
    users.add(existing, "approver")
    with pytest.raises(InputError, match=f'"{new}" looks like the user "{existing}"'):
        users.add(new, "asker")
    for other in ("Hanna", "カノ", "ann a", "王芳", "Ивана"):
        users.add(other, "asker")


def test_the_last_request_is_stored_to_the_hour(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    token = users.add("ann", "asker")
    found = users.who(token)
    assert found is not None and found.last_seen is None
    users.mark_seen(found)
    (seen,) = users.list()
    assert seen.last_seen is not None and users.who(token) == seen
    users.mark_seen(seen)
    assert users.list() == [seen]
    users.mark_seen(seen.model_copy(update={"last_seen": seen.last_seen - timedelta(hours=1)}))
    (later,) = users.list()
    assert later.last_seen is not None and later.last_seen > seen.last_seen


def test_names_must_be_text(ledger: Ledger) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda name: ledger.runs(user=name),
        lambda name: ledger.approvals(user=name),
        ledger.conversations,
        lambda name: ledger.turns("ann", name),
        lambda name: ledger.forget_conversation("ann", name),
        ledger.users.remove,
    ]
    for call in calls:
        with pytest.raises(InputError, match="must be text, not int"):
            call(1)


@pytest.mark.parametrize("role", ["", "Admin", "root", None, 3, "asker "])
def test_an_unknown_role_is_refused(users: Users, role: Any) -> None:
    users.add("ann", "asker")
    for change in (lambda: users.add("bob", cast(Role, role)), lambda: users.change_role("ann", cast(Role, role))):
        with pytest.raises(InputError, match="The role of a user must be asker, approver or admin, not"):
            change()
    assert [user.role for user in users.list()] == ["asker"]


def test_no_error_repeats_a_token(users: Users) -> None:
    """A token may be pasted as a name."""
    for number in range(50):
        token = users.add(f"user{number}", "asker")
        calls: list[Callable[[str], object]] = [users.remove, users.renew, lambda name: users.add(name, "asker")]
        for call in calls:
            with pytest.raises(VeracityError) as refused:
                call(token)
            assert token[3:12] not in str(refused.value)


def test_hostile_names_are_stored_literally(users: Users) -> None:
    names = ["'; DROP TABLE users; --", 'a"b', "%", "_", "\\", "x' OR '1'='1"]
    tokens = [users.add(name, "asker") for name in names]
    for name, token in zip(names, tokens, strict=True):
        found = users.who(token)
        assert found is not None and found.name == name
        users.remove(name)
        assert users.who(token) is None
    assert users.list() == []


@pytest.mark.only_sqlite
def test_a_token_lookup_uses_an_index(users: Users, tmp_path: Path) -> None:
    users.add("ann", "asker")
    with closing(sqlite3.connect(tmp_path / "ledger" / "ledger.sqlite")) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM users WHERE token_hash = 'x'").fetchall()
        assert "USING INDEX" in plan[0][3] and "token_hash=?" in plan[0][3]


@pytest.mark.only_sqlite
def test_the_engine_authenticates_without_importing_langgraph(workspace: Path) -> None:
    program = (
        "import sys; from veracity.engine import Veracity\n"
        f"engine = Veracity({str(workspace)!r}); token = engine.users.add('ann', 'admin')\n"
        "print(engine.users.who(token).name, [name for name in ('langgraph', 'langchain_core') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "ann []"
    with Veracity(workspace) as engine:
        assert [user.name for user in engine.users.list()] == ["ann"]


def test_the_only_admin_can_be_kept(users: Users, ledger: Ledger) -> None:
    users.add("ada", "admin")
    users.add("ann", "asker")
    with pytest.raises(LastAdminError, match="ada is the only admin"):
        users.remove("ada", keeps_admin=True)
    with pytest.raises(LastAdminError, match="ada is the only admin"):
        users.change_role("ada", "approver", keeps_admin=True)
    assert ledger.journal.entries() == [], "nothing is recorded as forgotten"
    users.remove("ann", keeps_admin=True)
    users.change_role("ada", "asker")  # the command line may
    assert [user.role for user in users.list()] == ["asker"]
