"""Common client mistakes are reported in one clear sentence."""

import json
import re
from pathlib import Path
from typing import Any

from tests.server.conftest import MakeEngine, Serve
from veracity.server.static_files import STATIC

ROOT = Path(__file__).parents[2]
SOURCE = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))

JSON = {"Content-Type": "application/json"}
MISTAKES: list[tuple[str, dict[str, Any], int, str]] = [
    ("/api/ask", {"content": '{"question": "x"}'}, 422, "Send the body as JSON, with the header"),
    ("/api/ask", {"data": {"question": "年假"}}, 422, "Send the body as JSON, with the header"),
    ("/api/ask", {}, 422, "Send the body as JSON, with the header"),
    ("/api/ask", {"content": '{"question"', "headers": JSON}, 422, "The body is not valid JSON: see character 11."),
    ("/api/ask", {"json": ["有給"]}, 422, "The request is invalid: the body: "),
    ("/api/ask", {"json": {"question": 5}}, 422, "The request is invalid: question: "),
    ("/v1/chat/completions", {"content": "{", "headers": JSON}, 400, "The body is not valid JSON"),
    ("/v1/responses", {"json": {}}, 400, "The request is invalid: model: "),
    ("/v1/completions", {"json": {}}, 404, 'There is no route "/v1/completions": use /v1/chat/completions or '),
    ("/api/nothing", {"json": {}}, 404, 'There is no route "/api/nothing".'),
]


def test_errors_are_one_clear_sentence(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    for path, sent, status, expected in MISTAKES:
        response = client.post(path, **sent)
        message = response.json()["error"]["message"]
        assert response.status_code == status, (path, sent)
        assert message.startswith(expected) and message.endswith(".") and "…" not in message, message


def test_what_a_person_can_correct_has_a_code_that_the_page_and_the_documentation_know(
    serve: Serve, engine_with: MakeEngine
) -> None:
    served = serve(engine_with())
    served.token("asker", "ann")
    taken = served.client().post("/api/users", json={"name": "ann", "role": "asker"}).json()["error"]
    assert (taken["kind"], taken["code"], taken["values"]) == ("InputError", "name_taken", {"name": "ann"})
    blank = served.client().post("/api/ask", json={"question": "???"}).json()["error"]
    assert (blank["code"], blank["values"]) == ("no_words", {})
    unknown = served.client().get("/api/runs/nothing").json()["error"]
    assert "code" not in unknown

    used = set(re.findall(r'InputError\([^\n]*"([a-z_]+)"(?:\)|, \w+=)', SOURCE)) | {"name_invalid"}
    strings = json.loads((STATIC / "locales" / "en.json").read_text(encoding="utf-8"))
    assert used == {key.removeprefix("shell.wrong.") for key in strings if key.startswith("shell.wrong.")}
    documented = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert [code for code in used if f"| `{code}` |" not in documented] == []
