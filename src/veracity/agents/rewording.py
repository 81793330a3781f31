"""Does a question that was put anew still ask the same? Decided by form: language, length, names, numbers, words, and
the small ones that turn a meaning round.

Knows nothing about who put it anew, nor about how.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from veracity.agents.dependence import SAYS_LITTLE
from veracity.agents.keywords import keywords, places_of
from veracity.agents.polarity import polarity
from veracity.language import Language, content_tokens, entities, guess_language, normalized, sentences, tokens
from veracity.questions import ASKING

LONGEST = 400  # characters
LEAST_STEM = 4  # letters of a name that is known with another ending
KEPT = 0.5  # share of the words of the question that a good wording of it may not go below


def is_faithful(reworded: str, question: str, said: Sequence[str]) -> bool:
    """It is in the language of the question and no longer than a question is, keeps the names and numbers that were
    typed and most of the words, brings none that nobody said, negates and compares as the question does, and states
    nothing that was not stated."""
    language = guess_language(question)
    if not reworded.strip() or len(reworded) > LONGEST or guess_language(reworded) != language:
        return False
    typed, known = normalized(question), normalized("\n".join((question, *said)))
    new = normalized(reworded)
    return (
        all(_holds(new, name) for name in names_and_numbers(typed, language))
        and all(_is_known(name, known) for name in names_and_numbers(new, language))
        and polarity(new, language) == polarity(typed, language)
        and _statements(new) <= _statements(typed)
        and _keeps_words(new, typed, language)
    )


def adds_to(reworded: str, question: str) -> bool:
    """It has a word that the question lacks, and that says what it is about."""
    language = guess_language(question)
    typed = normalized(question)
    wanted = keywords(reworded, language)
    return len(places_of(wanted, typed, language)) < len(wanted)


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
    """東京支社 is known where 東京 and 支社 are, and Nigerian where Nigeria is."""
    if _holds(known, name):
        return True
    if name.isascii():
        return any(_is_of(name.lower(), word) for word in set(LATIN.findall(known.lower())))
    while len(name) > 1:
        size = next((size for size in range(len(name), 1, -1) if name[:size] in known), 0)
        if not size:
            return False
        name = name[size:]
    return not name or name in known


def _is_of(name: str, word: str) -> bool:
    """One of them is the other with an ending."""
    shorter, longer = sorted((name, word), key=len)
    return len(shorter) >= LEAST_STEM and longer.startswith(shorter) and longer[len(shorter) :] in OF_IT


def _statements(plain: str) -> int:
    """Sentences that ask nothing."""
    return sum(not sentence.text.endswith("?") and not ASKING.search(sentence.text) for sentence in sentences(plain))


def _keeps_words(new: str, typed: str, language: Language) -> bool:
    """Where it says nothing of its own, the words in which it says so: "Tell me more" is no other question."""
    wanted = keywords(SAYS_LITTLE[language].sub(" ", typed), language)
    if not wanted:
        typed_words, kept = set(tokens(typed, language)), set(tokens(new, language))
        return not typed_words or len(typed_words & kept) >= KEPT * len(typed_words)
    return len(places_of(wanted, new, language)) >= KEPT * len(wanted)


NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f]*")
OF_IT = frozenset(("n", "ns", "an", "ans", "ian", "ians", "ese", "ish", "i", "s"))
