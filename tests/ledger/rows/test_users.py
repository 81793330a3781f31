"""Who may use a workspace, and by which token they are known."""

import hashlib
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.ledger.material import bytes_of
from veracity.engine import Veracity
from veracity.errors import InputError, NotFoundError, VeracityError
from veracity.ledger import Ledger, Users
from veracity.models import Role


@pytest.fixture
def users(ledger: Ledger) -> Users:
    return ledger.users


def test_a_token_tells_who_somebody_is(users: Users) -> None:
    tokens = {name: users.add(name, "asker") for name in ("ann", "王芳", "佐藤 花子")}
    approver = users.add("bob", "approver")
    assert {name: users.who(token).name for name, token in tokens.items() if users.who(token)} == {  # type: ignore[union-attr]
        name: name for name in tokens
    }
    found = users.who(approver)
    assert found is not None and (found.name, found.role, found.created.tzinfo is not None) == ("bob", "approver", True)
    assert [one.name for one in users.list()] == ["ann", "bob", "佐藤 花子", "王芳"]


def test_a_token_is_random_and_only_its_hash_is_kept(users: Users, tmp_path: Path) -> None:
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
def test_what_is_nobodys_token_is_nobody(users: Users, garbage: Any) -> None:
    assert users.who(garbage) is None  # before there is a ledger
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


def test_nothing_is_made_by_looking(users: Users, tmp_path: Path) -> None:
    assert (users.list(), users.any(), users.who("vt_x")) == ([], False, None)
    for change in (users.remove, users.renew, lambda name: users.change_role(name, "admin")):
        with pytest.raises(NotFoundError, match='There is no user "ann"'):
            change("ann")
    assert not (tmp_path / "ledger").exists()
    users.add("ann", "asker")
    assert users.any()


def test_a_token_that_was_taken_away_is_refused_at_once_in_every_process(ledger: Ledger, tmp_path: Path) -> None:
    """Another ledger on the same folder shares nothing with this one but the file."""
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


def test_who_comes_back_has_another_token(users: Users) -> None:
    old = users.add("ann", "admin")
    with pytest.raises(InputError, match='There is a user "ann" already'):
        users.add("ann", "asker")
    assert users.who(old) is not None
    users.remove("ann")
    new = users.add("ann", "asker")
    assert users.who(old) is None
    found = users.who(new)
    assert found is not None and found.role == "asker"


def test_of_many_who_add_the_same_name_one_does(users: Users) -> None:
    given: list[str] = []
    refused: list[str] = []

    def add() -> None:
        try:
            given.append(users.add("ann", "asker"))
        except InputError as problem:
            refused.append(str(problem))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(given), len(refused)) == (1, 7)
    assert users.who(given[0]) is not None


@pytest.mark.parametrize("name", ["local", "LOCAL", "Local", "ｌｏｃａｌ", "lосаl"])
def test_the_user_of_the_command_line_cannot_be_added(users: Users, name: str) -> None:
    with pytest.raises(InputError, match="is the user of the command line"):
        users.add(name, "asker")


@pytest.mark.parametrize(
    "name", ["", "x" * 501, "a\nb", "a\0", "half \ud83d", " ", " ann", "ann ", "an\u200bn", "\u202enna"]
)
def test_a_name_that_people_could_not_tell_apart_is_refused(users: Users, name: str) -> None:
    with pytest.raises(InputError, match="A user has a name of 1 to 500|characters that cannot be seen"):
        users.add(name, "asker")
    assert users.list() == []


def test_a_name_has_one_spelling_however_it_is_typed(ledger: Ledger) -> None:
    """As on a Mac, where a letter and its accent, or its voicing mark, come as two characters."""
    for composed in ("José", "がもう"):
        typed = unicodedata.normalize("NFD", composed)
        assert typed != composed
        found = ledger.users.who(ledger.users.add(typed, "asker"))
        assert found is not None and found.name == composed
        ledger.begin(composed, "Q?", typed, "en", {}, conversation=unicodedata.normalize("NFD", "café"))
        assert [run.user for run in ledger.runs(user=typed)] == [run.user for run in ledger.runs(user=composed)]
        assert [one.conversation for one in ledger.conversations(typed)] == ["café"]
        assert len(ledger.turns(composed, "café")) == len(ledger.runs(user=composed)) == 1
        ledger.users.change_role(typed, "admin")
        ledger.users.remove(composed)
    assert ledger.users.list() == []


