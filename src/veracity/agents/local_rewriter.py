"""The rewriter without a model (SPEC C4).

First it corrects the spelling and uses the documents' own words; such a query still is the user's question. Only then
it adds words, from the user's weak points and from the best passages. Added words are kept apart (`Rewrite.added`):
the passages they came from contain them anyway, so a match says nothing about relevance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log

from veracity.agents.base import Rewrite, RewriteTask, format_query
from veracity.agents.rewriter import MAX_QUERY_LENGTH, choose_sources, comparable, needs_more_passages
from veracity.agents.spelling import Correction, Vocabulary, correct_spelling
from veracity.language import Language, content_tokens, guess_language, is_common, normalized, search_tokens
from veracity.models import Evidence

MAX_ADDED = 10  # words
MAX_WEAK_POINT_WORDS = 3
MAX_CORRECTED_LENGTH = 200  # characters; longer questions are not corrected
MAX_PASSAGES = 3
MIN_RELEVANCE = {"en": 0.0, "zh": 0.1, "ja": 0.1}  # of a passage to take words from; English is also found by meaning

_LATIN_WORD = re.compile(r"(?<![\w'])[A-Za-z][A-Za-z]{2,}(?![\w'])")
_JAPANESE_WORD = re.compile("[\u4e00-\u9fff\u3005]{2,6}|[\u30a1-\u30fa\u30fc]{3,}")


class LocalRewriter:
    model = ""

    def __init__(self, vocabulary: Callable[[], Vocabulary]) -> None:
        """`vocabulary` returns the current words of the documents."""
        self._vocabulary = vocabulary

    def rewrite(self, task: RewriteTask) -> Rewrite | None:
        tried = {comparable(query) for query in task.tried}
        correction, vocabulary = Correction(task.question), self._vocabulary()
        if len(task.question) <= MAX_CORRECTED_LENGTH:
            correction = correct_spelling(task.question, task.evidence, vocabulary)
        if correction.changes and comparable(correction.text) not in tried:
            return _make_rewrite(task, correction, [])
        added = _choose_added(task, correction, vocabulary)
        if added and comparable(format_query(correction.text, added)) not in tried:
            return _make_rewrite(task, correction, added)
        keywords = " ".join(dict.fromkeys(subject_words(correction.text)))
        if keywords and comparable(keywords) not in tried:
            return _make_rewrite(task, Correction(keywords), [])
        return None


def subject_words(text: str) -> list[str]:
    """The words that say what a text is about, as they are written."""
    language = guess_language(text)
    latin = [] if language == "en" else _LATIN_WORD.findall(normalized(text))
    return [*latin, *_find_words(text, language)]


def _choose_added(task: RewriteTask, correction: Correction, vocabulary: Vocabulary) -> list[str]:
    query = correction.text
    weak = [word for question in task.weak_points for word in content_tokens(question, guess_language(question))]
    weak = [word for word in dict.fromkeys(weak) if word not in query and vocabulary.knows(word)]
    related = _related_chinese_words(query, vocabulary, MAX_ADDED // 2)
    expansion = _expansion_words(query, task.evidence, vocabulary, MAX_ADDED)
    return list(dict.fromkeys([*correction.near, *weak[:MAX_WEAK_POINT_WORDS], *related, *expansion]))[:MAX_ADDED]


def _make_rewrite(task: RewriteTask, correction: Correction, added: Sequence[str]) -> Rewrite:
    actions = [f"in the documents' own words ({correction.summary})"] if correction.changes else []
    actions += [f"with further search terms ({', '.join(added)})"] if added else []
    return Rewrite(
        query=" ".join(correction.text.split())[:MAX_QUERY_LENGTH],
        sources=choose_sources(task),
        reason=f"The question {' and '.join(actions or ['as keywords alone'])}.",
        widen=needs_more_passages(task),
        added=tuple(added),
        corrected=correction.text if correction.changes else "",
    )


def _expansion_words(query: str, evidence: Sequence[Evidence], vocabulary: Vocabulary, limit: int) -> list[str]:
    """Words of the best passages that the query lacks: those first that are frequent there and rare elsewhere."""
    language = guess_language(query)
    passages = [item for item in evidence if item.language == language]
    passages = [item for item in passages if item.metadata.relevance_score >= MIN_RELEVANCE[language]]
    points: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for rank, item in enumerate(passages[:MAX_PASSAGES], 1):
        words = list(_find_words(f"{item.title}\n{item.text}", item.language))
        for word in words:
            forms.setdefault(_key(word, item.language), Counter())[word] += 1
        for key, count in Counter(_key(word, item.language) for word in words).items():
            points[key] += count / len(words) / rank * _rarity(key, vocabulary)  # type: ignore[assignment]
    own = set(search_tokens(query, language)) | {query}
    ranked = (forms[key].most_common(1)[0][0] for key, _ in points.most_common() if not own & set(key.split()))
    return [word for word in ranked if word not in query][:limit]


def _related_chinese_words(query: str, vocabulary: Vocabulary, limit: int) -> list[str]:
    """For Chinese words that no document contains: known words that share a character, preferably a rare one."""
    if guess_language(query) != "zh":
        return []
    points: Counter[str] = Counter()
    for unknown in {word for word in content_tokens(query, "zh") if len(word) > 1 and not vocabulary.knows(word)}:
        for character in unknown:
            words = vocabulary.words_containing(character)
            words = [word for word in words if len(word) > 1 and guess_language(word) == "zh"]
            for word in words:
                points[word] += vocabulary.frequency(word) / len(words)  # type: ignore[assignment]
    return [word for word, _ in points.most_common(limit)]


def _find_words(text: str, language: str) -> Iterator[str]:
    plain = normalized(text)
    if language == "ja":
        yield from _JAPANESE_WORD.findall(plain)
    elif language == "zh":
        yield from (word for word in content_tokens(plain, "zh") if len(word) > 1 and not word.isascii())
    else:
        words = (word.lower() for word in _LATIN_WORD.findall(plain))
        yield from (word for word in words if (stems := search_tokens(word, "en")) and not is_common(stems[0], "en"))


def _key(word: str, language: str) -> str:
    """The indexed form: the stem, or the words inside a Japanese or Chinese word."""
    indexed: Language = "ja" if language == "ja" else "zh" if language == "zh" else "en"
    return " ".join(search_tokens(word, indexed))


def _rarity(key: str, vocabulary: Vocabulary) -> float:
    """The rarity of the rarest word in the key: 会議室 is rarer than 会議."""
    rarest = min((vocabulary.frequency(word) for word in key.split()), default=0)
    return log(1 + vocabulary.size / max(1, rarest))
