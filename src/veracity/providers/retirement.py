"""Models that their provider retires, or has retired, by the table in its SDK. Only Anthropic's SDK has one."""

from __future__ import annotations

import datetime
import logging
import re

from veracity.models import DEFAULT_JUDGE
from veracity.providers.keys import provider_of

log = logging.getLogger("veracity.llm")

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DATE = re.compile(r"([A-Z][a-z]{2})[a-z]* (\d{1,2})(?:st|nd|rd|th)?, (\d{4})")  # November 30th, 2026


def retirement_notice(model: str, today: datetime.date | None = None) -> str:
    """One sentence about a model that is retired or will be; empty for any other. Loads the SDK of the provider."""
    written = _table(provider_of(model)).get(model.partition(":")[2])
    if written is None:
        return ""
    end = _date(written)
    is_past = end is not None and end <= (today or datetime.datetime.now(datetime.UTC).date())
    state = "has been retired since" if is_past else "will be retired on"
    return f'The model "{model}" {state} {end or written}: name another one, such as {DEFAULT_JUDGE}.'


def warn_of_retirement(model: str) -> None:
    if notice := retirement_notice(model):
        log.warning("%s", notice)


def _table(provider: str) -> dict[str, str]:
    if provider != "anthropic":  # other providers that host these models have dates of their own
        return {}
    try:
        from anthropic.resources.messages.messages import DEPRECATED_MODELS  # noqa: PLC0415 - slow to load
    except ImportError:  # no SDK, or one without this table
        return {}
    return dict(DEPRECATED_MODELS)


def _date(written: str) -> datetime.date | None:
    """None if the SDK writes it in another form."""
    match = DATE.fullmatch(written)
    try:
        return datetime.date(int(match[3]), MONTHS.index(match[1]) + 1, int(match[2])) if match else None
    except ValueError:
        return None
