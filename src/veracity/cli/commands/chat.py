"""`veracity chat` and `veracity conversations`: a conversation at a terminal, or one question per line of input."""

from __future__ import annotations

import difflib
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from veracity.cli.commands.approvals import NONE_PENDING, find_pending, show_approvals
from veracity.cli.commands.runs import show_receipt
from veracity.cli.ui.answers import AWAITING, show_sources
from veracity.cli.ui.approval_prompt import EXIT_AWAITING, command_line, pending_commands, show_or_decide
from veracity.cli.ui.console import (
    console,
    count,
    error_console,
    is_interactive,
    one_line,
    plain,
    print_error,
    print_json,
    print_limit,
    table,
)
from veracity.cli.ui.progress import follow
from veracity.engine import Veracity, require_workspace
from veracity.errors import InputError, VeracityError
from veracity.models import Answer, PastTurn, RunSummary, Step
from veracity.models.steps import RouteStep

MAX_SHOWN_ANSWER = 300  # characters of an earlier answer
MAX_RUNS = 100_000
ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # without characters that look alike
MIN_SIMILARITY = 0.7  # of a mistyped command to the one it may mean
COMMAND = re.compile(r"/[a-z]*\??")
LEAVE_COMMANDS = ("/quit", "/exit")


def chat(
    workspace: Path | None,
    conversation: str | None,
    continues: bool,
    user: str,
    only: Sequence[str],
    show_steps: bool,
) -> None:
    if conversation is not None and continues:
        raise InputError("--conversation names a conversation and --continue takes the latest: give one of them.")
    root = require_workspace(workspace)
    with Veracity(root) as engine:
        if not engine.documents():
            raise InputError("The workspace has no documents yet: add some with veracity ingest PATH.")
        documents = len(engine.documents(only=only))
        name = conversation or (_latest_conversation(engine, user) if continues else None) or new_conversation_name()
        turns = len(engine.turns(name, user=user))  # also checks the name
        session = Chat(engine, user, name, only, show_steps, workspace)
        if is_interactive():
            _greet(root, documents, name, turns)
            _read_terminal(session, engine.chat_history_file)
        else:
            _read_standard_input(session)
        if session.has_pending():
            raise typer.Exit(EXIT_AWAITING)
        if session.has_failed and not is_interactive():  # at a terminal the user saw the failure
            raise typer.Exit(1)


