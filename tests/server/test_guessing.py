"""Who guesses at a token is kept from it; who has one is not, whatever others guess."""

import pytest

from tests.server.conftest import TOKEN, MakeEngine, Serve
from veracity.server.limits import WRONG_TOKENS


def test_tokens_cannot_be_tried_one_after_the_other(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with())
    ann, stranger = served.client(role="asker"), served.client(token="")

    def status(token: str) -> int:
        return stranger.get("/api/me", headers={"Authorization": f"Bearer {token}"}).status_code

    assert {status("left-open-since-yesterday") for _ in range(WRONG_TOKENS + 1)} == {401}
    found = [stranger.post("/api/session", json={"token": f"guess {n}"}) for n in range(WRONG_TOKENS + 5)]
    assert {one.status_code for one in found[:20]} == {401}
    assert (found[-1].status_code, found[-1].json()["error"]["kind"]) == (429, "TooMany")
    assert int(found[-1].headers["retry-after"]) >= 1
    assert (status(TOKEN), stranger.get("/api/me").status_code) == (429, 401)
    assert ann.get("/api/me").status_code == 200  # a token that cannot be guessed


@pytest.mark.parametrize("path", ["/api/me", "/v1/models"])
def test_they_are_counted_wherever_they_are_tried(serve: Serve, engine_with: MakeEngine, path: str) -> None:
    stranger = serve(engine_with()).client(token="")
    statuses = [
        stranger.get(path, headers={"Authorization": f"Bearer guess {n}"}).status_code for n in range(WRONG_TOKENS + 5)
    ]
    assert (statuses[0], statuses[-1]) == (401, 429)
