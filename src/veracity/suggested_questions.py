"""Questions offered to people: examples of what the documents answer, and follow-ups of an answer."""

from __future__ import annotations

import contextlib

from veracity.assembly import Assembly
from veracity.deadlines import NEVER, Stop
from veracity.errors import LedgerError
from veracity.inputs import check_text
from veracity.models import ExampleQuestion
from veracity.workspace import hash_configuration


class SuggestedQuestions:
    """Each was tried before. Calls no model and stores no run. Can be shared by threads."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts

    def examples(self) -> list[ExampleQuestion]:
        """Questions that the documents are known to answer, each from another document. A server finds them in the
        background, see `find_examples`; those of documents that were removed or changed since are left out."""
        store = self._parts.documents
        found = self._parts.ledger.examples.list_all()
        return [example for example in found if store.text_hash(example.document_id) == example.content]

    def find_examples(self, stop: Stop = NEVER, *, duty: float = 1.0) -> bool:
        """Find `examples` if the documents or settings have changed since, and no other process does. False if there
        was nothing to do.

        `duty` is the share of the time that it works. `stop` ends it from another thread: it raises `Stopped`.
        """
        store, ledger = self._parts.documents, self._parts.ledger
        configuration = hash_configuration(self._parts.workspace, self._parts.settings)
        documents = f"{store.content_hash()} {configuration}" if store.languages() else ""
        if not documents or not ledger.examples.claim(documents):
            return False
        try:
            found = list(self._parts.suggester.find_examples(lambda seconds: stop.sleep(seconds * (1 / duty - 1))))
            ledger.examples.replace(documents, found)
        except BaseException:
            with contextlib.suppress(LedgerError):
                ledger.examples.release(documents)
            raise
        return True

    def follow_ups(self, run: str) -> list[str]:
        """Up to three questions that the documents next to those cited by an answer are known to answer.

        Takes some seconds at most.
        """
        ledger = self._parts.ledger
        run_id = ledger.find(check_text(run, "The run id"))
        answer = ledger.answer(run_id)
        if answer is None or answer.status != "answered" or not answer.sentences:
            return []
        return self._parts.suggester.find_follow_ups(answer, ledger.parameters(run_id).only)
