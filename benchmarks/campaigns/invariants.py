"""Invariants that hold after any kill: everything the engine reported is in the files, once, and nothing else is.

Compares the logs of the processes with the files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from benchmarks.campaigns import scenario
from benchmarks.campaigns.records import ENDED, ApprovalRow, Records, RunRow
from benchmarks.campaigns.step_invariants import Shown, check_path, check_shown, read_shown

Decision = tuple[str, str, str | None]  # user, verdict, edit


class Reports:
    """What the processes tried and what the engine reported to them."""

    def __init__(self) -> None:
        self.begun: dict[int, str] = {}  # ticket to run
        self.asked: set[int] = set()
        self.answers: list[tuple[str, str, str]] = []
        self.pending: set[str] = set()
        self.tried: dict[str, set[Decision]] = defaultdict(set)
        self.decided: dict[str, set[Decision]] = defaultdict(set)
        self.shown: list[Shown] = []  # by each process
        self.refused = 0
        self.problems: list[str] = []

    @property
    def shown_steps(self) -> set[tuple[str, str, datetime]]:
        """Run, name and start."""
        by_run = (item for shown in self.shown for item in shown.items())
        return {(run_id, *step) for run_id, steps in by_run for step in steps}

    def read(self, lines: Sequence[list[Any]]) -> None:
        ticket = None
        self.shown.append(read_shown(lines))
        for line in lines:
            match line:
                case ["asks", int(asked)]:
                    ticket = asked
                    self.asked.add(ticket)
                case ["begun", run_id] if ticket is not None:
                    self.begun[ticket] = run_id
                case ["tries", name, by, verdict, edit]:
                    self.tried[name].add((by, verdict, edit))
                case ["decided", name, by, verdict, edit]:
                    self.decided[name].add((by, verdict, edit))
                case ["answer", _, "awaiting_approval", _, approval_id]:
                    self.pending.add(approval_id)
                case ["answer", run_id, status, text, _]:
                    self.answers.append((run_id, status, text))
                case ["refused", *_]:
                    self.refused += 1
                case ["error", kind, text]:
                    self.problems.append(f"{kind}: {text}")


class Invariants:
    """Checks the files against `reports`, and against earlier checks: decisions and ended runs never change."""

    def __init__(self) -> None:
        self.reports = Reports()
        self._decisions: dict[str, Decision] = {}
        self._ended: dict[str, tuple[str, str]] = {}

    def check(self, records: Records, *, at_end: bool) -> list[str]:
        """Returns violations. Call it after a recovery, with no process alive. `at_end` nothing may be undelivered."""
        return [
            *self.reports.problems,
            *self._check_questions(records),
            *(violation for run in records.runs for violation in _check_state(run)),
            *(violation for run in records.runs if run.status in ENDED for violation in _check_outcome(run)),
            *(violation for run in records.runs for violation in check_path(run)),
            *check_shown(records, self.reports.shown),
            *self._check_decisions(records),
            *self._check_answers(records),
            *_check_observations(records, at_end),
            *_check_turns(records),
        ]

    def _check_questions(self, records: Records) -> Iterator[str]:
        runs: dict[int, list[str]] = defaultdict(list)
        for run in records.runs:
            runs[scenario.ticket_of(run.question)].append(run.run_id)
        for ticket, run_ids in runs.items():
            if len(run_ids) > 1 or ticket not in self.reports.asked:
                yield f"ticket {ticket} was asked once and has the runs {run_ids}"
        for ticket, run_id in self.reports.begun.items():
            if runs[ticket] != [run_id]:
                yield f"ticket {ticket} began as {run_id} and has the runs {runs[ticket]}"

    def _check_decisions(self, records: Records) -> Iterator[str]:
        rows = {approval.approval_id: approval for approval in records.approvals}
        yield from (f"{name} was reported as pending and is lost" for name in self.reports.pending - set(rows))
        for name, reported in self.reports.decided.items():
            if len(reported) != 1:
                yield f"{name} was decided twice: {reported}"
            elif rows[name].decision not in reported:
                yield f"{name}: {reported} was reported, and the ledger has {rows[name].decision}"
        for name, row in rows.items():
            if row.decision and row.state != "expired" and row.decision not in self.reports.tried[name]:
                yield f"{name} has a decision that no process made: {row.decision}"
            if name in self._decisions and row.decision != self._decisions[name]:
                yield f"{name} was decided again: {self._decisions[name]}, then {row.decision}"
            if row.decision:
                self._decisions[name] = row.decision

    def _check_answers(self, records: Records) -> Iterator[str]:
        now = {run.run_id: (run.status, (run.answer or {}).get("text", "")) for run in records.runs}
        for run_id, status, text in self.reports.answers:
            if now.get(run_id) != (status, text):
                yield f"{run_id}: {(status, text)} was reported, and the ledger has {now.get(run_id)}"
        for run_id, before in self._ended.items():
            if now.get(run_id) != before:
                yield f"{run_id} had ended as {before} and is {now.get(run_id)}"
        self._ended |= {run_id: state for run_id, state in now.items() if state[0] in ENDED}


def _check_state(run: RunRow) -> Iterator[str]:
    """A run has ended or has one pending draft."""
    pending = [approval for approval in run.approvals if approval.state == "pending"]
    is_waiting = run.status == "awaiting_approval"
    if run.status == "failed":
        yield f"{run.run_id} failed: {run.problem}"
    elif not is_waiting and run.status not in ENDED:
        yield f"{run.run_id} is {run.status}, and no process owns it"
    if len(pending) != is_waiting or (is_waiting and run.approvals[-1] != pending[0]):
        yield f"{run.run_id} is {run.status} with {len(pending)} pending drafts"
    if [approval.attempt for approval in run.approvals] != list(range(1, len(run.approvals) + 1)):
        yield f"{run.run_id} has drafts of the attempts {[approval.attempt for approval in run.approvals]}"
    sent_back = [approval for approval in run.approvals if approval.state == "sent_back"]
    if len(run.web_attempts) > 1 or len(run.approvals) > 2 + len(sent_back):
        yield f"{run.run_id} searched the web for the attempts {run.web_attempts}"


def _check_outcome(run: RunRow) -> Iterator[str]:
    """An approved text is released unchanged; a first rejection leads to one web search, and an expiry to none."""
    if run.answer is None:
        yield f"{run.run_id} is {run.status} and has no answer"
        return
    status, text, attempt = run.answer["status"], run.answer["text"], run.answer["attempt"]
    if status != run.status:
        yield f"{run.run_id} is {run.status} with an answer that is {status}"
    last = run.approvals[-1] if run.approvals else None
    if last and last.state == "approved" and (attempt, status, text) != _approved(last):
        yield f"{run.run_id}: {_approved(last)} was approved and {(attempt, status, text)} released"
    if attempt != _expected_attempt(run):
        yield f"{run.run_id} ended with attempt {attempt} instead of {_expected_attempt(run)}"
    if run.web_attempts and all(approval.state != "rejected" for approval in run.approvals):
        yield f"{run.run_id} searched the web without a rejection"
    is_refused = last is not None and last.state in ("rejected", "expired") and last.attempt == attempt
    if is_refused and status not in ("rejected", "abstained"):
        yield f"{run.run_id} was rejected or has expired and is {status}"


def _expected_attempt(run: RunRow) -> int:
    """A draft that was sent back leads to another attempt, and so does the first rejection if the web has results."""
    web_has_results = scenario.outcome_of(scenario.ticket_of(run.question)) != scenario.WEB_EMPTY
    is_rejected = any(approval.state == "rejected" for approval in run.approvals)
    return 1 + sum(approval.state == "sent_back" for approval in run.approvals) + (is_rejected and web_has_results)


def _approved(row: ApprovalRow) -> tuple[int, str, str]:
    edit = row.decision[2] if row.decision else None
    return (row.attempt, row.draft_status, row.draft) if edit is None else (row.attempt, "answered", edit)


def _check_observations(records: Records, at_end: bool) -> Iterator[str]:
    """Each answer that passed its review is in the file once or, before the end, undelivered."""
    if records.torn:
        yield f"{records.torn} observations are torn"
    actual = Counter((record["run_id"], record["attempt"], record["output"]) for record in records.observations)
    expected = Counter(
        (run.run_id, run.answer["attempt"], run.answer["text"])
        for run in records.runs
        if run.answer and run.status == "answered" and (run.answer["review"] or {}).get("outcome") == "passed"
    )
    undelivered = set() if at_end else records.undelivered
    yield from (f"the observation {record} is lost" for record in expected - actual if record[:2] not in undelivered)
    yield from (f"the observation {record} is duplicated" for record in actual - expected)


def _check_turns(records: Records) -> Iterator[str]:
    turns: dict[str, list[int]] = defaultdict(list)
    for run in records.runs:
        if run.conversation:
            turns[run.conversation].append(run.turn)
    for name, numbers in turns.items():
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the conversation {name} has the turns {numbers}"
