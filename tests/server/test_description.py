"""The server conforms to its OpenAPI document (Schemathesis)."""

import json
import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import TOKEN, MakeEngine, Serve
from veracity.inputs import MAX_QUERY_LENGTH
from veracity.server.app import make_app
from veracity.testing import ScriptedLLM

EXAMPLES = int(os.environ.get("VERACITY_SCHEMA_EXAMPLES", "8"))
STREAMS = ("/api/events",)  # endless
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance, content_type_conformance]


def test_every_route_conforms_to_its_description(serve: Serve, gated: MakeEngine) -> None:
    served = serve(
        gated(
            ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40)),
            server={"asks_per_minute": 100_000, "requests_per_minute": 1_000_000},
        )
    )
    served.client().post("/api/ask", json={"question": QUESTION, "conversation": "c"})
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        if operation.path in STREAMS:
            continue
        tried += 1

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def holds(case: Any) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, checks=CHECKS)

        holds()
    assert tried > 20


def test_every_route_describes_its_errors(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with())
    document = json.loads(served.client(token="").get("/openapi.json").text)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            if path.startswith(("/api/", "/v1/", "/metrics")) and path != "/api/session":
                assert {"401", "429"} <= set(operation["responses"]), (method, path)
                assert operation["security"] == [{"token": []}], (method, path)
                assert "default" in operation["responses"] or {"403", "408", "413", "500"} <= set(
                    operation["responses"]
                )
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_content_types_are_described(engine_with: MakeEngine) -> None:
    document = make_app(engine_with()).openapi()
    expected = {
        "/api/events": {"text/event-stream"},
        "/api/runs/{run_id}/events": {"text/event-stream"},
        "/api/runs/{run_id}/page": {"text/html"},
        "/metrics": {"text/plain"},
        "/api/ask": {"application/json", "text/event-stream"},
        "/v1/chat/completions": {"application/json", "text/event-stream"},
    }
    for path, forms in expected.items():
        for operation in document["paths"][path].values():
            assert set(operation["responses"]["200"]["content"]) == forms, path
    for path in ("/api/ask", "/v1/chat/completions"):
        assert "X-Veracity-Run" in document["paths"][path]["post"]["responses"]["200"]["headers"]
    assert "Retry-After" in document["paths"]["/api/ask"]["post"]["responses"]["429"]["headers"]
    longest = document["components"]["schemas"]["AskRequest"]["properties"]["question"]["maxLength"]
    assert longest == MAX_QUERY_LENGTH
