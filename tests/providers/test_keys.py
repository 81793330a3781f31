"""Providers and their environment variables (SPEC B13)."""

import pickle
import sys
import tomllib
from pathlib import Path

import pytest

from tests.llm.sample_requests import question
from tests.loopback import LoopbackServer
from veracity.errors import ConfigurationError, MissingKeyError, UnknownModelError
from veracity.llm import LLM
from veracity.providers.errors import EXTRAS
from veracity.providers.keys import check_provider_names, has_key, require_key, server_key
from veracity.settings import ModelServer
from veracity.settings.servers import PROVIDERS

KEY = "any-Key-0123456789"


@pytest.fixture
def llm() -> LLM:
    return LLM()


@pytest.mark.parametrize("provider", [name for name, variables in PROVIDERS.items() if variables])
def test_missing_key_names_provider_and_variable(provider: str, llm: LLM) -> None:
    """SPEC B13: at once, with no call and no fallback."""
    model = f"{provider}:some-model"
    assert not has_key(model)
    for attempt in (lambda: llm.require(model, "judge"), lambda: llm.ask(question(model=model))):
        with pytest.raises(MissingKeyError) as caught:
            attempt()
        assert caught.value.provider == provider
        assert all(name in str(caught.value) for name in (model, f'"{provider}"', *PROVIDERS[provider]))


def test_missing_key_makes_no_call_and_no_fallback(
    llm: LLM, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another provider's server is available, but not called instead."""
    with pytest.raises(MissingKeyError, match="ANTHROPIC_API_KEY"):
        llm.ask(question(model="anthropic:claude-sonnet-4-5"))
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        llm.ask(question(model="openai:gpt-5"))
    assert server.requests == []


@pytest.mark.parametrize(("provider", "sdk"), [("google", "google.genai"), ("groq", "groq"), ("mistral", "mistralai")])
def test_missing_sdk_names_the_extra(provider: str, sdk: str, llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROVIDERS[provider][0], KEY)
    monkeypatch.setitem(sys.modules, sdk, None)
    with pytest.raises(ConfigurationError, match=rf'pip install "veracity\[{provider}\]"'):
        llm.require(f"{provider}:some-model", "judge")


def test_extras_exist_in_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(EXTRAS.values()) <= set(project["project"]["optional-dependencies"])


def test_unknown_provider(llm: LLM) -> None:
    told = r'No provider or server is called "foo" \(model "foo:bar"\): name a provider as pydantic-ai does'
    with pytest.raises(UnknownModelError, match=told):
        llm.ask(question(model="foo:bar"))


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat", "openrouter"])
def test_key_in_the_environment_is_enough(provider: str, llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingKeyError):
        llm.require(f"{provider}:maker/some-model", "judge")
    monkeypatch.setenv(PROVIDERS[provider][0], KEY)
    llm.require(f"{provider}:maker/some-model", "judge")
    llm.close()


def test_removed_key_is_noticed(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    llm.require("openai:gpt-5", "judge")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError):
        llm.require("openai:gpt-5", "judge")
    llm.close()


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}\r", "ключ-0123456789"])
def test_unusable_key_is_reported_but_not_shown(key: str, llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY cannot be a key") as caught:
        llm.require("openai:gpt-5", "judge")
    assert key.strip() not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["localhost:8000", "not an address", "http://", "ftp://host/v1", "http://h:99999/v1"]
)
def test_invalid_base_url(address: str, llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(
        ConfigurationError, match="OPENAI_BASE_URL is not the address of a server: write it like http://"
    ):
        llm.require("openai-chat:mine", "judge")


def test_misspelt_provider_gets_a_suggestion() -> None:
    with pytest.raises(
        ConfigurationError, match=r'here: there is no provider "antropic"; did you mean "anthropic:x"\?'
    ):
        check_provider_names([("antropic:x", "here")])
    check_provider_names([("openai:x", "here"), ("quite-another:x", "here")])


def test_misspelt_server_gets_a_suggestion() -> None:
    servers = {"local": ModelServer(url="http://gpu"), "other": ModelServer(url="http://gpu")}
    told = r'here: there is no provider or server "lcoal"; did you mean "local:x"\? Configured servers: local, other\.'
    with pytest.raises(ConfigurationError, match=told):
        check_provider_names([("local:x", "there"), ("lcoal:x", "here")], servers)


def test_server_needs_no_key_or_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {"open": ModelServer(url="http://gpu"), "shut": ModelServer(url="http://gpu", key_env="SHUT_KEY")}
    require_key("open:x", servers)
    assert server_key("open:x", servers) == ""
    with pytest.raises(MissingKeyError, match=r'for the server "shut": set SHUT_KEY in the environment\.') as caught:
        require_key("shut:x", servers)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    monkeypatch.setenv("SHUT_KEY", f"{KEY}\n")
    with pytest.raises(ConfigurationError, match="SHUT_KEY cannot be a key"):
        require_key("shut:x", servers)
    monkeypatch.setenv("SHUT_KEY", KEY)
    assert server_key("shut:x", servers) == KEY
