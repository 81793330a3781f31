"""Text that leaves is inert: nothing in it can be followed, loaded or run. Knows nothing about who wrote it.

Addresses stay only where a known text has them letter for letter: a model that was told to put what it knows into an
address makes up one that no document holds. Every pattern is bounded, so that hostile text costs linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

REMOVED = "…"


def inert(text: str, known: Sequence[str] = ()) -> str:
    """The text without markup; of links and images what they show; of addresses those that a known text holds."""
    while (less := _unlinked(text)) != text:  # links may stand within links, and appear when others are taken out
        text = less
    text = text.replace("](", "] (")  # what is left is no link that we can read: then nobody may
    return _ADDRESS.sub(lambda found: _address(found[0], known), text)


def _unlinked(text: str) -> str:
    text = _DEFINITION.sub("", _LINK.sub(lambda found: f"[{found[1]}]" if found[1].isdigit() else found[1], text))
    text = _AUTOLINK.sub(r"\1", text)
    return _OPENING.sub("< ", _TAG.sub("", text))


def _address(found: str, known: Sequence[str]) -> str:
    """It, if a known text holds it and not only a longer one; what ends the sentence is no part of it."""
    plain = found.rstrip(_STOPS)
    held = not _RUNS.match(plain) and any(re.search(re.escape(plain) + _ENDS, one) for one in known)
    return found if held else REMOVED + found[len(plain) :]


_STOPS = ".,;:!?)]}>'\"。，、；：！？）］】」』"
# ![shown](target "title") and [shown](target); the target may hold one pair of brackets, as in javascript:alert(1).
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(\s{0,3}(?:[^()\n]|\([^()\n]{0,500}\)){0,1000}\)")
# [a]: https://…
_DEFINITION = re.compile(
    r"^[ \t]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]*<?(?:[a-z][a-z0-9+.-]{1,20}:|/|www\.)\S*[^\n]*$", re.I | re.M
)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto|file|data|javascript|vbscript):[^<>\s]{0,2000})>", re.I)
_TAG = re.compile(r"<[a-z!/?][^<>]{0,2000}>", re.I)
_OPENING = re.compile(r"<(?=[a-z!/?])", re.I)
# In ASCII: what follows in another script is a word of the sentence.
_ADDRESS = re.compile(
    r"(?<![a-z0-9])(?:(?:https?|ftp|file)://|www\.|(?:javascript|vbscript):|data:[a-z]{1,20}/)[!#-;=?-~]{0,2000}",
    re.I,
)
_RUNS = re.compile(r"(?:javascript|vbscript|data|file):", re.I)
_ENDS = rf"(?=[{re.escape(_STOPS)}]{{0,5}}(?:[^!-~]|\Z))"
