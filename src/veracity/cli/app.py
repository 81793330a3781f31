"""Every command with its options, in the order of `--help`.

`approval_commands` has those that decide on drafts, `command_groups` and `experiment_group` those with subcommands.

A command imports its implementation when it runs, which keeps `--help` fast.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from veracity.cli.approval_commands import approvals, approve, assign, reject, send_back
from veracity.cli.command_groups import models, observations, users
from veracity.cli.experiment_group import experiments, judges
from veracity.cli.options import (
    LOCAL,
    ByOption,
    FilterUserOption,
    ForgottenOption,
    JsonOption,
    LimitOption,
    OnlyOption,
    OwnerOption,
    StepsOption,
    UserOption,
    WorkspaceOption,
    name_option,
    place_option,
    require_name,
)
from veracity.version import __version__

app = typer.Typer(
    help="Answers questions from your documents and checks each answer; scores what language models say about them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(users, name="users")
app.add_typer(models, name="models", help="List and fetch models that run on this machine.")
app.add_typer(experiments, name="experiment", help="Run suites of questions, and know whether a change is better.")
app.add_typer(judges, name="judge", help="Test the judge of the metrics, and compare it with people.")
app.add_typer(observations, name="observations", help="Export the answers that passed their review.")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"veracity {__version__}")
        raise typer.Exit


@app.callback()
def veracity(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Exit codes: 0 success; 1 failure of an evaluation, a model or a file; 2 invalid input or configuration; 3 an
    answer awaits approval; 4 another process is changing the documents; 5 already decided; 6 an experiment cannot tell
    whether it meets its gate."""


@app.command()
def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The directory to create it in.", show_default=False)
    ] = Path(),
) -> None:
    """Create a workspace in this directory or in DIR.

    Writes commented settings, an evaluator configuration and an example metric. Existing files are kept.
    """
    from veracity.cli.commands.init import init

    init(directory)


@app.command()
def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or patterns.")],
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="GLOB", help="Read only files that match; may be repeated."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave out what matches; may be repeated."),
    ] = None,
    workspace: WorkspaceOption = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files no longer exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add documents to the workspace.

    Reads text, Markdown, HTML, PDF, Word, PowerPoint, Excel, CSV and JSON. Unchanged files are skipped. In folders,
    hidden files, lock files, style sheets, build files, package manifests and what a .veracityignore names are left
    out. A file that cannot be read is reported and does not stop the others. Exits with 1 if a file failed, with 4 if
    another process is changing the documents.
    """
    from veracity.cli.commands.ingest import ingest

    ingest(paths, include or [], exclude or [], workspace, prune, as_json)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    workspace: WorkspaceOption = None,
    conversation: Annotated[str | None, name_option("Continue this conversation.", "--conversation", "-c")] = None,
    user: UserOption = LOCAL,
    max_rewrites: Annotated[
        int | None,
        typer.Option(
            "--max-rewrites", metavar="N", min=0, max=20, help="Maximum query rewrites; 0 disables rewriting."
        ),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", help="Maximum time for the run.")
    ] = None,
    only: OnlyOption = None,
    show_steps: StepsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents, or say that they do not contain the answer.

    Grades the evidence and rewrites the query until it is good enough, reviews and redrafts the answer, checks every
    sentence against its citations and scores the answer. An answer with a low score awaits approval: decide at once, or
    later; then the exit code is 3. Without a language model the answer quotes the documents.
    """
    from veracity.cli.commands.ask import ask

    ask(question, workspace, conversation or "", user, max_rewrites, deadline, only or [], show_steps, as_json)


@app.command()
def chat(
    workspace: WorkspaceOption = None,
    conversation: Annotated[
        str | None, name_option("Continue or start this conversation.", "--conversation", "-c")
    ] = None,
    continues: Annotated[bool, typer.Option("--continue", help="Continue the latest conversation.")] = False,
    user: UserOption = LOCAL,
    only: OnlyOption = None,
    show_steps: StepsOption = False,
) -> None:
    """Ask follow-up questions in a conversation.

    /help lists the commands. Without a terminal, each line of standard input is a question. Exits with 3 if an answer
    awaits approval; without a terminal, with 1 if a question failed.
    """
    from veracity.cli.commands.chat import chat

    chat(workspace, conversation, continues, user, only or [], show_steps)