def list_conversations(user: str, words: str, limit: int, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        conversations = engine.conversations(user=user, limit=limit, query=words)
    if as_json:
        print_json(conversations)
        return
    if not conversations:
        console.print(
            plain("No conversation contains all these words." if words else "No conversations yet: veracity chat.")
        )
        return
    rows = table("Conversation", "Turns", "Last (UTC)", "Title", right=("Turns",), whole=("Conversation", "Last (UTC)"))
    for conversation in conversations:
        pin = "★ " if conversation.pinned else ""
        cells = (f"{conversation.last:%Y-%m-%d %H:%M}", pin + one_line(conversation.title))
        rows.add_row(plain(conversation.conversation), f"{conversation.turns:,}", *map(plain, cells))
    console.print(rows)
    print_limit(len(conversations), limit)


def export_conversation(name: str, user: str, workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        transcript = engine.transcript(name, user=user)
        if as_json:
            print_json(transcript)
        else:
            console.print(plain(engine.transcript_markdown(transcript).rstrip()), soft_wrap=True)


def new_conversation_name() -> str:
    """Starts with the time, like the ids of runs."""
    time = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{time}-{''.join(secrets.choice(ID_ALPHABET) for _ in range(6))}"


class Chat:
    """A conversation. `workspace` is the option as typed, for commands to copy. `has_failed`: a question failed."""

    def __init__(
        self,
        engine: Veracity,
        user: str,
        conversation: str,
        only: Sequence[str],
        show_steps: bool,
        workspace: Path | None,
    ) -> None:
        self.conversation = conversation
        self.has_failed = False
        self._engine = engine
        self._user = user
        self._only = only
        self._show_steps = show_steps
        self._workspace = workspace
        self._last: Answer | None = None
        self._postponed: list[str] = []  # ids of approvals
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            "/sources": (self._show_sources, "show the cited passages of the last answer"),
            "/why": (self._show_receipt, "show the receipt of the last answer"),
            "/history": (self._show_history, "show the questions and answers so far"),
            "/approvals": (self._show_approvals, "list your answers that await approval"),
            "/decide": (self._decide, "decide on one of them: /decide ID, or on the newest"),
            "/new": (self._start_new, "start a new conversation"),
            "/help": (self._show_help, "show this list"),
        }

    def handle(self, message: str) -> bool:
        """Run a command or ask a question. False to leave. Errors are printed."""
        word, _, rest = message.strip().partition(" ")
        command = unicodedata.normalize("NFKC", word).casefold()
        try:
            if command in LEAVE_COMMANDS:
                return False
            if f"/{command}" in LEAVE_COMMANDS and not rest:
                raise InputError("To leave, type /quit or press Ctrl-D.")
            if not message.strip():
                return True
            if COMMAND.fullmatch(command):
                self._run_command(command, rest.strip())
            else:
                self._ask(message)
        except VeracityError as error:
            print_error(error)
        except KeyboardInterrupt:
            error_console.print(plain("Stopped.", "yellow"))
        return True

    def has_pending(self) -> bool:
        """Whether a postponed answer still awaits approval."""
        return any(self._engine.approval(approval_id).state == "pending" for approval_id in self._postponed)

    def _ask(self, question: str) -> None:
        try:
            events = self._engine.stream(question, conversation=self.conversation, user=self._user, only=self._only)
            answer = follow(events, self._show_steps, lambda step: _show_standalone(step, question))
        except VeracityError:
            self.has_failed = True
            raise
        self._show(answer)

    def _show(self, answer: Answer) -> None:
        self._last = show_or_decide(self._engine, answer, self._show_steps, brief=True)
        if self._last.status == AWAITING:
            approval_id = self._last.approval_id
            self._postponed.append(approval_id)
            later = f"Awaiting approval: /decide {approval_id}"
            text = later if is_interactive() else pending_commands(self._engine, self._last, self._workspace)
            console.print(plain(text, "dim"), soft_wrap=True)

    def _run_command(self, command: str, argument: str) -> None:
        if command in self._commands:
            if argument and command != "/decide":
                raise InputError(f"{command} takes no argument.")
            self._commands[command][0](argument)
            return
        closest = difflib.get_close_matches(command, [*self._commands, *LEAVE_COMMANDS], n=1, cutoff=MIN_SIMILARITY)
        hint = f"did you mean {closest[0]}?" if closest else "/help lists the commands."
        raise InputError(f"There is no {command}: {hint}")

    def _show_sources(self, _: str) -> None:
        answer = self._last_answer()
        if answer.status == AWAITING:
            raise InputError("The last answer awaits approval: /decide shows its citations.")
        show_sources(answer)

    def _show_receipt(self, _: str) -> None:
        """Refused while the answer is pending: its drafts are for the approver."""
        receipt = self._engine.receipt(self._last_answer().run_id)
        if receipt.run.status == AWAITING:
            command = command_line("approve", f"{receipt.approvals[-1].approval_id} --show", self._workspace)
            raise InputError(f"The last answer awaits approval. To see the draft: {command}")
        show_receipt(receipt, self._engine.settings.scales)

    def _show_history(self, _: str) -> None:
        turns = self._engine.turns(self.conversation, user=self._user)
        if not turns:
            console.print(plain("No questions in this conversation yet."))
        is_answered = all(turn.answer for turn in turns)
        runs = {} if is_answered else {run.run_id: run for run in self._engine.runs(MAX_RUNS, user=self._user)}
        for turn in turns:
            console.print(plain(f"{turn.number}. {turn.question}", "bold"))
            console.print(plain(f"   {_format_answer(turn, runs.get(turn.run_id))}"))

    def _show_approvals(self, _: str) -> None:
        if approvals := self._engine.approvals(user=self._user):
            show_approvals(approvals)
        else:
            console.print(plain(NONE_PENDING))

    def _decide(self, name: str) -> None:
        approval = find_pending(self._engine, self._user, name)
        if not is_interactive():
            command = command_line("approve", approval.approval_id, self._workspace)
            raise InputError(f"/decide needs a terminal. Instead: {command}")
        self._show(approval.draft.model_copy(update={"status": AWAITING, "approval_id": approval.approval_id}))

    def _start_new(self, _: str) -> None:
        self.conversation, self._last = new_conversation_name(), None
        console.print(plain(f"New conversation: {self.conversation}."))

    def _show_help(self, _: str) -> None:
        rows = table("Command", "What it does")
        for name, (_command, description) in self._commands.items():
            rows.add_row(name, description)
        rows.add_row("/quit", "leave (or press Ctrl-D)")
        console.print(rows)
        console.print(plain("Alt-Enter, or a backslash at the end of a line, starts a new line."))

    def _last_answer(self) -> Answer:
        if self._last is None:
            raise InputError("No answer in this conversation yet: ask a question.")
        return self._last


def _show_standalone(step: Step, question: str) -> None:
    standalone = step.texts.standalone if isinstance(step, RouteStep) and step.texts else ""
    if standalone and standalone != question.strip():
        error_console.print(plain(f"Understood as: {standalone}", "dim"))


def _format_answer(turn: PastTurn, run: RunSummary | None) -> str:
    answer = one_line(turn.answer) or _format_missing(run)
    return answer if len(answer) <= MAX_SHOWN_ANSWER else f"{answer[:MAX_SHOWN_ANSWER]}…"


def _format_missing(run: RunSummary | None) -> str:
    """Why a turn has no answer."""
    status = run.status if run else ""
    if run and status == "failed":
        return "(stopped)" if run.problem.startswith("stopped") else f"(failed: {one_line(run.problem)})"
    reasons = {AWAITING: "awaiting approval", "running": "running", "rejected": "rejected"}
    return f"({reasons.get(status, 'no reusable answer')})"


def _latest_conversation(engine: Veracity, user: str) -> str | None:
    conversations = engine.conversations(user=user, limit=1)
    return conversations[0].conversation if conversations else None


def _greet(root: Path, documents: int, conversation: str, turns: int) -> None:
    so_far = f" ({count(turns, 'turn')} so far)" if turns else ""
    name = root.resolve().name or str(root)
    text = f"{name}: {count(documents, 'document')}. Conversation {conversation}{so_far}. Type /help for commands."
    console.print(plain(text, "dim"), soft_wrap=True)


def _read_terminal(chat: Chat, history_file: Path) -> None:
    from veracity.cli.ui.input import Prompt  # noqa: PLC0415 - loads prompt_toolkit

    prompt = Prompt(history_file)
    while (message := prompt.read()) is not None and chat.handle(message):
        console.print()


def _read_standard_input(chat: Chat) -> None:
    """Print each message before its answer."""
    for message in _lines(chat):
        console.print(plain(f"> {message}", "bold"))
        if not chat.handle(message):
            return
        console.print()


def _lines(chat: Chat) -> Iterator[str]:
    """The lines as they arrive. A line that is not UTF-8 is reported and skipped."""
    for raw in sys.stdin.buffer if sys.stdin else ():
        try:
            message = raw.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            print_error("Skipped a line of input that is not UTF-8 text.")
            chat.has_failed = True
            continue
        if message:
            yield message
