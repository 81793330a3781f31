"""A conversation at the command line: questions, and commands that begin with a slash. Knows no terminal."""

from __future__ import annotations

import difflib
import re
import secrets
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from veracity.cli import receipts, turns
from veracity.cli.answers import WAITING, show_sources
from veracity.cli.approving import show_approvals, waiting_of
from veracity.cli.console import console, plain, table
from veracity.cli.offering import how_to_decide, present, to_type
from veracity.cli.watching import complain, errors, is_interactive, watched
from veracity.engine import Veracity
from veracity.errors import InputError, VeracityError
from veracity.models import Answer, Step

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that could be taken for something else
NEAR = 0.7  # how like a command what was typed must be to be taken for it
COMMAND = re.compile(r"/[a-z]*\??")
LEAVING = ("/quit", "/exit")


def new_name() -> str:
    """Tells when the conversation began, as the ids of runs do."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(ALPHABET) for _ in range(6))}"


class Chat:
    """`workspace` as it was named, if it was: for commands that are to be typed. `has_failed`: a question was not
    answered, since something went wrong."""

    def __init__(
        self, engine: Veracity, user: str, conversation: str, show_steps: bool, workspace: Path | None = None
    ) -> None:
        self.conversation = conversation
        self.has_failed = False
        self._engine = engine
        self._user = user
        self._show_steps = show_steps
        self._workspace = workspace
        self._last: Answer | None = None
        self._left: list[str] = []  # approvals that were put off
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            "/sources": (self._sources, "the passages that the last answer cites, whole"),
            "/why": (self._why, "how the last answer came about"),
            "/history": (self._history, "what was asked and answered so far"),
            "/approvals": (self._approvals, "answers of yours that wait for a person"),
            "/decide": (self._decide, "decide on one of them: /decide ID, or on the newest"),
            "/new": (self._new, "begin a new conversation"),
            "/help": (self._help, "this list"),
        }

    def hear(self, said: str) -> bool:
        """Whether the conversation goes on. What goes wrong is told, and ends nothing."""
        word, _, rest = said.strip().partition(" ")
        command = unicodedata.normalize("NFKC", word).casefold()
        try:
            if command in LEAVING:
                return False
            if f"/{command}" in LEAVING and not rest:
                raise InputError("To leave, type /quit or press Ctrl-D.")
            if not said.strip():
                return True
            if COMMAND.fullmatch(command):
                self._command(command, rest.strip())
            else:
                self._ask(said)
        except VeracityError as problem:
            complain(problem)
        except KeyboardInterrupt:
            errors.print(plain("Stopped.", "yellow"))
        return True

    def waits(self) -> bool:
        """Whether an answer of this conversation still waits for a person."""
        return any(self._engine.approval(one).state == "pending" for one in self._left)

    def _ask(self, question: str) -> None:
        try:
            events = self._engine.stream(question, conversation=self.conversation, user=self._user)
            answer = watched(events, self._show_steps, lambda step: _tell_understanding(step, question))
        except VeracityError:
            self.has_failed = True
            raise
        self._tell(answer)

    def _tell(self, answer: Answer) -> None:
        self._last = present(self._engine, answer, self._show_steps, brief=True)
        if self._last.status == WAITING:
            self._left.append(self._last.approval_id)
            later = f"It waits: /decide {self._last.approval_id}" if is_interactive() else ""
            told = later or how_to_decide(self._last.approval_id, self._workspace)
            console.print(plain(told, "dim"), soft_wrap=True)

    def _command(self, command: str, rest: str) -> None:
        if command in self._commands:
            if rest and command != "/decide":
                raise InputError(f"{command} takes no argument.")
            self._commands[command][0](rest)
            return
        closest = difflib.get_close_matches(command, [*self._commands, *LEAVING], n=1, cutoff=NEAR)
        told = f"did you mean {closest[0]}?" if closest else "/help lists what there is."
        raise InputError(f"There is no {command}: {told}")

    def _sources(self, _: str) -> None:
        answer = self._latest()
        if answer.status == WAITING:
            raise InputError("The last answer waits for a person: /decide shows what it cites.")
        show_sources(answer)

    def _why(self, _: str) -> None:
        """The drafts of what waits are for whoever decides on it."""
        latest = self._latest()
        receipt = self._engine.receipt(latest.run_id)
        if receipt.run.status == WAITING:
            look = to_type("approve", f"{receipt.approvals[-1].approval_id} --show", self._workspace)
            raise InputError(f"The last answer waits for a person. To look at the draft: {look}")
        receipts.tell(receipt)

    def _history(self, _: str) -> None:
        turns.tell(self._engine, self.conversation, self._user)

    def _approvals(self, _: str) -> None:
        waiting = self._engine.approvals(user=self._user)
        if waiting:
            show_approvals(waiting)
        else:
            console.print(plain("Nothing waits for a person."))

    def _decide(self, name: str) -> None:
        approval = waiting_of(self._engine, self._user, name)
        if not is_interactive():
            command = to_type("approve", approval.approval_id, self._workspace)
            raise InputError(f"Nobody sits here to decide. Where somebody does: {command}")
        self._tell(approval.draft.model_copy(update={"status": WAITING, "approval_id": approval.approval_id}))

    def _new(self, _: str) -> None:
        self.conversation, self._last = new_name(), None
        console.print(plain(f"A new conversation: {self.conversation}."))

    def _help(self, _: str) -> None:
        rows = table("Command", "What it does")
        for name, (_command, told) in self._commands.items():
            rows.add_row(name, told)
        rows.add_row("/quit", "leave (so does Ctrl-D)")
        console.print(rows)
        console.print(plain("Alt-Enter, or a backslash at the end of a line, begins another line."))

    def _latest(self) -> Answer:
        if self._last is None:
            raise InputError("Nothing was answered in this conversation yet: ask something.")
        return self._last


def _tell_understanding(step: Step, question: str) -> None:
    standalone = (step.texts or {}).get("standalone", "") if step.name == "decide_route" else ""
    if standalone and standalone != question.strip():
        errors.print(plain(f"Understood as: {standalone}", "dim"))