@app.command()
def conversations(
    user: OwnerOption = LOCAL,
    words: Annotated[
        str,
        typer.Option(
            "--search", "-s", metavar="WORDS", help="Only conversations that contain all words.", show_default=False
        ),
    ] = "",
    exported: Annotated[
        str | None, name_option("Print this conversation as Markdown, or as JSON with --json.", "--export", "-e")
    ] = None,
    limit: LimitOption = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a user's conversations, pinned ones first, then the latest first; or export one.

    veracity conversations --export NAME > conversation.md
    """
    from veracity.cli.commands.chat import export_conversation, list_conversations

    if exported is not None:
        export_conversation(exported, user, workspace, as_json)
    else:
        list_conversations(user, words, limit, workspace, as_json)


@app.command()
def recover(workspace: WorkspaceOption = None) -> None:
    """Resume interrupted runs, for example after a crash.

    `veracity ask` does the same after its own answer.
    """
    from veracity.cli.commands.approvals import recover

    recover(workspace)


app.command()(approvals)
app.command()(approve)
app.command()(reject)
app.command("send-back")(send_back)
app.command()(assign)


@app.command()
def show(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run's id or a prefix of it, an approval's id, or: last.")
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained HTML page instead.")
    ] = None,
) -> None:
    """Show a run's receipt.

    Lists every query with its graded evidence, all drafts and reviews, scores and decisions, models, tokens, cost, and
    the time of each step.
    """
    from veracity.cli.commands.runs import show

    show(run, workspace, as_json, html)


@app.command()
def rate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id or a prefix of it, or: last.")],
    thumb: Annotated[str, typer.Argument(metavar="up|down", help="Whether the answer is good.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.", show_default=False)] = "",
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rate an answer.

    A thumb down makes the question a weak point: more sources are searched when it is asked again, and the answer is
    not reused. A later thumb up reverts that.
    """
    from veracity.cli.commands.runs import rate

    rate(run, thumb, why, by, workspace, as_json)


@app.command()
def runs(
    limit: LimitOption = 20,
    user: FilterUserOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, the latest first."""
    from veracity.cli.commands.runs import list_runs

    list_runs(limit, user, workspace, as_json)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question or words.")],
    top_k: Annotated[int, typer.Option("-k", "--top", metavar="N", help="Maximum number of passages.")] = 5,
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", "-s", metavar="NAME", help="knowledge or graph; may be repeated. Default: settings."),
    ] = None,
    only: OnlyOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the documents for passages.

    Prints each passage with its relevance from 0 to 1, document, headings, page and offsets.
    """
    from veracity.cli.commands.search import search

    search(query, top_k, sources, only or [], workspace, as_json)


@app.command()
def documents(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the documents of the workspace."""
    from veracity.cli.commands.documents import list_documents

    list_documents(workspace, as_json)


@app.command()
def forget(
    document: Annotated[
        str | None, typer.Argument(metavar="[ID|PATH]", help="The document, as `veracity documents` lists it.")
    ] = None,
    conversation: Annotated[str | None, name_option("Forget a conversation instead.", "--conversation", "-c")] = None,
    user: OwnerOption = LOCAL,
    again: Annotated[
        bool, typer.Option("--again", help="After a restore of Postgres: forget what was forgotten since.")
    ] = False,
    since: Annotated[
        datetime | None, typer.Option("--since", metavar="TIME", help="When that backup was made, in UTC.")
    ] = None,
    forgotten: ForgottenOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Remove a document, or a conversation with its questions and answers.

    Quotes of it are erased from receipts and observations. The document's file is kept unless it was uploaded.
    """
    from veracity.cli.commands.documents import forget, forget_again

    if again:
        forget_again(since, forgotten or [], workspace)
    else:
        forget(document, conversation, user, workspace)


@app.command()
def reindex(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Rebuild the index, after a change of embedder or passage size.

    Uses the stored texts; the files are not needed. Searches use the old index until the new one is ready.
    """
    from veracity.cli.commands.ingest import reindex

    reindex(workspace, as_json)


@app.command()
def prune(
    workspace: WorkspaceOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove it without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove questions, conversations and receipts that are older than the settings allow.

    The days are set in [retention] of veracity.toml. Shows what would be removed, and asks; without a terminal, only
    --yes removes it. What is under way or waits for a decision is kept. A running veracity serve does the same daily.
    """
    from veracity.cli.commands.prune import prune

    prune(workspace, dry_run, yes, as_json)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as veracity.tar.zst.")],
    workspace: WorkspaceOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write everything in the workspace to one file, while servers and commands use it.

    The file is read back and compared before it gets its name. It holds texts: only its owner can read it.
    """
    from veracity.cli.commands.backup import make_backup

    make_backup(file, force, workspace, as_json)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that veracity backup has written.")],
    workspace: Annotated[
        Path, typer.Option("--workspace", "-w", metavar="DIR", help="The folder to restore the workspace into.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside a workspace that is there. It is not deleted.")
    ] = False,
    forgotten: ForgottenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace from a backup, and forget again what was forgotten since.

    The backup is checked before anything is changed. It contains metrics, which are programs: restore only your own.
    """
    from veracity.cli.commands.backup import restore_backup

    restore_backup(file, workspace, replace, forgotten or [], as_json)


@app.command("move-to")
def move_to(
    ledger: Annotated[str | None, place_option("--ledger", "postgresql://…", "runs, approvals and users")] = None,
    knowledge: Annotated[str | None, place_option("--knowledge", "s3://…", "documents")] = None,
    uploads: Annotated[str | None, place_option("--uploads", "s3://…", "uploaded files")] = None,
    s3_endpoint: Annotated[
        str | None, typer.Option("--s3-endpoint", metavar="URL", help="The S3-compatible server; not set for AWS.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the ledger, documents or uploads to places that several machines share, or back into the workspace.

    Stop servers and workers first. Everything is copied and compared; then the old place is marked, and veracity.toml
    is changed. Nothing is deleted. Run it again if it was interrupted.
    """
    from veracity.cli.commands.move import move_to

    move_to(ledger, knowledge, uploads, s3_endpoint, workspace, as_json)


@app.command()
def evaluate(
    query: Annotated[str, typer.Option("--query", "-q", help="The user's question.")],
    submission: Annotated[str, typer.Option("--submission", "-s", metavar="FILE|-", help="The answer to score.")],
    context: Annotated[
        list[Path] | None,
        typer.Option("--context", "-c", metavar="FILE", help="Evidence for the answer: [1], [2], … in order."),
    ] = None,
    workspace: WorkspaceOption = None,
    team: Annotated[str, typer.Option("--team", help="The team that submitted it.")] = "default",
    fail_under: Annotated[
        float | None,
        typer.Option("--fail-under", metavar="N", help="Exit with 1 if the overall score, 0 to 100, is below N."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score one submission.

    Exits with 0 if it was scored, whatever the score unless --fail-under is set; with 1 if the evaluation failed; with
    2 for invalid input or configuration.
    """
    from veracity.cli.commands.evaluate import evaluate

    evaluate(query, submission, context or [], workspace, team, fail_under, as_json)


@app.command()
def metrics(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the metrics, their origin, and which of them run."""
    from veracity.cli.commands.evaluate import list_metrics

    list_metrics(workspace, as_json)


@app.command()
def calibrate(
    risk: Annotated[
        float, typer.Option("--risk", metavar="SHARE", help="The largest share of released answers that may be wrong.")
    ] = 0.05,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="SHARE", help="How sure to be that the promise holds.")
    ] = 0.95,
    separate: Annotated[
        bool, typer.Option("--per-language", help="A threshold for each language with enough decisions.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what could be promised.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find a threshold with a promise, from people's decisions on audited and held answers.

    Writes calibration.json, which counts if approval.threshold is "calibrated". The setting approval.audit sends a
    random share of the released answers to approvers afterwards. Exits with 6 if the decisions are too few, or too many
    answers are wrong.
    """
    from veracity.cli.commands.calibrate import calibrate

    calibrate(risk, confidence, separate, dry_run, workspace, as_json)


@app.command()
def doctor(
    workspace: WorkspaceOption = None,
    ask: Annotated[
        bool, typer.Option("--ask/--no-ask", help="Send each configured model a short test request.")
    ] = True,
    shows_all: Annotated[bool, typer.Option("--all", help="List all settings, not only changed ones.")] = False,
) -> None:
    """Check the set-up: settings, provider keys, models.

    Sends each configured model a test request. Prints problems first, then the changed settings and which provider keys
    are set. Exits with 1 if a model does not answer.
    """
    from veracity.cli.commands.doctor import doctor

    doctor(workspace, ask, shows_all)


@app.command()
def demo(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Ask the bundled handbook, and score the bundled samples.

    In English, Chinese and Japanese; uses the local metrics, or those of a workspace.
    """
    from veracity.cli.commands.demo import demo

    demo(workspace, as_json)


@app.command()
def serve(
    workspace: WorkspaceOption = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on. Default: settings.", callback=require_name)
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port; 0 chooses a free one.", show_default=False)
    ] = None,
    opens_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    no_work: Annotated[
        bool, typer.Option("--no-work", help="Leave questions, uploads and evaluations to veracity worker.")
    ] = False,
) -> None:
    """Serve the page and the API.

    Listens on this machine only by default; any other address needs a token: see veracity users."""
    from veracity.cli.commands.serve import serve

    serve(workspace, host, port, opens_browser, works=not no_work)


@app.command()
def worker(
    workspace: WorkspaceOption = None,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            help="Queues to work on: runs, decisions, rejections, documents, commits, evaluations.",
            metavar="QUEUE,…",
        ),
    ] = "",
) -> None:
    """Answer the questions of servers that share the ledger, and ingest what is uploaded to them.

    Needs store.ledger in Postgres. Runs until Ctrl-C or SIGTERM; another worker continues what it leaves."""
    from veracity.cli.commands.worker import work

    work(workspace, only)


@app.command()
def mcp(
    workspace: WorkspaceOption = None,
    user: UserOption = LOCAL,
    allow_decide: Annotated[
        bool, typer.Option("--allow-decide", help="Offer the tool that approves and rejects drafts.")
    ] = False,
) -> None:
    """Serve the workspace to an agent, as tools of the Model Context Protocol.

    For clients that start this command and use its standard input and output: search, ask, answer_status and
    list_pending. veracity serve offers the same to users with a token, at /mcp.
    """
    from veracity.cli.commands.mcp import serve_tools

    serve_tools(workspace, user, allow_decide)
