"""Does a question that was put anew still ask the same? Decided by form: language, length, names, numbers, words.

Knows nothing about who put it anew, nor about how.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veracity.agents.dependence import SAYS_LITTLE
from veracity.agents.keywords import keywords, places_of
from veracity.language import Language, content_tokens, entities, guess_language, normalized, sentences
from veracity.questions import ASKING

LONGEST = 400  # characters
KEPT = 0.5  # share of the words of the question that a good wording of it may not go below


def is_faithful(reworded: str, question: str, said: Sequence[str]) -> bool:
    """It is in the language of the question and no longer than a question is, keeps the names and numbers that were
    typed and most of the words, brings none that nobody said, and states nothing that was not stated."""
    language = guess_language(question)
    if not reworded.strip() or len(reworded) > LONGEST or guess_language(reworded) != language:
        return False
    typed, known = normalized(question), normalized("\n".join((question, *said)))
    new = normalized(reworded)
    return (
        all(_holds(new, name) for name in names_and_numbers(typed, language))
        and all(_is_known(name, known) for name in names_and_numbers(new, language))
        and _statements(new) <= _statements(typed)
        and _keeps_words(new, typed, language)
    )


def names_and_numbers(plain: str, language: Language) -> Iterator[str]:
    """Numbers; Latin words with a capital or a digit, but for one that begins a sentence; names of other scripts."""
    yield from NUMBER.findall(plain)
    starts = {sentence.start for sentence in sentences(plain)}
    for word in LATIN.finditer(plain):
        is_first = word.start() in starts or plain[max(0, word.start() - 1) : word.start()] in ('"', "(", "“")
        if not is_first and content_tokens(word[0], "en") and (word[0] != word[0].lower()):
            yield word[0]
    if language != "en":
        yield from (name for name in entities(plain, language) if not name.isascii())


def _holds(plain: str, name: str) -> bool:
    """Numbers and Latin words stand by themselves; in Chinese and Japanese nothing separates them."""
    if name.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(name.lower())}(?:'?s)?(?![a-z0-9])", plain.lower()) is not None
    return name.lower() in plain.lower()


def _is_known(name: str, known: str) -> bool:
    """東京支社 is known where 東京 and 支社 are."""
    if name.isascii() or _holds(known, name):
        return _holds(known, name)
    while len(name) > 1:
        size = next((size for size in range(len(name), 1, -1) if name[:size] in known), 0)
        if not size:
            return False
        name = name[size:]
    return not name or name in known


def _statements(plain: str) -> int:
    """Sentences that ask nothing."""
    return sum(not sentence.text.endswith("?") and not ASKING.search(sentence.text) for sentence in sentences(plain))


def _keeps_words(new: str, typed: str, language: Language) -> bool:
    wanted = keywords(SAYS_LITTLE[language].sub(" ", typed), language)
    return not wanted or len(places_of(wanted, new, language)) >= KEPT * len(wanted)


NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f]*")
