"""A server for each role (`[servers.NAME]`): calls go to the server of their model, and keys to no other."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.llm.sample_requests import question, text_request
from tests.loopback import LoopbackServer, status
from tests.recording import RecordingServer
from tests.runs.scripts import DOCUMENTS, GOOD, PASS, QUESTION, judged
from veracity.engine import Veracity
from veracity.errors import MissingKeyError, ModelAccessError, UnknownModelError
from veracity.evaluator import Evaluator
from veracity.llm import LLM
from veracity.models import EvaluationRequest
from veracity.settings import LLMSettings, ModelServer

OPENAI_KEY, BIG_KEY = "openai-Key-0123456789", "big-Key-0123456789"
VERDICT = {"reason": "So.", "score": 80}
REPLIES = {
    "w": GOOD,
    "r": PASS,
    "j": judged(90)[0],
    "q": {"reason": "Vague.", "query": "annual leave days"},
    "o": {"reason": "Documents.", "route": "knowledge"},
    "s": "Summary.",
    "v": VERDICT,
}
LEAKS = ("openai-organization", "openai-project", "x-team", "api-key", "x-api-key")


@pytest.fixture(autouse=True)
def openai_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the SDK of OpenAI sends without being asked."""
    monkeypatch.setenv("OPENAI_API_KEY", OPENAI_KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", f"{OPENAI_KEY}-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {OPENAI_KEY}\nX-Team: blue")
    monkeypatch.setenv("BIG_API_KEY", BIG_KEY)


@pytest.fixture
def big() -> Iterator[RecordingServer]:
    with RecordingServer(REPLIES) as running:
        yield running


@pytest.fixture
def small() -> Iterator[RecordingServer]:
    with RecordingServer(REPLIES) as running:
        yield running


@pytest.fixture
def llm(big: RecordingServer, small: RecordingServer) -> Iterator[LLM]:
    servers = {"big": ModelServer(url=big.url, key_env="BIG_API_KEY"), "small": ModelServer(url=small.url)}
    made = LLM(LLMSettings(backoff=0), servers=servers)
    yield made
    made.close()


def require_only_own_key(big: RecordingServer, small: RecordingServer) -> None:
    assert (big.keys, small.keys) == ({f"Bearer {BIG_KEY}"}, {None})
    for request in (*big.recorded, *small.recorded):
        assert not request.headers.keys() & set(LEAKS), request
        assert OPENAI_KEY not in json.dumps(request.headers)


def test_each_model_is_called_at_its_server(llm: LLM, big: RecordingServer, small: RecordingServer) -> None:
    assert llm.ask(question(model="big:v")).value.score == 80
    assert llm.write(text_request(model="small:w")).text == GOOD
    assert llm.ask(question(model="small:v")).value.score == 80
    assert (big.models, small.models) == ({"v"}, {"w", "v"})
    assert {request.path for request in big.recorded} == {"/v1/chat/completions"}
    require_only_own_key(big, small)


def test_servers_are_called_at_once(llm: LLM, big: RecordingServer, small: RecordingServer) -> None:
    """The same role and model name on two servers, from many threads."""
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: llm.ask(question(model=f"{('big', 'small')[n % 2]}:v")), range(40)))
    assert len(answers) == 40 and (len(big.recorded), len(small.recorded)) == (20, 20)
    require_only_own_key(big, small)


