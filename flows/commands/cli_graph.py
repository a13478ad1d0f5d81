"""Commands that work on a project's graph. A command imports heavy packages only when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_options import AskAgain, BudgetTokens, BudgetUsd, Json, Replay, Targets


def run(
    targets: Targets = None,
    replay: Replay = False,
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="threads|dask|ray", help="The engine that runs the shards of stages; see docs/engines.md."
        ),
    ] = None,
    only_failed: Annotated[
        bool,
        typer.Option(
            "--only-failed", help="Run only stages that failed or were interrupted in their last run."
        ),
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Write this value to params.yaml before the run. Repeatable."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Use only the first N items; write to data/.preview/ and leave dvc.lock unchanged."
        ),
    ] = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    ask_again: AskAgain = None,
) -> None:
    """Bring artifacts up to date: run the stale stages and skip the fresh ones.

    Example: benchloom run grammar --set roles.generator.temperature=0.7
    """
    from flows.commands.run import run_command

    raise typer.Exit(
        run_command(
            targets or [],
            replay=replay,
            plain=plain,
            only_failed=only_failed,
            assignments=assignments or [],
            limit=limit,
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            engine=engine,
            ask_again=ask_again or [],
        )
    )


def stage(
    name: Annotated[str, typer.Argument(help="The stage's name in dvc.yaml, such as grammar.fill_in.")],
    key: Annotated[
        str, typer.Argument(help="The entry for which the stage runs, such as a database's name.")
    ] = "",
    replay: Replay = False,
) -> None:
    """Run one stage and write its outputs. Leave dvc.lock and the run records unchanged.

    Example: benchloom stage grammar.fill_in films
    """
    from flows.commands.stage import stage_command

    raise typer.Exit(stage_command(name, key, replay=replay))


def graph(
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Change nothing. If the files differ, print the difference and exit with 1."
        ),
    ] = False,
) -> None:
    """Write dvc.yaml and the parameter schema from the flows' declarations. Keep stages that you added.

    Example: benchloom graph --check
    """
    from flows.commands.graph import graph_command

    raise typer.Exit(graph_command(check=check))


def plan(targets: Targets = None, ask_again: AskAgain = None, as_json: Json = False) -> None:
    """Show which stages would run and why, with model calls, tokens, cost and time. Changes nothing.

    Example: benchloom plan grammar --json
    """
    from flows.commands.plan import plan_command

    raise typer.Exit(plan_command(targets or [], as_json=as_json, ask_again=ask_again or []))


def status(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FLOW|STAGE|ENTRY]...", help="Flows, stages, or entries of params.yaml. Default: all."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every artifact, including fresh ones.")] = False,
    as_json: Json = False,
) -> None:
    """Show how much of each flow is fresh, and list stale, missing and failed artifacts with the reasons.

    Example: benchloom status films
    """
    from flows.commands.status import status_command

    raise typer.Exit(status_command(targets or [], every=every, as_json=as_json))


def snapshot(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATABASE]...", help="Names of databases that have a URL. Default: all."),
    ] = None,
) -> None:
    """Record the content of database servers in files that DVC can hash.

    `benchloom run` also updates these files.

    Example: benchloom snapshot warehouse
    """
    from flows.commands.snapshot import snapshot_command

    raise typer.Exit(snapshot_command(names or []))


def lineage(
    target: Annotated[
        str,
        typer.Argument(help="An artifact's path, or report.json#/POINTER for a number.", metavar="TARGET"),
    ],
    row: Annotated[str | None, typer.Option(help="A row's id, or a unique prefix of the id.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Trace every row of the artifact.")] = False,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="Write an HTML page to browse the lineage.")] = False,
    openlineage: Annotated[
        bool,
        typer.Option(
            "--openlineage",
            help="Write the stages as OpenLineage events, or send the events to `run.openlineage.url`.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The output file for the page or the events.")
    ] = None,
) -> None:
    """Trace a reported number, an artifact or a row back to its sources. Exit with 1 if the trace has a gap.

    Example: benchloom lineage data/grammar/films/balanced.parquet --row 0066af
    """
    from flows.commands.lineage import lineage_command
    from flows.lineage.evaluated import is_recorded
    from flows.settings import find_base

    raise typer.Exit(
        lineage_command(
            target,
            row,
            root=find_base(needed=not is_recorded(Path(target.partition("#")[0]))),
            every=every,
            as_json=as_json,
            html=html,
            openlineage=openlineage,
            out=out,
        )
    )
