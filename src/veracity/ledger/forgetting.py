"""What the ledger loses when documents are forgotten (SPEC X3): everything they say, and what may come from them.

A run whose writer had a passage of them loses its texts, its answer and its observation. One that only found a passage
loses the passage, its rewritten queries, which may hold words of it, and its observation. That also holds for a run
that was under way meanwhile and hands in later what it had read before. Knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, false, func, insert, null, select, update

from veracity.ledger import outbox, passages, runs
from veracity.ledger.schema import forgotten_documents, steps
from veracity.ledger.schema import runs as run_rows
from veracity.models import Answer, Dimension, Notice, Review, Step

NOTHING, FOUND, GIVEN = 0, 1, 2  # how far a run is touched
# Steps that tell of queries: a rewritten one may hold words of a document that was found, and not given.
QUERYING = ("rewrite_query", "grade_documents", "prepare_messages")
AT_ONCE = 500
NOTICES = {
    "en": "A document this answer rests on was forgotten, and its text with it.",
    "zh": "本回答所依据的文档已被遗忘，其内容已随之删除。",
    "ja": "この回答の根拠となった文書は削除され、本文も消去されました。",
}


def forget(connection: Connection, document_ids: Sequence[str]) -> None:
    last_run = connection.execute(select(func.max(run_rows.c.number))).scalar() or 0
    for some in _batches(list(dict.fromkeys(document_ids))):
        _remember(connection, some, last_run)
        for run_id, was_given in passages.empty(connection, some).items():
            strip(connection, run_id, GIVEN if was_given else FOUND)


def among(connection: Connection, document_ids: set[str], number: int) -> set[str]:
    """Those of the documents that were forgotten after the run of this number began."""
    gone = select(forgotten_documents.c.document_id).where(forgotten_documents.c.last_run >= number)
    return set(connection.execute(gone.where(forgotten_documents.c.document_id.in_(document_ids))).scalars())


def strip_late(connection: Connection, run_id: str, document_ids: set[str], was_given: bool) -> None:
    """For a run that hands in passages of documents which were forgotten meanwhile."""
    strip(connection, run_id, GIVEN if was_given else FOUND)
    mark_scrubbed(connection, sorted(document_ids), scrubbed=False)


def strip(connection: Connection, run_id: str, touched: int) -> None:
    """Take from a run what may come from a document that its passages were emptied of."""
    this_run = run_rows.c.run_id == run_id
    answer = runs.answer_of(connection, run_id)
    touched = extent(connection, run_id, answer, touched)
    if answer is not None:
        gone = passages.emptied_ids(connection, run_id)
        kept = answer_without_texts(answer) if touched == GIVEN else _answer_without_passages(answer, gone)
        connection.execute(update(run_rows).where(this_run), {"answer": kept.model_dump(mode="json")})
    theirs = steps.c.run_id == run_id
    if touched == FOUND:
        theirs &= steps.c.name.in_(QUERYING)
    connection.execute(update(steps).where(theirs).values(texts=null()))
    connection.execute(update(run_rows).where(this_run & (run_rows.c.forgotten < touched)).values(forgotten=touched))
    outbox.withdraw(connection, run_id)


def extent(connection: Connection, run_id: str, answer: Answer | None, touched: int) -> int:
    """How far a run is touched: an answer that shows a passage had it, whatever was said when the passage was kept. An
    extract has only what it cites."""
    if answer is None or touched == NOTHING:
        return touched
    emptied = passages.emptied_ids(connection, run_id)
    if answer.form == "extractive":
        cited = {citation.evidence_id for sentence in answer.sentences for citation in sentence.citations}
        return GIVEN if cited & emptied else FOUND
    return GIVEN if touched == GIVEN or any(item.id in emptied for item in answer.evidence) else FOUND


def step_without_texts(step: Step, touched: int) -> Step:
    """As the step of a run that is touched may be kept."""
    keeps = touched == NOTHING or (touched == FOUND and step.name not in QUERYING)
    return step if keeps else step.model_copy(update={"texts": None})


def _answer_without_passages(answer: Answer, gone: set[str]) -> Answer:
    """The places of the others stay, since [n] names them."""
    evidence = [passages.blank(item) if item.id in gone else item for item in answer.evidence]
    return answer.model_copy(update={"evidence": evidence})


def answer_without_texts(answer: Answer) -> Answer:
    notices = [notice for notice in answer.notices if notice.code != "forgotten"]
    told = Notice(code="forgotten", text=NOTICES.get(answer.language, NOTICES["en"]))
    emptied = {"text": "", "sentences": [], "evidence": [], "missing": [], "notices": [*notices, told]}
    return answer.model_copy(update={**emptied, "review": _verdict(answer.review)})


def not_scrubbed(connection: Connection) -> list[str]:
    """The documents whose rows were emptied, while their bytes may still be in the files."""
    left = select(forgotten_documents.c.document_id).where(forgotten_documents.c.is_scrubbed == false())
    return list(connection.execute(left).scalars())


def mark_scrubbed(connection: Connection, document_ids: Sequence[str], *, scrubbed: bool = True) -> None:
    for some in _batches(document_ids):
        theirs = forgotten_documents.c.document_id.in_(some)
        connection.execute(update(forgotten_documents).where(theirs).values(is_scrubbed=scrubbed))


def _remember(connection: Connection, document_ids: Sequence[str], last_run: int) -> None:
    known = set(
        connection.execute(
            select(forgotten_documents.c.document_id).where(forgotten_documents.c.document_id.in_(document_ids))
        ).scalars()
    )
    values = {"last_run": last_run, "is_scrubbed": False}
    connection.execute(
        update(forgotten_documents).where(forgotten_documents.c.document_id.in_(known)).values(values),
    )
    if fresh := [{"document_id": one, **values} for one in document_ids if one not in known]:
        connection.execute(insert(forgotten_documents), fresh)


def _batches(document_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (document_ids[start : start + AT_ONCE] for start in range(0, len(document_ids), AT_ONCE))


def _verdict(review: Review | None) -> Review | None:
    """What was found, without the words of it: they quote."""
    if review is None:
        return None
    parts = {"reasonableness": _mute(review.reasonableness), "evidence": _mute(review.evidence)}
    return review.model_copy(update={**parts, "suggestions": [], "problem": ""})


def _mute(dimension: Dimension | None) -> Dimension | None:
    return None if dimension is None else Dimension(passed=dimension.passed)