@pytest.mark.parametrize(
    ("there", "new"),
    [("Anna", "anna"), ("Anna", "Ａｎｎａ"), ("Anna", "Аnna"), ("JOSÉ", "josé"), ("ｶﾅ", "カナ"), ("straße", "STRASSE")],
)
def test_a_name_that_would_be_taken_for_another_is_refused(users: Users, there: str, new: str) -> None:
    users.add(there, "approver")
    with pytest.raises(InputError, match=f'"{new}" would be taken for the user "{there}"'):
        users.add(new, "asker")
    for other in ("Hanna", "カノ", "ann a", "王芳", "Ивана"):
        users.add(other, "asker")


def test_when_somebody_was_last_here_is_kept_to_the_hour(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    token = users.add("ann", "asker")
    found = users.who(token)
    assert found is not None and found.last_seen is None
    users.seen(found)
    (seen,) = users.list()
    assert seen.last_seen is not None and users.who(token) == seen
    users.seen(seen)
    assert users.list() == [seen]
    users.seen(seen.model_copy(update={"last_seen": seen.last_seen - timedelta(hours=1)}))
    (later,) = users.list()
    assert later.last_seen is not None and later.last_seen > seen.last_seen


def test_names_are_text(ledger: Ledger) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda one: ledger.runs(user=one),
        lambda one: ledger.approvals(user=one),
        ledger.conversations,
        lambda one: ledger.turns("ann", one),
        lambda one: ledger.forget_conversation("ann", one),
        ledger.users.remove,
    ]
    for call in calls:
        with pytest.raises(InputError, match="is named by text, not by int"):
            call(1)


@pytest.mark.parametrize("role", ["", "Admin", "root", None, 3, "asker "])
def test_there_are_three_roles(users: Users, role: Any) -> None:
    users.add("ann", "asker")
    for change in (lambda: users.add("bob", cast(Role, role)), lambda: users.change_role("ann", cast(Role, role))):
        with pytest.raises(InputError, match="The role of a user is asker, approver or admin, not"):
            change()
    assert [one.role for one in users.list()] == ["asker"]


def test_no_error_repeats_a_token(users: Users) -> None:
    """Somebody pastes it in the place of a name."""
    for number in range(50):
        token = users.add(f"user{number}", "asker")
        calls: list[Callable[[str], object]] = [users.remove, users.renew, lambda name: users.add(name, "asker")]
        for call in calls:
            with pytest.raises(VeracityError) as refused:
                call(token)
            assert token[3:12] not in str(refused.value)


def test_hostile_names_are_values_and_nothing_else(users: Users) -> None:
    names = ["'; DROP TABLE users; --", 'a"b', "%", "_", "\\", "x' OR '1'='1"]
    tokens = [users.add(name, "asker") for name in names]
    for name, token in zip(names, tokens, strict=True):
        found = users.who(token)
        assert found is not None and found.name == name
        users.remove(name)
        assert users.who(token) is None
    assert users.list() == []


def test_who_is_quick_among_many(users: Users, tmp_path: Path) -> None:
    """It comes with every request: one look-up in an index, whatever there is besides."""
    token = users.add("ann", "asker")
    with closing(sqlite3.connect(tmp_path / "ledger" / "ledger.sqlite")) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM users WHERE token_hash = 'x'").fetchall()
        assert "USING INDEX" in plan[0][3] and "token_hash=?" in plan[0][3]
    took = []
    for _ in range(50):
        begun = time.perf_counter()
        users.who(token)
        took.append(time.perf_counter() - begun)
    assert min(took) < 0.005  # 0.2 ms where nothing else runs


def test_the_engine_knows_them_without_loading_langgraph(workspace: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys; from veracity.engine import Veracity\n"
        f"engine = Veracity({str(workspace)!r}); token = engine.users.add('ann', 'admin')\n"
        "print(engine.users.who(token).name, [name for name in ('langgraph', 'langchain_core') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "ann []"
    with Veracity(workspace) as engine:
        assert [one.name for one in engine.users.list()] == ["ann"]
