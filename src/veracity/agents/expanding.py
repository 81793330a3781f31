"""Rewriting without a model: put the question in the documents' own words, then add what leads on.

First the slips are mended and words that no document holds are put as the documents put them; a query that does so is
the asker's own question still. Only then words are added: of the asker's weak points and of the best passages. What
was added is told apart (`Rewrite.added`), since passages that led to words will hold them: that they do so is no sign
that they bear on the question. Knows nothing about searching.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from veracity.agents.leading import leading_words, telling_words, words_sharing
from veracity.agents.mending import Mended, Vocabulary, mended
from veracity.agents.rewriter import LONGEST_QUERY, Rewrite, RewriteTask, comparable, sources_for, whole_query
from veracity.language import content_tokens, guess_language

__all__ = ["LocalRewriter", "Vocabulary"]

ADDED = 10  # words
REMEMBERED = 3  # words of weak points
MENDED = 200  # characters; who writes more than that does not leave a search to chance


class LocalRewriter:
    model = ""

    def __init__(self, vocabulary: Callable[[], Vocabulary]) -> None:
        """`vocabulary` gives that of the documents as they are now."""
        self._vocabulary = vocabulary

    def rewrite(self, task: RewriteTask) -> Rewrite | None:
        tried = {comparable(query) for query in task.tried}
        mend, vocabulary = Mended(task.question), self._vocabulary()
        if len(task.question) <= MENDED:
            mend = mended(task.question, task.evidence, vocabulary)
        if mend.changes and comparable(mend.text) not in tried:
            return _made(task, mend, [])
        added = _added(task, mend, vocabulary)
        if added and comparable(whole_query(mend.text, added)) not in tried:
            return _made(task, mend, added)
        keywords = " ".join(dict.fromkeys(telling_words(mend.text)))
        if keywords and comparable(keywords) not in tried:
            return _made(task, Mended(keywords), [])
        return None


def _added(task: RewriteTask, mend: Mended, vocabulary: Vocabulary) -> list[str]:
    query = mend.text
    weak = [word for question in task.weak_points for word in content_tokens(question, guess_language(question))]
    known = [word for word in dict.fromkeys(weak) if word not in query and vocabulary.knows(word)]
    sharing = words_sharing(query, vocabulary, ADDED // 2)
    leading = leading_words(query, task.evidence, vocabulary, ADDED)
    return list(dict.fromkeys([*mend.near, *known[:REMEMBERED], *sharing, *leading]))[:ADDED]


def _made(task: RewriteTask, mend: Mended, added: Sequence[str]) -> Rewrite:
    codes = {issue.code for issue in task.quality.issues}
    told = [f"in the documents' own words ({mend.told})"] if mend.changes else []
    told += [f"with words that lead on ({', '.join(added)})"] if added else []
    told = told or ["as keywords alone"]
    return Rewrite(
        query=" ".join(mend.text.split())[:LONGEST_QUERY],
        sources=sources_for(task),
        reason=f"The question {' and '.join(told)}.",
        widen=bool(codes & {"count", "empty"}),
        added=tuple(added),
        mended=mend.text if mend.changes else "",
    )
