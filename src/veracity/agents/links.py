"""Makes text inert before it is published: no link, image, tag or address that a client could follow, load or run.

An address stays only if a known text contains it verbatim: a model tricked into leaking data through an address makes
up one that no document contains. Every pattern is bounded, so hostile text costs linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

REMOVED = "…"


def make_inert(text: str, known_texts: Sequence[str] = ()) -> str:
    """The text without markup and without addresses that no known text contains; links are replaced by their label."""
    while (less := _remove_links(text)) != text:  # removing a link may complete another
        text = less
    text = text.replace("](", "] (")  # no client may read as a link what the pattern did not
    return _ADDRESS.sub(lambda match: _check_address(match[0], known_texts), text)


def _remove_links(text: str) -> str:
    text = _DEFINITION.sub("", _LINK.sub(lambda match: f"[{match[1]}]" if match[1].isdigit() else match[1], text))
    text = _AUTOLINK.sub(r"\1", text)
    return _TAG_START.sub("< ", _TAG.sub("", text))


def _check_address(address: str, known_texts: Sequence[str]) -> str:
    """The address if a known text contains exactly it, else a placeholder. Keeps the punctuation after it."""
    plain = address.rstrip(_PUNCTUATION)
    exactly = re.compile(re.escape(plain) + _ADDRESS_END)
    is_known = not _EXECUTABLE.match(plain) and any(exactly.search(text) for text in known_texts)
    return address if is_known else REMOVED + address[len(plain) :]


_PUNCTUATION = ".,;:!?)]}>'\"。，、；：！？）］】」』"
# ![shown](target "title") and [shown](target); the target may hold one pair of brackets, as in javascript:alert(1).
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(\s{0,3}(?:[^()\n]|\([^()\n]{0,500}\)){0,1000}\)")
# [a]: https://…
_DEFINITION = re.compile(
    r"^[ \t]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]*<?(?:[a-z][a-z0-9+.-]{1,20}:|/|www\.)\S*[^\n]*$", re.I | re.M
)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto|file|data|javascript|vbscript):[^<>\s]{0,2000})>", re.I)
_TAG = re.compile(r"<[a-z!/?][^<>]{0,2000}>", re.I)
_TAG_START = re.compile(r"<(?=[a-z!/?])", re.I)
# In ASCII: what follows in another script is a word of the sentence.
_ADDRESS = re.compile(
    r"(?<![a-z0-9])(?:(?:https?|ftp|file)://|www\.|(?:javascript|vbscript):|data:[a-z]{1,20}/)[!#-;=?-~]{0,2000}", re.I
)
_EXECUTABLE = re.compile(r"(?:javascript|vbscript|data|file):", re.I)
_ADDRESS_END = rf"(?=[{re.escape(_PUNCTUATION)}]{{0,5}}(?:[^!-~]|\Z))"
