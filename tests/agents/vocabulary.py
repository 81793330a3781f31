"""A vocabulary of some texts, for the tests of rewriting and spelling correction."""

from collections import Counter
from collections.abc import Sequence

from veracity.language import guess_language, search_tokens


class FakeVocabulary:
    """The vocabulary of some texts. `near` are synonyms, `ordinary` English words that the texts do not contain."""

    def __init__(self, *texts: str, near: dict[str, str] | None = None, ordinary: Sequence[str] = ()) -> None:
        self._counts = Counter(word for text in texts for word in search_tokens(text, guess_language(text)))
        self._near = near or {}
        self._ordinary = {*ordinary, *(word.strip(".,").lower() for text in texts for word in text.split())}
        self._texts = " ".join(texts).lower()
        self.size = sum(self._counts.values())

    def frequency(self, word: str) -> int:
        return self._counts[word]

    def knows(self, word: str) -> bool:
        return word in self._counts

    def is_ordinary(self, word: str) -> bool:
        return word.lower() in self._ordinary

    def is_written(self, word: str) -> bool:
        return word.lower() in self._texts

    def words_containing(self, character: str) -> list[str]:
        return [word for word in self._counts if character in word and len(word) > 1]

    def similarities(self, word: str, others: Sequence[str]) -> list[float]:
        return [0.9 if self._near.get(word) == other else 0.1 for other in others]
