"""`users`: who may use the workspace, managed from the command line."""

import json
import re
from pathlib import Path

import pytest

from tests.commands import Run
from veracity.cli.app import LOCAL as OF_OPTIONS
from veracity.engine import Veracity
from veracity.models import LOCAL

TOKEN = re.compile(r"vt_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def ours(workspace: Path) -> Path:
    (workspace / "veracity.toml").write_text("")
    return workspace


def test_a_user_is_added_and_the_token_shown_once(run: Run, ours: Path) -> None:
    ran = run("users", "add", "王芳", "--role", "approver", "-w", ours)
    assert ran.code == 0
    assert TOKEN.fullmatch(ran.out), "the token alone, so that it can be piped on"
    assert "Added 王芳, approver." in ran.err and "shown only now" in ran.err and ran.out.strip() not in ran.err
    with Veracity(ours) as engine:
        found = engine.users.who(ran.out.strip())
    assert found is not None and (found.name, found.role) == ("王芳", "approver")
    assert ran.out.strip() not in run("users", "-w", ours).out


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("", ""),
        ('host = "192.0.2.7"', "http://192.0.2.7:8347"),
        ("port = 9000", "http://127.0.0.1:9000"),
        ('host = "fd00::7"\nport = 80', "http://[fd00::7]:80"),
        ('host = "0.0.0.0"', ""),
        ('host = "0.0.0.0"\nallowed_hosts = ["answers.example.com"]', "http://answers.example.com:8347"),
        ('port = 9000\nallowed_hosts = ["answers.example.com"]', ""),  # a proxy's address is not ours to know
        ("port = 0", ""),
    ],
)
def test_the_address_to_hand_over_is_told_where_the_settings_name_it(
    run: Run, ours: Path, server: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ours / "veracity.toml").write_text(f"[server]\n{server}\n")
    ran = run("users", "add", "ann", "--role", "asker", "-w", ours)
    assert TOKEN.fullmatch(ran.out) and ran.out.strip() not in ran.err
    assert re.findall(r"http\S+", ran.err) == ([f"{address}/#token=TOKEN"] if address else [])


def test_whoever_is_at_the_command_line_has_one_name() -> None:
    assert OF_OPTIONS == LOCAL


def test_users_are_listed(run: Run, ours: Path) -> None:
    assert "no users yet" in run("users", "-w", ours).out
    assert json.loads(run("users", "list", "-w", ours, "--json").out) == []
    for name, role in (("bob", "admin"), ("佐藤", "asker")):
        run("users", "add", name, "--role", role, "-w", ours)
    for command in (("users",), ("users", "list")):
        ran = run(*command, "-w", ours)
        assert ran.code == 0
        for word in ("bob", "admin", "佐藤", "asker", "never"):
            assert word in ran.out
        known = json.loads(run(*command, "-w", ours, "--json").out)
        assert [(one["name"], one["role"]) for one in known] == [("bob", "admin"), ("佐藤", "asker")]
        assert all(set(one) == {"name", "role", "created", "last_seen"} for one in known)
    before = run("users", "--json", "-w", ours, "list")  # options of the group hold for its commands
    assert [one["name"] for one in json.loads(before.out)] == ["bob", "佐藤"]


def test_a_token_is_renewed_a_role_changed_and_a_user_removed(run: Run, ours: Path) -> None:
    first = run("users", "add", "ann", "--role", "asker", "-w", ours).out.strip()
    renewed = run("users", "renew", "ann", "-w", ours)
    assert renewed.code == 0 and TOKEN.fullmatch(renewed.out) and "shown only now" in renewed.err
    assert run("users", "role", "ann", "admin", "-w", ours).code == 0
    with Veracity(ours) as engine:
        assert engine.users.who(first) is None
        found = engine.users.who(renewed.out.strip())
        assert found is not None and found.role == "admin"
        assert run("users", "remove", "ann", "-w", ours).code == 0
        assert engine.users.who(renewed.out.strip()) is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "bob", "--role", "root"), 'The role of a user is asker, approver or admin, not "root".'),
        (("add", "ann", "--role", "asker"), 'There is a user "ann" already'),
        (("add", "local", "--role", "asker"), '"local" is the user of the command line'),
        (("add", " ", "--role", "asker"), "no spaces around it"),
        (("role", "ann", "owner"), "The role of a user is"),
        (("role", "bob", "admin"), 'There is no user "bob".'),
        (("remove", "bob"), 'There is no user "bob".'),
        (("renew", "bob"), 'There is no user "bob".'),
    ],
)
def test_bad_input_is_one_sentence_and_exits_with_2(
    run: Run, ours: Path, arguments: tuple[str, ...], told: str
) -> None:
    run("users", "add", "ann", "--role", "asker", "-w", ours)
    ran = run("users", *arguments, "-w", ours)
    assert (ran.code, ran.out) == (2, "")
    assert told in " ".join(ran.err.split()) and len(ran.err.strip().splitlines()) == 1
    with Veracity(ours) as engine:
        assert [(one.name, one.role) for one in engine.users.list()] == [("ann", "asker")]


def test_a_token_in_the_place_of_a_name_is_not_repeated(run: Run, ours: Path) -> None:
    token = run("users", "add", "ann", "--role", "asker", "-w", ours).out.strip()
    for arguments in (("remove", token), ("renew", token), ("role", token, "admin"), ("add", token, "--role", "admin")):
        ran = run("users", *arguments, "-w", ours)
        assert ran.code == 2 and token not in ran.out + ran.err


def test_a_folder_that_is_no_workspace_is_not_made_one(run: Run, tmp_path: Path) -> None:
    for place in (tmp_path / "elsewhere", tmp_path / "nothing"):
        ran = run("users", "add", "ann", "--role", "asker", "-w", place)
        assert ran.code == 2 and ran.out == ""
    assert list((tmp_path / "elsewhere").iterdir()) == [] and not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("command", [(), ("list",), ("add",), ("remove",), ("renew",), ("role",)])
def test_every_command_explains_itself(run: Run, command: tuple[str, ...]) -> None:
    ran = run("users", *command, "--help")
    assert ran.code == 0 and "Usage: veracity users" in ran.out
