"""The commands over a project's graph. Nothing heavy is imported until a command needs it."""

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
            metavar="threads|dask|ray", help="Where shards run: threads, dask or ray (docs/engines.md)."
        ),
    ] = None,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Run only what failed or was stopped last time.")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a value in params.yaml first; repeatable."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Make only N items, in data/.preview/; dvc.lock does not change."),
    ] = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    ask_again: AskAgain = None,
) -> None:
    """Run stale stages, and leave fresh ones alone.

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
    name: Annotated[str, typer.Argument(help="The stage's name in dvc.yaml: grammar.fill_in")],
    key: Annotated[str, typer.Argument(help="The entry that the stage runs for: a database's name.")] = "",
    replay: Replay = False,
) -> None:
    """Run one stage and write its outputs, as `dvc repro` does, without recording the run.

    Example: benchloom stage grammar.fill_in films
    """
    from flows.commands.stage import stage_command

    raise typer.Exit(stage_command(name, key, replay=replay))


def graph(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 if a file differs.")] = False,
) -> None:
    """Write dvc.yaml and params.schema.json from the flows' declarations; your own stages stay.

    Example: benchloom graph --check
    """
    from flows.commands.graph import graph_command

    raise typer.Exit(graph_command(check=check))


def plan(targets: Targets = None, ask_again: AskAgain = None, as_json: Json = False) -> None:
    """Show what would run and why, with the calls and the cost. Changes nothing.

    Example: benchloom plan grammar --json
    """
    from flows.commands.plan import plan_command

    raise typer.Exit(plan_command(targets or [], as_json=as_json, ask_again=ask_again or []))


def status(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FLOW|STAGE|ENTRY]...", help="Flows, stages or entries of params.yaml. Default: all."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every artifact, fresh ones too.")] = False,
    as_json: Json = False,
) -> None:
    """Show how much of each flow is fresh, and what is stale (and why), missing or failed.

    Example: benchloom status films
    """
    from flows.commands.status import status_command

    raise typer.Exit(status_command(targets or [], every=every, as_json=as_json))


def snapshot(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[DATABASE]...", help="Databases with a url. Default: all.")
    ] = None,
) -> None:
    """Record the content of database servers for DVC; `run` does this before every run.

    Example: benchloom snapshot warehouse
    """
    from flows.commands.snapshot import snapshot_command

    raise typer.Exit(snapshot_command(names or []))


def lineage(
    target: Annotated[
        str,
        typer.Argument(
            help="The path of an artifact, or report.json#/pointer for a figure.", metavar="TARGET"
        ),
    ],
    row: Annotated[str | None, typer.Option(help="A row id, or a unique prefix of one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Trace all rows.")] = False,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="Write the trace as a page.")] = False,
    openlineage: Annotated[
        bool, typer.Option("--openlineage", help="Write or send the stages as OpenLineage events.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The path of the page or the events.")
    ] = None,
) -> None:
    """Trace a figure, an artifact or a row back to its sources. Exit 1 if there is a gap.

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
