"""What has to be in the files, whatever was killed: all that the engine told somebody, each once, and nothing else.

Compares what the processes wrote down with what the files say. Knows nothing about kills.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.campaigns import stage
from benchmarks.campaigns.records import ENDED, ApprovalRow, Records, RunRow

Deciding = tuple[str, str, str | None]  # who, what, and the text that was put in the draft's place


class Told:
    """What processes tried, and what they were told."""

    def __init__(self) -> None:
        self.begun: dict[int, str] = {}  # ticket to run
        self.asked: set[int] = set()
        self.answers: list[tuple[str, str, str]] = []
        self.waiting: set[str] = set()
        self.tried: dict[str, set[Deciding]] = defaultdict(set)
        self.decided: dict[str, set[Deciding]] = defaultdict(set)
        self.refused = 0
        self.problems: list[str] = []

    def read(self, lines: Sequence[list[Any]]) -> None:
        ticket = None
        for line in lines:
            match line:
                case ["asks", int(asked)]:
                    ticket = asked
                    self.asked.add(ticket)
                case ["begun", run_id] if ticket is not None:
                    self.begun[ticket] = run_id
                case ["tries", name, *deciding]:
                    self.tried[name].add(_deciding(deciding))
                case ["decided", name, *deciding]:
                    self.decided[name].add(_deciding(deciding))
                case ["answer", _, "awaiting_approval", _, approval_id]:
                    self.waiting.add(approval_id)
                case ["answer", run_id, status, text, _]:
                    self.answers.append((run_id, status, text))
                case ["refused", *_]:
                    self.refused += 1
                case ["error", kind, text]:
                    self.problems.append(f"{kind}: {text}")


class Truth:
    """`told` grows; `check` gives what is wrong, and remembers what it has seen: that must not change any more."""

    def __init__(self) -> None:
        self.told = Told()
        self._seen: dict[str, Deciding] = {}
        self._ended: dict[str, tuple[str, str]] = {}

    def check(self, records: Records, *, at_end: bool) -> list[str]:
        """After everything was recovered, with no process alive. Only `at_end` all has to be delivered."""
        return [
            *self.told.problems,
            *self._asked(records),
            *(found for run in records.runs for found in _state(run)),
            *(found for run in records.runs if run.status in ENDED for found in _outcome(run)),
            *self._decisions(records),
            *self._answers(records),
            *_observed(records, at_end),
            *_turns(records),
        ]

    def _asked(self, records: Records) -> Iterator[str]:
        runs: dict[int, list[str]] = defaultdict(list)
        for run in records.runs:
            runs[stage.ticket_of(run.question)].append(run.run_id)
        for ticket, theirs in runs.items():
            if len(theirs) > 1 or ticket not in self.told.asked:
                yield f"ticket {ticket} was asked once and has the runs {theirs}"
        for ticket, run_id in self.told.begun.items():
            if runs[ticket] != [run_id]:
                yield f"ticket {ticket} was begun as {run_id} and has the runs {runs[ticket]}"

    def _decisions(self, records: Records) -> Iterator[str]:
        known = {one.approval_id: one for one in records.approvals}
        yield from (f"{name} was told to wait and is lost" for name in self.told.waiting - set(known))
        for name, told in self.told.decided.items():
            if len(told) != 1:
                yield f"{name} was decided twice: {told}"
            elif known[name].decision not in told:
                yield f"{name}: {told} was told, and the ledger says {known[name].decision}"
        for name, row in known.items():
            if row.decision and row.decision not in self.told.tried[name]:
                yield f"{name} was decided by nobody: {row.decision}"
            if name in self._seen and row.decision != self._seen[name]:
                yield f"{name} was decided again: {self._seen[name]}, then {row.decision}"
            if row.decision:
                self._seen[name] = row.decision

    def _answers(self, records: Records) -> Iterator[str]:
        now = {run.run_id: (run.status, (run.answer or {}).get("text", "")) for run in records.runs}
        for run_id, status, text in self.told.answers:
            if now.get(run_id) != (status, text):
                yield f"{run_id}: {(status, text)} was told, and the ledger says {now.get(run_id)}"
        for run_id, was in self._ended.items():
            if now.get(run_id) != was:
                yield f"{run_id} had ended as {was} and is {now.get(run_id)}"
        self._ended |= {run_id: one for run_id, one in now.items() if one[0] in ENDED}


def _state(run: RunRow) -> Iterator[str]:
    """It has ended, or waits for one decision."""
    pending = [one for one in run.approvals if one.state == "pending"]
    waits = run.status == "awaiting_approval"
    if run.status == "failed":
        yield f"{run.run_id} failed: {run.problem}"
    elif not waits and run.status not in ENDED:
        yield f"{run.run_id} is {run.status}, and nobody works on it"
    if len(pending) != waits or (waits and run.approvals[-1] != pending[0]):
        yield f"{run.run_id} is {run.status} with {len(pending)} drafts that wait"
    if [one.attempt for one in run.approvals] != list(range(1, len(run.approvals) + 1)):
        yield f"{run.run_id} has drafts of the attempts {[one.attempt for one in run.approvals]}"
    if len(run.web_attempts) > 1 or len(run.approvals) > 2:
        yield f"{run.run_id} searched the web for the attempts {run.web_attempts}"


def _outcome(run: RunRow) -> Iterator[str]:
    """What was approved went out as it was approved, and a first rejection led to one search of the web."""
    if run.answer is None:
        yield f"{run.run_id} is {run.status} and has no answer"
        return
    status, text, attempt = run.answer["status"], run.answer["text"], run.answer["attempt"]
    if status != run.status:
        yield f"{run.run_id} is {run.status} with an answer that is {status}"
    last = run.approvals[-1] if run.approvals else None
    if last and last.state == "approved" and (attempt, status, text) != _approved(last):
        yield f"{run.run_id}: approved was {_approved(last)}, out went {(attempt, status, text)}"
    if run.approvals and run.approvals[0].state == "rejected":
        finds = stage.fate(stage.ticket_of(run.question)) != stage.WEB_EMPTY
        if attempt != 1 + finds:
            yield f"{run.run_id} was rejected and ended with attempt {attempt}"
    elif run.web_attempts:
        yield f"{run.run_id} searched the web, and nobody had rejected anything"
    if last and last.state == "rejected" and last.attempt == attempt and status not in ("rejected", "abstained"):
        yield f"{run.run_id} was rejected and is {status}"


def lacks_search(run: RunRow) -> bool:
    """Steps are written down some at a time: those of the last moments before a kill can be missing in the receipt."""
    return bool(run.answer and run.answer["attempt"] > 1 and not run.web_attempts)


def _approved(row: ApprovalRow) -> tuple[int, str, str]:
    edit = row.decision[2] if row.decision else None
    return (row.attempt, row.draft_status, row.draft) if edit is None else (row.attempt, "answered", edit)


def _observed(records: Records, at_end: bool) -> Iterator[str]:
    """One of each answer that passed its review, in the file, or for now on its way there."""
    if records.torn:
        yield f"{records.torn} observations are torn"
    there = Counter((one["run_id"], one["attempt"], one["output"]) for one in records.observations)
    wanted = Counter(
        (run.run_id, run.answer["attempt"], run.answer["text"])
        for run in records.runs
        if run.answer and run.status == "answered" and (run.answer["review"] or {}).get("outcome") == "passed"
    )
    coming = set() if at_end else records.undelivered
    yield from (f"the observation {one} is lost" for one in wanted - there if one[:2] not in coming)
    yield from (f"the observation {one} is one too many" for one in there - wanted)


def _turns(records: Records) -> Iterator[str]:
    turns: dict[str, list[int]] = defaultdict(list)
    for run in records.runs:
        if run.conversation:
            turns[run.conversation].append(run.turn)
    for name, numbers in turns.items():
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the conversation {name} has the turns {numbers}"


def _deciding(told: list[Any]) -> Deciding:
    by, verdict, edit = told
    return by, verdict, edit
