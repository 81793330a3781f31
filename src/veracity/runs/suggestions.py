"""Questions that the documents are known to answer: examples for an empty page, and follow-ups of an answer.

They are made from the documents (`agents/suggest`) and tried (`trials.py`); only those with a released answer that
cites the sentence they were made from are kept. The work is bounded, however many documents there are.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import get_args

from veracity.agents.suggest import Suggestion, is_repetition, rank_question, suggest_questions
from veracity.graph.context import RunContext
from veracity.knowledge.store import Store
from veracity.language import Language, guess_language
from veracity.models import Answer, ExampleQuestion, KnownDocument
from veracity.runs.trials import try_question

MAX_EXAMPLES = 4  # for each language
MAX_DOCUMENTS = 24  # read for each language
MAX_TRIALS = 5  # for each document
MAX_FOLLOW_UPS = 3
MAX_FOLLOW_UP_TRIALS = 8
FOLLOW_UP_SECONDS = 5.0
MAX_KEPT = 500  # answers with their follow-ups
NEARBY = 6_000  # characters before and after a cited passage

LANGUAGES: tuple[Language, ...] = get_args(Language)


class Suggester:
    """`context` is that of `make_local_context`."""

    def __init__(self, store: Store, context: RunContext) -> None:
        self._store = store
        self._context = context
        self._follow_ups: OrderedDict[object, list[str]] = OrderedDict()  # the latest, by answer and documents

    def find_examples(self, pause: Callable[[float], None] = lambda seconds: None) -> Iterator[ExampleQuestion]:
        """At most one of a document. Calls `pause` with the seconds that each trial took; it may raise to end."""
        by_language: dict[str, list[KnownDocument]] = defaultdict(list)
        for document in self._store.documents():
            by_language[document.language].append(document)
        for language in LANGUAGES:
            documents = spread(by_language[language], MAX_DOCUMENTS)
            suggested = [(document, best) for document in documents if (best := self._suggest(document, language))]
            suggested.sort(key=lambda pair: rank_question(pair[1][0].question, language))
            found = (self._find_example(document, language, best, pause) for document, best in suggested)
            yield from islice(filter(None, found), MAX_EXAMPLES)

    def find_follow_ups(self, answer: Answer, only: Sequence[str] = ()) -> list[str]:
        """Questions about what is next to the cited passages, nearest first, in the language of the question."""
        key = answer.run_id, self._store.version
        if key not in self._follow_ups:
            self._follow_ups[key] = self._try_follow_ups(answer, only)
            while len(self._follow_ups) > MAX_KEPT:
                self._follow_ups.popitem(last=False)
        return self._follow_ups[key]

    def _try_follow_ups(self, answer: Answer, only: Sequence[str]) -> list[str]:
        language = guess_language(answer.question)
        found: list[str] = []
        ends = time.monotonic() + FOLLOW_UP_SECONDS
        for document_id, suggestion in islice(self._suggest_nearby(answer, language), MAX_FOLLOW_UP_TRIALS):
            question = suggestion.question
            known = (answer.question, answer.standalone, *found)
            if any(is_repetition(question, other, language) for other in known):
                continue
            if self._is_answered(question, document_id, suggestion, only):
                found.append(question)
            if len(found) == MAX_FOLLOW_UPS or time.monotonic() > ends:
                break
        return found

    def close(self) -> None:
        self._context.close()

    def _suggest(self, document: KnownDocument, language: Language) -> list[Suggestion]:
        """The best first."""
        suggestions = suggest_questions(self._store.text(document.id) or "", language)
        return sorted(suggestions, key=lambda item: rank_question(item.question, language))[:MAX_TRIALS]

    def _find_example(
        self,
        document: KnownDocument,
        language: Language,
        suggestions: Sequence[Suggestion],
        pause: Callable[[float], None],
    ) -> ExampleQuestion | None:
        for suggestion in suggestions:
            started = time.monotonic()
            is_answered = self._is_answered(suggestion.question, document.id, suggestion)
            pause(time.monotonic() - started)
            if is_answered:
                return ExampleQuestion(
                    question=suggestion.question,
                    language=language,
                    document_id=document.id,
                    content=self._store.text_hash(document.id),
                )
        return None

    def _suggest_nearby(self, answer: Answer, language: Language) -> Iterator[tuple[str, Suggestion]]:
        cited = {(quote.document_id, quote.start, quote.end) for item in answer.sentences for quote in item.citations}
        by_distance: list[tuple[int, str, Suggestion]] = []
        for document_id, spans in _group(cited).items():
            text = self._store.text(document_id) or ""
            if guess_language(text[:NEARBY]) != language:
                continue
            start, end = min(first for first, _ in spans), max(last for _, last in spans)
            offset = text.rfind("\n\n", 0, max(0, start - NEARBY)) + 1
            for suggestion in suggest_questions(text[offset : end + NEARBY], language):
                moved = suggestion._replace(start=suggestion.start + offset, end=suggestion.end + offset)
                if not any(moved.start < last and first < moved.end for first, last in spans):
                    distance = min(abs(moved.start - first) for first, _ in spans)
                    by_distance.append((distance, document_id, moved))
        return ((document_id, suggestion) for _, document_id, suggestion in sorted(by_distance))

    def _is_answered(self, question: str, document_id: str, suggestion: Suggestion, only: Sequence[str] = ()) -> bool:
        """Whether the released answer cites what the question was made from."""
        answer = try_question(self._context, question, only)
        citations = [citation for sentence in answer.sentences for citation in sentence.citations] if answer else []
        return any(
            citation.document_id == document_id and citation.start < suggestion.end and suggestion.start < citation.end
            for citation in citations
        )


def spread(documents: Sequence[KnownDocument], count: int) -> list[KnownDocument]:
    """At most `count` of them, evenly from the whole list."""
    step = max(1, -(-len(documents) // count))
    return list(documents[::step])


def _group(cited: Iterable[tuple[str, int, int]]) -> dict[str, list[tuple[int, int]]]:
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document_id, start, end in sorted(cited):
        spans[document_id].append((start, end))
    return spans
