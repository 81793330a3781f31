"""Every command, with its options. What a command does stands in a module of its own, loaded when it runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from veracity.version import __version__

app = typer.Typer(
    help="Answers that have been examined: score what language models say, with metrics you choose.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", metavar="DIR", help="The workspace. Default: this directory, if it is one."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _run(command: str, *arguments: Any) -> None:
    import_module(f"veracity.cli.{command}").run(*arguments)


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
    """Exit codes: 0 done; 1 the evaluation failed, or a model does not answer; 2 bad input or configuration."""


@app.command()
def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to create it.", show_default=False)
    ] = Path(),
) -> None:
    """Create a workspace, here or in DIR.

    It has commented settings, an evaluator configuration and an example metric. What exists is kept.
    """
    _run("initializing", directory)


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
    _run("evaluating", query, submission, context or [], workspace, team, as_json)


@app.command()
def metrics(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the metrics, where each comes from, and which run."""
    _run("listing", workspace, as_json)


@app.command()
def doctor(
    workspace: WorkspaceOption = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Send each configured model one small question.")] = True,
) -> None:
    """Check the set-up: settings, provider keys, models.

    Tells what is configured and which provider keys are present, and asks each configured model for a sign of life.
    """
    _run("checking", workspace, ask)


@app.command()
def demo(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Score the shipped samples.

    In English, Chinese and Japanese; with the local metrics, or with those of a workspace.
    """
    _run("demonstrating", workspace, as_json)
