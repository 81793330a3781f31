"""Every command, with its options. What a command does stands in a module of its own, loaded when it runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from veracity.errors import InputError
from veracity.version import __version__

app = typer.Typer(
    help="Answers that have been examined: ask your documents, and score what language models say about them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
LOCAL = "local"  # that of models.people, which would make every --help wait for pydantic
users = typer.Typer(rich_markup_mode=None)
app.add_typer(users, name="users")


def _named(option: typer.CallbackParam, name: str | None) -> str | None:
    """Who gives an option meant to name somebody or something."""
    if name is not None and not name.strip():
        raise InputError(f"{option.opts[0]} is given without a name: name it, or leave the option out.")
    return name


WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", metavar="DIR", help="The workspace. Default: this directory, if it is one."),
]
UserOption = Annotated[str, typer.Option("--user", metavar="NAME", help="Who asks.", callback=_named)]
OfUserOption = Annotated[
    str | None, typer.Option("--user", metavar="NAME", help="Only what this user asked.", callback=_named)
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="NAME", help="Who says so. Default: the login name.", show_default=False, callback=_named
    ),
]
LimitOption = Annotated[int, typer.Option("-n", "--limit", metavar="N", min=1, help="How many.")]
ApprovalArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The approval's id, its beginning, its run's id, or: last.")
]
StepsOption = Annotated[bool, typer.Option("--show-steps", help="Tell of every step on standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _run(command: str, *arguments: Any, what: str = "run") -> None:
    """Exit with the code that the command gives, if it gives one."""
    code = getattr(import_module(f"veracity.cli.commands.{command}"), what)(*arguments)
    if code:
        raise typer.Exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veracity {__version__}")
        raise typer.Exit


@app.callback()
def veracity(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Exit codes: 0 done; 1 something failed: an evaluation, a model, a file; 2 bad input or configuration; 3 an
    answer waits for a person; 4 another process is changing the documents; 5 somebody decided already."""


@app.command()
def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to create it.", show_default=False)
    ] = Path(),
) -> None:
    """Create a workspace, here or in DIR.

    It has commented settings, an evaluator configuration and an example metric. What exists is kept.
    """
    _run("init", directory)


@app.command()
def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or patterns.")],
    workspace: WorkspaceOption = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone from there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring documents into the workspace.

    Text, Markdown, HTML, PDF, Word, PowerPoint, Excel, CSV and JSON. What has not changed since the last time is left
    alone. A file that cannot be read is told and does not stop the others. Exits with 1 when one failed, and with 4
    when another process is at it.
    """
    _run("ingest", paths, workspace, prune, as_json)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to find out, in words.")],
    workspace: WorkspaceOption = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", metavar="NAME", help="What it follows on.", callback=_named)
    ] = None,
    user: UserOption = LOCAL,
    max_rewrites: Annotated[
        int | None, typer.Option("--max-rewrites", metavar="N", min=0, max=20, help="0: the query stays as it is.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", help="How long it may take, at most.")
    ] = None,
    show_steps: StepsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents, or say that they do not.

    Evidence is graded and the query rewritten until it is good enough; the draft is reviewed and redrafted; every
    sentence of the answer is held against what it cites, and the answer is scored. One that scores low waits for a
    person: decide right there, or later; then it exits with 3. Without a model the answer is made of sentences of the
    documents.
    """
    _run("ask", question, workspace, conversation or "", user, max_rewrites, deadline, show_steps, as_json)


@app.command()
def chat(
    workspace: WorkspaceOption = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", metavar="NAME", help="Go on with this one, or begin it.", callback=_named),
    ] = None,
    go_on: Annotated[bool, typer.Option("--continue", help="Go on with the latest.")] = False,
    user: UserOption = LOCAL,
    show_steps: StepsOption = False,
) -> None:
    """Ask one question after another, each following on those before.

    /help lists what else can be typed. Without a terminal, every line that comes in is a question. Exits with 3 when an
    answer is left waiting for a person; else, without a terminal, with 1 when a question failed.
    """
    _run("chat", workspace, conversation, go_on, user, show_steps)


