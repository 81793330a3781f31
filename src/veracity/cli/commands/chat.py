"""`veracity chat`: a conversation at a terminal, or one question per line where none is there."""

from __future__ import annotations

import difflib
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from veracity.cli.commands import runs
from veracity.cli.commands.approvals import show_approvals, waiting_of
from veracity.cli.commands.ingest import chosen, counted
from veracity.cli.ui.answers import WAITING, show_sources
from veracity.cli.ui.approval_prompt import WAITS, how_to_decide, present, to_type
from veracity.cli.ui.console import console, plain, table
from veracity.cli.ui.progress import complain, errors, is_interactive, watched
from veracity.engine import Veracity
from veracity.errors import InputError, VeracityError
from veracity.models import Answer, PastTurn, RunSummary, Step
from veracity.workspace import Workspace

LONGEST_SHOWN = 300  # characters of an earlier answer
MOST_RUNS = 100_000


def tell(engine: Veracity, conversation: str, user: str) -> None:
    turns = engine.turns(conversation, user=user)
    if not turns:
        console.print(plain("Nothing was asked in this conversation yet."))
    runs = {} if all(turn.answer for turn in turns) else _runs(engine, user)
    for turn in turns:
        console.print(plain(f"{turn.number}. {turn.question}", "bold"))
        console.print(plain(f"   {_answer(turn, runs.get(turn.run_id))}"))


def _runs(engine: Veracity, user: str) -> dict[str, RunSummary]:
    return {run.run_id: run for run in engine.runs(MOST_RUNS, user=user)}


def _answer(turn: PastTurn, run: RunSummary | None) -> str:
    answer = " ".join(turn.answer.split()) or _why_none(run)
    return answer if len(answer) <= LONGEST_SHOWN else f"{answer[:LONGEST_SHOWN]}…"


def _why_none(run: RunSummary | None) -> str:
    status = run.status if run else ""
    if run and status == "failed":
        return "(stopped)" if run.problem.startswith("stopped") else f"(failed: {' '.join(run.problem.split())})"
    told = {WAITING: "waits for a person", "running": "under way", "rejected": "rejected"}
    return f"({told.get(status, 'no answer that can be used again')})"


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
        runs.tell(receipt)

    def _history(self, _: str) -> None:
        tell(self._engine, self.conversation, self._user)

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


def run(workspace: Path | None, conversation: str | None, go_on: bool, user: str, show_steps: bool) -> int:
    if conversation is not None and go_on:
        raise InputError(
            "--conversation names the one to go on with, and --continue takes the latest: give one of them."
        )
    root = chosen(workspace)
    with Veracity(root) as engine:
        if not (documents := len(engine.documents())):
            raise InputError("The workspace holds no documents yet: bring some in with veracity ingest PATH.")
        name = conversation or (_latest(engine, user) if go_on else None) or new_name()
        turns = len(engine.turns(name, user=user))  # a name that cannot be one is told here
        chat = Chat(engine, user, name, show_steps, workspace)
        seated = is_interactive()
        if seated:
            _greet(root, documents, chat, turns)
            _talk(chat, root)
        else:
            _read_all(chat)
        if chat.waits():
            return WAITS
        return 1 if chat.has_failed and not seated else 0  # who sat there was told


def _latest(engine: Veracity, user: str) -> str | None:
    known = engine.conversations(user=user, limit=1)
    return known[0].conversation if known else None


def _greet(root: Path, documents: int, chat: Chat, turns: int) -> None:
    so_far = f" ({counted(turns, 'turn')} so far)" if turns else ""
    where = root.resolve().name or str(root)
    told = f"{where}: {counted(documents, 'document')}. Conversation {chat.conversation}{so_far}. /help tells more."
    console.print(plain(told, "dim"), soft_wrap=True)


def _talk(chat: Chat, root: Path) -> None:
    from veracity.cli.ui.input import Prompt  # noqa: PLC0415 - loads prompt_toolkit

    prompt = Prompt(Workspace(root).ledger_folder)
    while (said := prompt.read()) is not None and chat.hear(said):
        console.print()


def _read_all(chat: Chat) -> None:
    """What comes in stands before what comes of it."""
    for said in _lines(chat):
        console.print(plain(f"> {said}", "bold"))
        if not chat.hear(said):
            return
        console.print()


def _lines(chat: Chat) -> Iterator[str]:
    """As they come in. One that is no text is told of, and the next one is read."""
    for raw in sys.stdin.buffer if sys.stdin else ():
        try:
            said = raw.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            complain("A line that came in is not UTF-8 text: it was left out.")
            chat.has_failed = True
            continue
        if said:
            yield said
