"""`benchloom nightly`: evaluate anew, now or on a schedule, and alarm on a real drop."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flows.commands.cli_options import BudgetTokens, BudgetUsd, Replay

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Evaluate anew, and compare with the last good night."
)


@app.command()
def once(
    as_of: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The night's label; default: this minute, UTC.")
    ] = None,
    replay: Replay = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Ask what `nightly.assessments` names anew, now; exit 5 where it really fell.

    Example: benchloom nightly once --as-of 2031-07-09
    """
    import json
    import os
    from dataclasses import asdict
    from datetime import UTC, datetime

    from flows.commands.run import make_run
    from flows.nights.night import describe_night, read_nightly, run_night
    from flows.run.recorder import Recorder
    from flows.settings import find_project, load_params

    root = find_project()
    os.chdir(root)
    params = load_params(root)
    nightly = read_nightly(params)
    label = as_of or datetime.now(UTC).strftime("%Y-%m-%dT%H-%MZ")
    params["evaluation"] = {**(params.get("evaluation") or {}), "as_of": label}
    run = make_run(
        root, Recorder(root), params, replay=replay, budget_usd=budget_usd, budget_tokens=budget_tokens
    )
    run.listen()
    run.say(f"night {label}")
    try:
        nights = run_night(run, nightly, label)
    finally:
        run.finish()
    if as_json:
        typer.echo(json.dumps([asdict(night) for night in nights]))
    for night in nights:
        run.say(describe_night(night))
    run.say("the page: data/nightly/index.html")
    raise typer.Exit(5 if any(night.change.alarms for night in nights) else 0)


@app.command()
def serve() -> None:
    """Stay here and run a night whenever `nightly.cron` says so; Ctrl-C ends it.

    Example: benchloom nightly serve
    """
    from flows.nights.night import read_nightly
    from flows.run.prefect_server import use_prefect
    from flows.settings import find_project, load_params

    root = find_project()
    nightly = read_nightly(load_params(root))
    with use_prefect(root, _say):
        from flows.nights.deployment import serve_nights

        _say(f"nights at {nightly.cron!r}, the machine's time; Ctrl-C ends this")
        serve_nights(root, nightly.cron)


@app.command()
def deploy(
    pool: Annotated[
        str, typer.Option(help="A Prefect work pool of type process; made where missing.")
    ] = "benchloom",
) -> None:
    """Make it a Prefect deployment, for a worker of a work pool to run on schedule.

    Example: benchloom nightly deploy --pool benchloom
    """
    from flows.nights.night import read_nightly
    from flows.run.prefect_server import describe_access, use_prefect
    from flows.settings import find_project, load_params

    root = find_project()
    nightly = read_nightly(load_params(root))
    with use_prefect(root, _say) as url:
        from flows.nights.deployment import deploy_nights

        deploy_nights(root, nightly.cron, pool)
    _say(f"deployed at {nightly.cron!r} to the work pool {pool!r}; where it shall run, start a worker:")
    _say(f"{describe_access(root, url)}PREFECT_API_URL={url}/api prefect worker start --pool {pool}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
