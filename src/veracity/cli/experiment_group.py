"""`veracity experiment` and `veracity judge`, with the options of their commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veracity.cli.options import JsonOption, LanguageOption, WorkspaceOption, name_option

experiments = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
judges = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

SuiteArgument = Annotated[str, typer.Argument(metavar="SUITE", help="A .jsonl or .csv file, or its name in evals/.")]
ExperimentArgument = Annotated[str, typer.Argument(metavar="NAME", help="The experiment, or: last.")]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, max=64, help="Judgements at once.")
]
GateOption = Annotated[
    bool, typer.Option("--gate", help="Exit with 1 if the suite's gate fails, with 6 if that cannot be told.")
]


@experiments.command("check")
def check_suite(suite: SuiteArgument, workspace: WorkspaceOption = None) -> None:
    """Validate a suite: every case, its settings, and the documents it names."""
    from veracity.cli.commands.experiment import check_suite

    check_suite(suite, workspace)


@experiments.command("run")
def run_experiment(
    suite: SuiteArgument,
    name: Annotated[str | None, name_option("Its name. Default: the suite's, with a number.", "--name")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="SECTION.KEY=VALUE", help="Change a setting for this experiment; may be repeated."
        ),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", metavar="N", help="Run every case N times. Default: the suite's.")
    ] = None,
    sample: Annotated[int | None, typer.Option("--sample", metavar="N", help="Run a random sample of N cases.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Chooses the sample.")] = 0,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Cases at once.")] = 4,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="USD", help="Start no more cases when this is spent.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Reuse no results of earlier experiments.")] = False,
    language: LanguageOption = None,
    gate: GateOption = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the cases of a suite and write a report.

    Each case is a run with a receipt; nobody is asked to approve it. An interrupted experiment continues when the same
    command is given again. Results of earlier experiments are reused if documents, settings, prompts, metrics, models,
    version and suite are the same. Exits with 1 if a case failed to run.
    """
    from veracity.cli.commands.experiment import run_experiment
    from veracity.experiments.running import Options

    options = Options(
        name=name or "",
        overrides=overrides or [],
        repeat=repeat,
        sample=sample,
        seed=seed,
        concurrency=concurrency,
        budget_usd=budget_usd,
        fresh=fresh,
    )
    run_experiment(suite, options, gate, language, workspace, as_json)


@experiments.command("list")
def list_experiments(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the experiments, the latest first."""
    from veracity.cli.commands.experiment import list_all

    list_all(workspace, as_json)


@experiments.command("show")
def show_experiment(name: ExperimentArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show rates and scores with their intervals, and the cases that did not pass."""
    from veracity.cli.commands.experiment import show

    show(name, workspace, as_json)


@experiments.command("compare")
def compare_experiments(
    a: Annotated[str, typer.Argument(metavar="A", help="The experiment to compare with.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The newer experiment.")],
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 if B is worse, with 6 if nobody can tell.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether B is better than A, worse, equivalent, or whether that cannot be told yet."""
    from veracity.cli.commands.experiment import compare

    compare(a, b, gate, workspace, as_json)


@experiments.command("cases")
def propose_cases(
    source: Annotated[str, typer.Option("--from", metavar="approvals|feedback", help="What to propose cases from.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: evals/proposed.jsonl.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Propose cases from people's decisions or ratings, in a file for a person to accept.

    An approved answer becomes the expected one, an edit the reference, a rejected answer one that must not come again.
    """
    from veracity.cli.commands.experiment import propose_cases

    propose_cases(source, output, force, workspace)


@experiments.command("report")
def report_experiment(
    name: ExperimentArgument,
    against: Annotated[str | None, name_option("Compare it with this experiment.", "--against")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Default: the folder of the experiment.")
    ] = None,
    language: LanguageOption = None,
    gate: GateOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write report.html, summary.json, summary.md and junit.xml."""
    from veracity.cli.commands.experiment import write_reports

    write_reports(name, against or "", output, gate, language, workspace)


@judges.command("test")
def probe_judge(
    suite: Annotated[
        str | None,
        typer.Option("--suite", "-s", metavar="SUITE", help="Cases with submissions. Default: bundled ones."),
    ] = None,
    concurrency: ConcurrencyOption = 4,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change good answers in harmless and harmful ways, and see whether the judge's verdicts follow.

    Exits with 1 if the judge should not be used.
    """
    from veracity.cli.commands.judge import probe

    probe(suite, concurrency, workspace, as_json)


@judges.command("agree")
def compare_judge_with_people(
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS.jsonl", help="Lines with id, question, submission, context, label.")
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the judge with people's labels: kappa, both error rates, and the true pass rate.

    Exits with 1 if the judge should not be used.
    """
    from veracity.cli.commands.judge import agree

    agree(labels, workspace, as_json)
