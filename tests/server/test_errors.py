"""Common client mistakes are reported in one clear sentence."""

from typing import Any

from tests.server.conftest import MakeEngine, Serve

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
