"""The commands over a project's graph. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_options import AskAgain, BudgetTokens, BudgetUsd, Json, Replay, Targets


def run(
    targets: Targets = None,
    replay: Replay = False,
    plain: Annotated[bool, typer.Option("--plain", help="Without Prefect.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="threads|dask|ray", help="What does the shards of stages that split; see docs/engines.md."
        ),
    ] = None,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Only what failed or was stopped in its last run.")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Edit params.yaml first; repeatable."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first N items, into data/.preview/; dvc.lock stays as it is."),
    ] = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    ask_again: AskAgain = None,
) -> None:
    """Bring artifacts up to date: stale stages run, fresh ones are left alone.

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
    name: Annotated[str, typer.Argument(help="Its name, as in dvc.yaml: grammar.fill_in")],
    key: Annotated[str, typer.Argument(help="What it is fanned out over: a database's name.")] = "",
    replay: Replay = False,
) -> None:
    """Run one stage and write its outputs, as `dvc repro` does; nothing is recorded.

    Example: benchloom stage grammar.fill_in films
    """
    from flows.commands.stage import stage_command

    raise typer.Exit(stage_command(name, key, replay=replay))


def graph(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; end with 1 on a difference.")
    ] = False,
) -> None:
    """Write dvc.yaml and the parameters' schema from the flows' declarations; stages of your own stay.

    Example: benchloom graph --check
    """
    from flows.commands.graph import graph_command

    raise typer.Exit(graph_command(check=check))


def plan(targets: Targets = None, ask_again: AskAgain = None, as_json: Json = False) -> None:
    """Say what would run and why, and what it would ask and cost. Touches nothing.

    Example: benchloom plan grammar --json
    """
    from flows.commands.plan import plan_command

    raise typer.Exit(plan_command(targets or [], as_json=as_json, ask_again=ask_again or []))


def status(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FLOW|STAGE|ENTRY]...", help="Flows, stages, entries of params.yaml; all."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every artifact, the fresh ones too.")] = False,
    as_json: Json = False,
) -> None:
    """Show how much of each flow is fresh, and what is stale (why), missing or failed.

    Example: benchloom status films
    """
    from flows.commands.status import status_command

    raise typer.Exit(status_command(targets or [], every=every, as_json=as_json))


def snapshot(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[DATABASE]...", help="Databases with a url; all of them.")
    ] = None,
) -> None:
    """Write down what database servers hold, for DVC to hash; `run` does it before every run.

    Example: benchloom snapshot warehouse
    """
    from flows.commands.snapshot import snapshot_command

    raise typer.Exit(snapshot_command(names or []))


def lineage(
    target: Annotated[
        str, typer.Argument(help="An artifact's path, or report.json#/pointer of a figure.", metavar="TARGET")
    ],
    row: Annotated[str | None, typer.Option(help="The id of one of its rows, or its beginning.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Walk all of its rows.")] = False,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="Write a page to walk.")] = False,
    openlineage: Annotated[
        bool, typer.Option("--openlineage", help="Write the stages as OpenLineage events, or send them.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the page or the events go.")] = None,
) -> None:
    """Trace a figure, an artifact, or one of its rows, back to the sources. Exit 1 where there is a gap.

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
