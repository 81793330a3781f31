"""What people say of an answer, on a page. Knows nothing about what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.models import Feedback
from veracity.pages.elements import Safe, tag
from veracity.pages.labels import Words
from veracity.pages.layout import badge, facts, moment, prose

TONES = {"up": "good", "down": "bad"}


def feedback(given: Sequence[Feedback], words: Words) -> list[Safe]:
    return [_card(one, words) for one in given]


def _card(one: Feedback, words: Words) -> Safe:
    head = tag("h3", badge(words.named("thumb", one.thumb), TONES[one.thumb]))
    known = facts(
        (words("said_by"), one.by),
        (words("at"), moment(one.at)),
        (words("said_why"), prose(one.why) if one.why else None),
    )
    return tag("article", head, known, class_="card")
