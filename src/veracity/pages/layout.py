"""The pieces every part of a page is laid out with. Knows nothing about receipts."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite

from veracity.pages.elements import Child, Safe, tag

Fact = tuple[str, Child]


def section(name: str, title: str, *children: Child) -> Safe:
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


def facts(*known: Fact) -> Safe | None:
    """Names and what they stand for; what is empty is left out."""
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in known if value]
    return tag("dl", *rows, class_="facts") if rows else None


def folded(summary: Child, *children: Child, is_open: bool = False) -> Safe:
    return tag("details", tag("summary", summary), *children, open=is_open)


def badge(words: str, tone: str) -> Safe:
    return tag("span", words, class_=f"badge {tone}")


def prose(*children: Child, lang: str | None = None) -> Safe:
    """Text as it was written: its line breaks are kept."""
    return tag("div", *children, class_="prose", lang=lang)


def bullets(items: list[str], lang: str | None = None) -> Safe | None:
    return tag("ul", *(tag("li", item) for item in items), lang=lang) if items else None


def bar(share: float, label: str, tone: str = "", mark: float | None = None) -> Safe:
    """From 0 to 1. Drawn as SVG: attributes of its shapes are no styles, which the page forbids."""
    shapes = [tag("rect", class_=f"fill {tone}".strip(), width=percent(share), height="100%")]
    if mark is not None:
        shapes.append(tag("line", class_="mark", x1=percent(mark), x2=percent(mark), y1="0", y2="100%"))
    return tag("svg", *shapes, class_="bar", role="img", aria_label=label)


def percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%" if isfinite(share) else "0%"


def moment(when: datetime) -> Safe:
    universal = as_utc(when)
    return tag("time", f"{universal:%Y-%m-%d %H:%M:%S} UTC", datetime=universal.isoformat())


def as_utc(when: datetime) -> datetime:
    """A time without a zone is taken for one of UTC, as all of ours are."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def span(seconds: float) -> str:
    """How long something took, with as many figures as help."""
    if not isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"


def language_of(text: str, usual: str) -> str | None:
    """The `lang` of a text that a model or a check may have written in English on a page in another language."""
    return "en" if text.isascii() and usual != "en" else None
