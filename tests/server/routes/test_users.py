"""Admins manage users over HTTP; nobody else does."""

import threading

import httpx
import pytest

from tests.server.conftest import MakeEngine, Serve, Served
from veracity.models import Role


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine) -> Served:
    return serve(engine_with())


def roles_of(client: httpx.Client) -> dict[str, str]:
    return {user["name"]: user["role"] for user in client.get("/api/users").json()}


def test_an_admin_adds_changes_renews_and_removes(served: Served) -> None:
    admin = served.client(role="admin", name="ada")
    added = admin.post("/api/users", json={"name": "佐藤 花子/..", "role": "asker"}).json()
    assert added["name"] == "佐藤 花子/.." and added["token"].startswith("vt_")
    name = {"name": "佐藤 花子/.."}
    hanako = served.client(token=added["token"])
    assert hanako.get("/api/me").json()["role"] == "asker"
    assert admin.put("/api/user/role", json={"role": "approver"}, params=name).status_code == 204
    assert hanako.get("/api/me").json()["role"] == "approver"
    renewed = admin.post("/api/user/token", params=name).json()["token"]
    assert (hanako.get("/api/me").status_code, served.client(token=renewed).get("/api/me").status_code) == (401, 200)
    assert admin.delete("/api/user", params=name).status_code == 204
    assert served.client(token=renewed).get("/api/me").status_code == 401
    assert roles_of(admin) == {"ada": "admin"}
    assert admin.delete("/api/user", params=name).status_code == 404
    assert admin.post("/api/user/token", params=name).status_code == 404


def test_adding_twice_adds_one_and_names_that_mislead_are_refused(served: Served) -> None:
    admin = served.client()
    assert admin.post("/api/users", json={"name": "ann", "role": "asker"}).status_code == 200
    for name in ("ann", "Ann", "local", "vt_abc", "a\nb", " ann"):
        refused = admin.post("/api/users", json={"name": name, "role": "asker"})
        assert refused.status_code == 400 and refused.json()["error"]["kind"] == "InputError"
    assert admin.post("/api/users", json={"name": "bob", "role": "owner"}).status_code == 422
    assert roles_of(admin) == {"ann": "asker"}


@pytest.mark.parametrize("role", ["asker", "approver"])
def test_others_than_admins_are_refused(served: Served, role: Role) -> None:
    client, name = served.client(role=role, name="ann"), {"name": "ann"}
    answers = [
        client.get("/api/users"),
        client.post("/api/users", json={"name": "eve", "role": "admin"}),
        client.put("/api/user/role", params=name, json={"role": "admin"}),
        client.post("/api/user/token", params=name),
        client.delete("/api/user", params=name),
        client.get("/api/settings"),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert roles_of(served.client()) == {"ann": role}
    assert served.client(token="").get("/api/users").status_code == 401


def test_the_last_admin_cannot_be_removed_or_demoted(served: Served) -> None:
    ada, name = served.client(role="admin", name="ada"), {"name": "ada"}
    for path, body in (("", None), ("/role", {"role": "asker"})):
        refused = ada.request("PUT" if path else "DELETE", f"/api/user{path}", params=name, json=body)
        assert refused.status_code == 400
        assert refused.json()["error"] == {
            "kind": "LastAdminError",
            "message": "ada is the only admin: make somebody else an admin first.",
        }
    assert ada.put("/api/user/role", params=name, json={"role": "admin"}).status_code == 204
    ada.post("/api/users", json={"name": "bob", "role": "admin"})
    assert ada.delete("/api/user", params=name).status_code == 204
    assert served.client().delete("/api/user", params={"name": "bob"}).status_code == 204  # "local" is an admin, too


def test_two_admins_who_remove_each_other_leave_one(served: Served) -> None:
    clients = {name: served.client(role="admin", name=name) for name in ("ada", "bob")}
    barrier, statuses = threading.Barrier(2), []

    def demote(caller: str, name: str) -> None:
        barrier.wait()
        answer = clients[caller].put("/api/user/role", params={"name": name}, json={"role": "asker"})
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=demote, args=pair) for pair in (("ada", "bob"), ("bob", "ada"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(204) == 1 and set(statuses) <= {204, 400, 403}
    assert sorted(roles_of(served.client()).values()) == ["admin", "asker"]


@pytest.mark.parametrize("change", ["remove", "renew", "role"])
def test_open_streams_end_at_once(served: Served, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.server.sse.AUTH_SECONDS", 1e9)  # only the announcement ends it
    ann, admin, name = served.client(role="approver", name="ann"), served.client(), {"name": "ann"}
    with ann.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert any("hello" in line for line in lines)
        if change == "remove":
            admin.delete("/api/user", params=name).raise_for_status()
        elif change == "renew":
            admin.post("/api/user/token", params=name).raise_for_status()
        else:
            admin.put("/api/user/role", params=name, json={"role": "asker"}).raise_for_status()
        assert not any("data" in line and "hello" not in line for line in lines)  # until it ends
    assert ann.get("/api/me").status_code == (200 if change == "role" else 401)


def test_other_streams_stay_open(served: Served) -> None:
    ann, admin = served.client(role="asker", name="ann"), served.client()
    with ann.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        assert any("hello" in line for line in lines)
        admin.post("/api/users", json={"name": "bob", "role": "asker"})
        admin.delete("/api/user", params={"name": "bob"}).raise_for_status()
        served.app.state.feed.publish("documents")
        assert any("documents" in line for line in lines)


def test_a_browser_that_renews_its_own_token_stays_signed_in(served: Served) -> None:
    token = served.token("admin", "ada")
    browser = served.client(token="")
    browser.post("/api/session", json={"token": token}).raise_for_status()
    renewed = browser.post("/api/user/token", params={"name": "ada"}).json()["token"]
    assert browser.get("/api/me").json()["user"] == "ada"
    assert served.client(token=token).get("/api/me").status_code == 401
    program = served.client(token=renewed)
    answer = program.post("/api/user/token", params={"name": "ada"})
    assert answer.status_code == 200 and "set-cookie" not in answer.headers
