"""Models with an end-of-life date in the table of the SDK."""

import datetime
import logging
import subprocess
import sys
from typing import get_args

import pytest

from tests.llm.sample_requests import MODEL
from tests.loopback import LoopbackServer
from veracity.llm import LLM
from veracity.models import DEFAULT_JUDGE, LLMDefaultConfig
from veracity.providers.retirement import _date, retirement_notice

OLD = "anthropic:claude-sonnet-4-5-20250929"


@pytest.fixture
def deprecated() -> dict[str, str]:
    """The table of the SDK. Imported here, because all workers collect this file and the SDK has 2,800 modules."""
    from anthropic.resources.messages.messages import DEPRECATED_MODELS

    table: dict[str, str] = DEPRECATED_MODELS
    return table


def test_b3_default_judge_is_the_newest_sonnet_without_an_end(deprecated: dict[str, str]) -> None:
    from anthropic.types.model import Model

    name = DEFAULT_JUDGE.removeprefix("anthropic:")
    listed = next(get_args(choice) for choice in get_args(Model) if get_args(choice))
    sonnets = [model for model in listed if "sonnet" in model and model not in deprecated]
    assert name not in deprecated and sonnets[0] == name, "the SDK lists the newest first"
    assert retirement_notice(DEFAULT_JUDGE) == "" and LLMDefaultConfig().model == DEFAULT_JUDGE


def test_notice_says_when() -> None:
    end = datetime.date(2026, 11, 30)
    before, after = (retirement_notice(OLD, end + datetime.timedelta(days)) for days in (-1, 0))
    advice = f": name another one, such as {DEFAULT_JUDGE}."
    assert before == f'The model "{OLD}" will be retired on 2026-11-30{advice}'
    assert after == f'The model "{OLD}" has been retired since 2026-11-30{advice}'


@pytest.mark.parametrize("model", ["openai:claude-sonnet-4-5", "anthropic:claude-x", "none", "", "bedrock:claude-2.1"])
def test_other_models_have_no_notice(model: str) -> None:
    assert retirement_notice(model) == ""


def test_every_date_of_the_table_is_understood(monkeypatch: pytest.MonkeyPatch, deprecated: dict[str, str]) -> None:
    assert all(_date(written) for written in deprecated.values())
    monkeypatch.setitem(deprecated, "claude-y", "some day soon")
    assert "will be retired on some day soon" in retirement_notice("anthropic:claude-y")
    assert _date("Smarch 3rd, 2026") is None and _date("February 30th, 2026") is None


def test_an_sdk_without_the_table_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic.resources.messages.messages", None)
    assert retirement_notice(OLD) == ""


def test_log_says_it_once_when_the_model_is_set_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, server: LoopbackServer
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any-Key-0123456789")
    llm = LLM()
    with caplog.at_level(logging.WARNING, "veracity.llm"):
        for role in ("judge", "writer", "judge"):
            llm.require(OLD, role)
        llm.require(DEFAULT_JUDGE, "judge")
        llm.require(MODEL, "judge")
    assert caplog.messages == [retirement_notice(OLD)]
    llm.close()


def test_sdk_is_not_loaded_for_other_models() -> None:
    program = (
        "import sys; import veracity.doctor; from veracity.providers.retirement import retirement_notice\n"
        "retirement_notice('openai:gpt-5'); assert 'anthropic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