@app.command()
def conversations(
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Whose.", callback=_named)] = LOCAL,
    words: Annotated[
        str, typer.Option("--search", "-s", metavar="WORDS", help="Only where all these were said.", show_default=False)
    ] = "",
    limit: LimitOption = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the conversations of a user, the latest first."""
    _run("conversations", user, words, limit, workspace, as_json)


@app.command()
def recover(workspace: WorkspaceOption = None) -> None:
    """Take up the runs that were interrupted, when a process was killed or the power went.

    `veracity ask` does so too, after its own answer.
    """
    _run("approvals", workspace, what="recover")


@app.command()
def approvals(
    user: OfUserOption = None,
    state: Annotated[
        str, typer.Option("--state", metavar="STATE", help="pending, approved, rejected, superseded or any.")
    ] = "pending",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the answers that wait for a person, the longest waiting first; those of another state the newest first."""
    _run("approvals", user, state, workspace, as_json)


@app.command()
def approve(
    approval: ApprovalArgument,
    edit: Annotated[
        str | None, typer.Option("--edit", metavar="FILE|-", help="What goes out in the draft's place.")
    ] = None,
    by: ByOption = None,
    draft: Annotated[
        str | None, typer.Option("--draft", metavar="HASH", help="Only if it is this draft, as --show tells it.")
    ] = None,
    only_show: Annotated[bool, typer.Option("--show", help="Show the draft, and decide nothing.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an answer out that waits for a person.

    Where the run has had several drafts, only the approval's whole id will do: what you saw may be an earlier one.
    Exits with 5 when somebody decided already, or when the draft is another one by now.
    """
    _run("approvals", approval, edit, by, draft, only_show, workspace, as_json, what="approve")


@app.command()
def reject(
    approval: ApprovalArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)] = "",
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject an answer that waits for a person: then the web is searched, once.

    Exits with 3 when the answer from the web waits again, and with 5 when somebody decided already.
    """
    _run("approvals", approval, reason, by, workspace, as_json, what="reject")


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, its beginning, an approval's, or: last.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as one self-contained page instead.")
    ] = None,
) -> None:
    """Show how an answer came about.

    Every query with its graded evidence, all drafts and reviews, scores and decisions, models, tokens, cost, and the
    time of each step.
    """
    _run("runs", run, workspace, as_json, html, what="show")


@app.command()
def rate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, its beginning, or: last.")],
    thumb: Annotated[str, typer.Argument(metavar="up|down", help="Whether the answer is good.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="A word of why.", show_default=False)] = "",
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say of an answer that it is good, or that it is not.

    The question of an answer that is not is a weak point from then on: it is searched with more care when it comes
    again, and the answer is not used again. A later thumb up takes that back.
    """
    _run("runs", run, thumb, why, by, workspace, as_json)


@app.command()
def runs(
    limit: LimitOption = 20,
    user: OfUserOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what was asked, the latest first."""
    _run("runs", limit, user, workspace, as_json, what="list_runs")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to search for: a question or words.")],
    top_k: Annotated[int, typer.Option("-k", "--top", metavar="N", help="How many passages.")] = 5,
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", "-s", metavar="NAME", help="knowledge or graph; may be repeated. Default: settings."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that bear on a question.

    Each with its relevance from 0 to 1, its document, headings, page and place in the text.
    """
    _run("search", query, top_k, sources or [], workspace, as_json)


@app.command()
def documents(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the documents of the workspace."""
    _run("documents", workspace, as_json)


@app.command()
def forget(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID|PATH]", help="The document, as `veracity documents` lists it.")
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", metavar="NAME", help="A conversation instead.", callback=_named),
    ] = None,
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Whose conversation.", callback=_named)] = LOCAL,
    workspace: WorkspaceOption = None,
) -> None:
    """Remove a document from the workspace, or a conversation with its questions and answers.

    What was quoted of it goes from receipts and observations too. The file of a document stays, unless it was uploaded.
    """
    _run("conversations", name, conversation, user, workspace, what="forget")


@app.command()
def reindex(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Index all documents anew, after a change of embedder or passage size.

    Works from the stored texts; the files are not needed. Until it is done, searches use the old index.
    """
    _run("ingest", workspace, as_json, what="reindex")


@app.command()
def evaluate(
    query: Annotated[str, typer.Option("--query", "-q", help="What the user asked.")],
    submission: Annotated[str, typer.Option("--submission", "-s", metavar="FILE|-", help="The answer to score.")],
    context: Annotated[
        list[Path] | None,
        typer.Option("--context", "-c", metavar="FILE", help="Evidence the answer was given: [1], [2], … in order."),
    ] = None,
    workspace: WorkspaceOption = None,
    team: Annotated[str, typer.Option("--team", help="Who submitted it.")] = "default",
    as_json: JsonOption = False,
) -> None:
    """Score one submission.

    Exits with 0 when it was scored, whatever the score; with 1 when the evaluation failed; with 2 when the input or the
    configuration is at fault.
    """
    _run("evaluate", query, submission, context or [], workspace, team, as_json)


@app.command()
def metrics(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the metrics, where each comes from, and which run."""
    _run("evaluate", workspace, as_json, what="run_listing")


@app.command()
def doctor(
    workspace: WorkspaceOption = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Send each configured model one small question.")] = True,
) -> None:
    """Check the set-up: settings, provider keys, models.

    Tells what is configured and which provider keys are present, and asks each configured model for a sign of life.
    """
    _run("doctor", workspace, ask)


@app.command()
def demo(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Ask the shipped handbook, and score the shipped samples.

    In English, Chinese and Japanese; scored with the local metrics, or with those of a workspace.
    """
    _run("demo", workspace, as_json)


UserArgument = Annotated[str, typer.Argument(metavar="NAME", help="The user.")]
ROLE_HELP = "asker: asks and sees what is his own; approver: also decides on drafts; admin: also changes documents."


@users.callback(invoke_without_command=True)
def list_or_change_users(
    context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """List and change who may use the workspace over the network, with veracity serve.

    Everyone has a token and a role. Without a command: list them.
    """
    context.obj = (workspace, as_json)
    if context.invoked_subcommand is None:
        _run("users", workspace, as_json)


@users.command("list")
def list_users(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the users and their roles."""
    _run("users", workspace or context.obj[0], as_json or context.obj[1])


@users.command("add")
def add_user(
    context: typer.Context,
    name: UserArgument,
    role: Annotated[str, typer.Option("--role", metavar="asker|approver|admin", help=ROLE_HELP)],
    workspace: WorkspaceOption = None,
) -> None:
    """Add a user, and print the token. It is shown only this once."""
    _run("users", name, role, workspace or context.obj[0], what="add")


@users.command("remove")
def remove_user(context: typer.Context, name: UserArgument, workspace: WorkspaceOption = None) -> None:
    """Remove a user: the token is refused from then on. What the user asked stays."""
    _run("users", name, workspace or context.obj[0], what="remove")


@users.command("renew")
def renew_token(context: typer.Context, name: UserArgument, workspace: WorkspaceOption = None) -> None:
    """Print a new token for a user, once. The old one is refused from then on."""
    _run("users", name, workspace or context.obj[0], what="renew")


@users.command("role")
def change_role(
    context: typer.Context,
    name: UserArgument,
    role: Annotated[str, typer.Argument(metavar="asker|approver|admin", help=ROLE_HELP)],
    workspace: WorkspaceOption = None,
) -> None:
    """Change the role of a user."""
    _run("users", name, role, workspace or context.obj[0], what="change_role")


@app.command()
def serve(
    workspace: WorkspaceOption = None,
    host: Annotated[
        str | None,
        typer.Option("--host", help="The address to listen on. Default: that of the settings.", callback=_named),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port. 0: one that is free.", show_default=False)
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page and the API.

    Listens on this machine alone; anything else needs a token: see veracity users."""
    _run("serve", workspace, host, port, opens)
