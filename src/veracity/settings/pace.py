"""`llm.pace`: raises the deadlines that matter with slow model servers, all together."""

from __future__ import annotations

from veracity.settings.sections import Settings

# Seconds with `llm.pace = "slow"`. docs/models.md explains each; a lease follows the deadline of its run.
SLOW_DEADLINES: dict[str, dict[str, float]] = {
    "llm": {"call_timeout": 600.0, "deadline": 1800.0},
    "quality": {"loop_deadline": 600.0},
    "answering": {"run_deadline": 3600.0},
    "evaluator": {"deadline": 3600.0},
}


def with_pace(settings: Settings) -> Settings:
    """The settings with the deadlines of their pace. A deadline that is set itself, to whatever value, stays."""
    if settings.llm.pace == "normal":
        return settings
    changed = {}
    for name, deadlines in SLOW_DEADLINES.items():
        section = getattr(settings, name)
        unset = {key: seconds for key, seconds in deadlines.items() if key not in section.model_fields_set}
        values = {**dict(section), **unset}
        changed[name] = type(section).model_construct(section.model_fields_set, **values)  # they stay unset
    return settings.model_copy(update=changed)