def test_openai_base_url_still_works(
    llm: LLM, big: RecordingServer, small: RecordingServer, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_CUSTOM_HEADERS")
    assert llm.ask(question(model="openai-chat:other")).value.score == 80
    assert llm.ask(question(model="big:v")).value.score == 80
    assert [request["model"] for request in server.requests] == ["other"]
    assert (len(big.recorded), len(small.recorded)) == (1, 0)


def test_output_is_limited_in_the_way_that_servers_know(llm: LLM, server: LoopbackServer) -> None:
    """Many ignore `max_completion_tokens`, and would write without end."""
    plain = LLM(LLMSettings(backoff=0), servers={"gpu": ModelServer(url=server.url)})
    plain.ask(question(model="gpu:m", max_tokens=77))
    assert server.requests[0]["max_tokens"] == 77 and "max_completion_tokens" not in server.requests[0]
    plain.close()


def test_missing_key_names_server_and_variable(llm: LLM, big: RecordingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC B13: no call, and no other key instead."""
    monkeypatch.setenv("BIG_API_KEY", " ")
    with pytest.raises(
        MissingKeyError, match=r'The model "big:v" needs a key for the server "big": set BIG_API_KEY in'
    ):
        llm.ask(question(model="big:v"))
    assert big.recorded == []


def test_refused_key_is_not_shown(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_PASSWORD", "opensesame")
    server.respond_with(status(401, {"error": {"message": "wrong: opensesame"}}))
    llm = LLM(servers={"gpu": ModelServer(url=server.url, key_env="GPU_PASSWORD")})
    with pytest.raises(ModelAccessError) as caught:
        llm.ask(question(model="gpu:m"))
    assert "opensesame" not in str(caught.value) and '"gpu:m" refused the key' in str(caught.value)
    llm.close()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("bigg:v", 'No provider or server is called "bigg" (model "bigg:v"): did you mean "big:v"? '),
        ("opena:v", 'No provider or server is called "opena" (model "opena:v"): did you mean "openai:v"? '),
        (
            "gpu:v",
            'No provider or server is called "gpu" (model "gpu:v"): name a provider as pydantic-ai does, such as ',
        ),
    ],
)
def test_unknown_server_lists_the_servers(llm: LLM, model: str, told: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        llm.require(model, "judge")
    assert str(caught.value).startswith(told) and str(caught.value).endswith("Configured servers: big, small.")


SETTINGS = """
[models]
writer = "big:w"
reviewer = "small:r"
rewriter = "small:q"
router = "small:o"
summarizer = "big:s"
judge = "big:j"
embedder = "small:e"
[retrieval]
reranker = "big:rank"
[servers.big]
url = "{big}"
key_env = "BIG_API_KEY"
[servers.small]
url = "{small}"
[approval]
policy = "never"
[quality]
high = 1.0
medium = 1.0
strong_passage = 1.0
[conversation]
recent_turns = 1
summarize_after = 500
"""


def test_every_role_of_a_run_has_its_server(workspace: Path, big: RecordingServer, small: RecordingServer) -> None:
    (workspace / "veracity.toml").write_text(SETTINGS.format(big=big.url, small=small.url))
    with Veracity(workspace) as engine:
        engine.add(DOCUMENTS)
        for number in range(12):
            answer = engine.ask(f"{QUESTION} ({number})", conversation="c", user="u")
            assert (answer.status, answer.text) == ("answered", GOOD)
            if "s" in big.models and "o" in small.models:
                break
    assert (big.models, small.models) == ({"w", "s", "j", "rank"}, {"r", "q", "o", "e"})
    require_only_own_key(big, small)


def test_judges_of_metrics_have_their_servers(workspace: Path, big: RecordingServer, small: RecordingServer) -> None:
    (workspace / "veracity.toml").write_text(
        f'[servers.big]\nurl = "{big.url}"\nkey_env = "BIG_API_KEY"\n[servers.small]\nurl = "{small.url}"\n'
    )
    (workspace / "configs/evaluator.toml").write_text(
        '[llm_default]\nmodel = "small:v"\n'
        '[[metrics]]\nname = "Relevance"\n[[metrics]]\nname = "Coverage"\nmodel = "big:v"\n'
    )
    evaluator = Evaluator(workspace)
    request = EvaluationRequest(user_query="Why?", submission="So.", team_id="t")
    assert [score.model for score in evaluator.evaluate(request).metrics] == ["small:v", "big:v"]
    assert (len(big.recorded), len(small.recorded)) == (1, 1)
    (workspace / "veracity.toml").write_text(
        f'[servers.big]\nurl = "{small.url}"\n[servers.small]\nurl = "{small.url}"\n'
    )
    evaluator.evaluate(request)  # the changed addresses are in use
    assert (len(big.recorded), len(small.recorded)) == (1, 3)
    require_only_own_key(big, small)
    evaluator.close()
