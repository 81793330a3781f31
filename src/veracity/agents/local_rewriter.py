"""Rewriting without a model: put the question in the documents' own words, then add what leads on.

First the slips are mended and words that no document holds are put as the documents put them; a query that does so is
the asker's own question still. Only then words are added: of the asker's weak points and of the best passages. What
was added is told apart (`Rewrite.added`), since passages that led to words will hold them: that they do so is no sign
that they bear on the question. Knows nothing about searching.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log

from veracity.agents.rewriter import LONGEST_QUERY, Rewrite, RewriteTask, comparable, sources_for, whole_query
from veracity.agents.spelling import Mended, Vocabulary, mended
from veracity.language import Language, content_tokens, guess_language, is_common, normalized, search_tokens
from veracity.models import Evidence

READ = 3  # passages
LEAST = {"en": 0.0, "zh": 0.1, "ja": 0.1}  # relevance of a passage that leads on; English is found by meaning too

_WORD = re.compile(r"(?<![\w'])[A-Za-z][A-Za-z]{2,}(?![\w'])")
_JAPANESE = re.compile("[\u4e00-\u9fff\u3005]{2,6}|[\u30a1-\u30fa\u30fc]{3,}")


def leading_words(query: str, evidence: Sequence[Evidence], vocabulary: Vocabulary, most: int) -> list[str]:
    """Those of the best passages that the query lacks, the most telling first."""
    language = guess_language(query)
    same = [item for item in evidence if item.language == language and _is_near(item)]
    points: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for rank, item in enumerate(same[:READ], 1):
        written = list(_words(f"{item.title}\n{item.text}", item.language))
        for word in written:
            forms.setdefault(_key(word, item.language), Counter())[word] += 1
        for key, count in Counter(_key(word, item.language) for word in written).items():
            points[key] += count / len(written) / rank * _rarity(key, vocabulary)  # type: ignore[assignment]
    own = set(search_tokens(query, language)) | {query}
    found = (forms[key].most_common(1)[0][0] for key, _ in points.most_common() if not own & set(key.split()))
    return [word for word in found if word not in query][:most]


def words_sharing(query: str, vocabulary: Vocabulary, most: int) -> list[str]:
    """For Chinese words that no document holds: those that share a character with them, best a rare one."""
    if guess_language(query) != "zh":
        return []
    points: Counter[str] = Counter()
    for unknown in {word for word in content_tokens(query, "zh") if len(word) > 1 and not vocabulary.knows(word)}:
        for character in unknown:
            shared = [word for word in vocabulary.sharing(character) if len(word) > 1 and guess_language(word) == "zh"]
            for word in shared:
                points[word] += vocabulary.frequency(word) / len(shared)  # type: ignore[assignment]
    return [word for word, _ in points.most_common(most)]


def telling_words(text: str) -> list[str]:
    """The words of a text that say what it is about, as they are written."""
    language = guess_language(text)
    latin = [] if language == "en" else _WORD.findall(normalized(text))
    return [*latin, *_words(text, language)]


def _is_near(item: Evidence) -> bool:
    return item.metadata.relevance_score >= LEAST.get(item.language, 0.0)


def _words(text: str, language: str) -> Iterator[str]:
    plain = normalized(text)
    if language == "ja":
        yield from _JAPANESE.findall(plain)
    elif language == "zh":
        yield from (word for word in content_tokens(plain, "zh") if len(word) > 1 and not word.isascii())
    else:
        found = (word.lower() for word in _WORD.findall(plain))
        yield from (word for word in found if (stems := search_tokens(word, "en")) and not is_common(stems[0], "en"))


def _key(word: str, language: str) -> str:
    """Forms of one word are one; a Japanese or Chinese word is told by the words inside it."""
    return " ".join(search_tokens(word, _known(language)))


def _rarity(key: str, vocabulary: Vocabulary) -> float:
    """By the rarest of its words: 会議室 is rarer than 会議."""
    rarest = min((vocabulary.frequency(word) for word in key.split()), default=0)
    return log(1 + vocabulary.size / max(1, rarest))


def _known(language: str) -> Language:
    return "ja" if language == "ja" else "zh" if language == "zh" else "en"


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
