"""`veracity users`."""

import json
import re
from pathlib import Path

import pytest

from tests.commands import Run
from veracity.cli.options import LOCAL as OF_OPTIONS
from veracity.engine import Veracity
from veracity.models import LOCAL

TOKEN = re.compile(r"vt_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def ours(workspace: Path) -> Path:
    (workspace / "veracity.toml").write_text("")
    return workspace


def test_added_user_gets_a_token_shown_once(run: Run, ours: Path) -> None:
    ran = run("users", "add", "王芳", "--role", "approver", "-w", ours)
    assert ran.code == 0
    assert TOKEN.fullmatch(ran.out), "only the token, so that it can be piped"
    assert "Added 王芳, approver." in ran.err and "shown only once" in ran.err and ran.out.strip() not in ran.err
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
        ('port = 9000\nallowed_hosts = ["answers.example.com"]', ""),  # the proxy's address is unknown
        ("port = 0", ""),
    ],
)
def test_sign_in_address_is_shown_if_settings_determine_it(
    run: Run, ours: Path, server: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ours / "veracity.toml").write_text(f"[server]\n{server}\n")
    ran = run("users", "add", "ann", "--role", "asker", "-w", ours)
    assert TOKEN.fullmatch(ran.out) and ran.out.strip() not in ran.err
    assert re.findall(r"http\S+", ran.err) == ([f"{address}/#token=TOKEN"] if address else [])


def test_local_user_has_the_same_name_as_in_models() -> None:
    assert OF_OPTIONS == LOCAL


def test_list(run: Run, ours: Path) -> None:
    assert "no users yet" in run("users", "-w", ours).out
    assert json.loads(run("users", "list", "-w", ours, "--json").out) == []
    for name, role in (("bob", "admin"), ("佐藤", "asker")):
        run("users", "add", name, "--role", role, "-w", ours)
    for command in (("users",), ("users", "list")):
        ran = run(*command, "-w", ours)
        assert ran.code == 0
        for word in ("bob", "admin", "佐藤", "asker", "never"):
            assert word in ran.out
        users = json.loads(run(*command, "-w", ours, "--json").out)
        assert [(user["name"], user["role"]) for user in users] == [("bob", "admin"), ("佐藤", "asker")]
        assert all(set(user) == {"name", "role", "created", "last_seen"} for user in users)
    before = run("users", "--json", "-w", ours, "list")  # options of the group apply to its commands
    assert [user["name"] for user in json.loads(before.out)] == ["bob", "佐藤"]


def test_renew_role_and_remove(run: Run, ours: Path) -> None:
    first = run("users", "add", "ann", "--role", "asker", "-w", ours).out.strip()
    renewed = run("users", "renew", "ann", "-w", ours)
    assert renewed.code == 0 and TOKEN.fullmatch(renewed.out) and "shown only once" in renewed.err
    assert run("users", "role", "ann", "admin", "-w", ours).code == 0
    with Veracity(ours) as engine:
        assert engine.users.who(first) is None
        found = engine.users.who(renewed.out.strip())
        assert found is not None and found.role == "admin"
        assert run("users", "remove", "ann", "-w", ours).code == 0
        assert engine.users.who(renewed.out.strip()) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("add", "bob", "--role", "root"), 'The role of a user must be asker, approver or admin, not "root".'),
        (("add", "ann", "--role", "asker"), 'The user "ann" exists already'),
        (("add", "local", "--role", "asker"), '"local" is the user of the command line'),
        (("add", " ", "--role", "asker"), "start or end with a space"),
        (("role", "ann", "owner"), "The role of a user must be"),
        (("role", "bob", "admin"), 'There is no user "bob".'),
        (("remove", "bob"), 'There is no user "bob".'),
        (("renew", "bob"), 'There is no user "bob".'),
    ],
)
def test_invalid_input_exits_with_2(run: Run, ours: Path, arguments: tuple[str, ...], expected: str) -> None:
    run("users", "add", "ann", "--role", "asker", "-w", ours)
    ran = run("users", *arguments, "-w", ours)
    assert (ran.code, ran.out) == (2, "")
    assert expected in " ".join(ran.err.split()) and len(ran.err.strip().splitlines()) == 1
    with Veracity(ours) as engine:
        assert [(user.name, user.role) for user in engine.users.list()] == [("ann", "asker")]


def test_token_given_as_name_is_not_repeated(run: Run, ours: Path) -> None:
    token = run("users", "add", "ann", "--role", "asker", "-w", ours).out.strip()
    for arguments in (("remove", token), ("renew", token), ("role", token, "admin"), ("add", token, "--role", "admin")):
        ran = run("users", *arguments, "-w", ours)
        assert ran.code == 2 and token not in ran.out + ran.err


def test_folder_is_not_made_a_workspace(run: Run, tmp_path: Path) -> None:
    for place in (tmp_path / "elsewhere", tmp_path / "nothing"):
        ran = run("users", "add", "ann", "--role", "asker", "-w", place)
        assert ran.code == 2 and ran.out == ""
    assert list((tmp_path / "elsewhere").iterdir()) == [] and not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("command", [(), ("list",), ("add",), ("remove",), ("renew",), ("role",)])
def test_every_command_has_help(run: Run, command: tuple[str, ...]) -> None:
    ran = run("users", *command, "--help")
    assert ran.code == 0 and "Usage: veracity users" in ran.out
