"""`llm.pace` raises the deadlines together."""

from pathlib import Path

import pytest

from veracity.assembly import Assembly
from veracity.evaluator import Evaluator
from veracity.settings import SLOW_DEADLINES, AnsweringSettings, LLMSettings, Settings, load_settings

ROOT = Path(__file__).parents[2]
SLOW = Settings(llm=LLMSettings(pace="slow"))


def load(text: str) -> Settings:
    return load_settings(text.encode(), Path("veracity.toml"))


def deadlines(settings: Settings) -> dict[str, dict[str, float]]:
    return {
        section: {key: getattr(getattr(settings, section), key) for key in keys}
        for section, keys in SLOW_DEADLINES.items()
    }


def test_slow_raises_every_deadline_of_the_table() -> None:
    normal, slow = deadlines(load("")), deadlines(load('[llm]\npace = "slow"'))
    assert normal == deadlines(Settings()) == deadlines(load('[llm]\npace = "normal"'))
    assert slow == SLOW_DEADLINES
    assert all(keys[key] > normal[section][key] for section, keys in slow.items() for key in keys)


def test_slow_deadlines_fit_into_each_other() -> None:
    slow = SLOW_DEADLINES
    assert slow["llm"]["call_timeout"] <= slow["llm"]["deadline"] <= slow["answering"]["run_deadline"]
    assert slow["llm"]["call_timeout"] <= slow["quality"]["loop_deadline"], "a rewrite is a call"
    for section, keys in slow.items():  # they are within the bounds of their settings
        type(getattr(Settings(), section)).model_validate(keys)


def test_deadlines_that_are_set_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load('[llm]\npace = "slow"\ndeadline = 180\n[answering]\nrun_deadline = 30.5')
    assert (settings.llm.deadline, settings.llm.call_timeout, settings.answering.run_deadline) == (180, 600, 30.5)
    monkeypatch.setenv("VERACITY_LLM__PACE", "slow")
    monkeypatch.setenv("VERACITY_QUALITY__LOOP_DEADLINE", "10")
    settings = load("[llm]\ncall_timeout = 60")
    assert (settings.quality.loop_deadline, settings.llm.call_timeout, settings.llm.deadline) == (10, 60, 1800)


def test_settings_from_python_are_paced_too(workspace: Path) -> None:
    """Also for evaluations: the judge is called with the client of the engine, or with the evaluator's own."""
    own = SLOW.model_copy(update={"answering": AnsweringSettings(run_deadline=5)})
    made = Assembly(workspace, settings=own)
    assert (made.settings.answering.run_deadline, made.llm.settings.call_timeout) == (5, 600)
    assert made.settings.quality.loop_deadline == made.evaluator.settings.quality.loop_deadline == 600
    made.close()
    assert Evaluator(settings=SLOW).llm.settings.deadline == 1800


def test_the_table_of_the_documentation() -> None:
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    for section, keys in SLOW_DEADLINES.items():
        for key, slow in keys.items():
            assert f"| `{section}.{key}` | {getattr(getattr(Settings(), section), key):g} s | {slow:g} s |" in page
