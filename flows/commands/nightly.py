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
    with use_prefect(root, _say, needed=True):
        from flows.nights.deployment import serve_nights

        _say(f"nights at {nightly.cron!r}, the machine's time; Ctrl-C ends this")
        serve_nights(root, nightly.cron)


Pool = Annotated[str, typer.Option(help="A Prefect work pool of type process; made where missing.")]
POOL = "benchloom"


@app.command()
def deploy(
    pool: Pool = POOL,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Where the project's Prefect server stays from now on.")
    ] = 4210,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the deployment back, and its server.")
    ] = False,
) -> None:
    """Make it a Prefect deployment, with a server that stays and files that bring up server and worker.

    Example: benchloom nightly deploy --port 4210
    """
    from contextlib import nullcontext

    from flows.nights.night import read_nightly
    from flows.nights.standing import remove_files, write_files
    from flows.run.prefect_server import end_standing, find_foreign, stand_server, use_prefect
    from flows.settings import find_project, load_params

    root = find_project()
    params = load_params(root)
    foreign = find_foreign(root) is not None
    if remove:
        with use_prefect(root, _say, needed=True):
            from flows.nights.deployment import remove_nights

            found = remove_nights()
        if not foreign:
            end_standing(root)
        remove_files(root)
        _say("the deployment is taken back" if found else "no nights were deployed")
        return
    nightly = read_nightly(params)
    with nullcontext() if foreign else stand_server(root, port, _say):
        files = write_files(root, pool, params)
        with use_prefect(root, _say, needed=True):
            from flows.nights.deployment import deploy_nights

            deploy_nights(root, nightly.cron, pool)
    _say(f"deployed at {nightly.cron!r}, the machine's time, to the work pool {pool!r}; to go on, it needs")
    for line in files.describe_needs(pool, foreign):
        _say(f"- {line}")


@app.command(hidden=True)
def work(pool: Pool = POOL) -> None:
    """Keep a deployment's server and a worker: what its unit and its compose file call.

    Example: benchloom nightly work --pool benchloom
    """
    from flows.nights.standing import keep_worker
    from flows.run.prefect_server import find_foreign, read_port, use_prefect
    from flows.settings import find_project
    from tasks.errors import BadInput

    root = find_project()
    foreign = find_foreign(root) is not None
    if not foreign and read_port(root) is None:
        raise BadInput(
            "benchloom nightly work", "no nights are deployed here", hint="benchloom nightly deploy"
        )
    with use_prefect(root, _say, needed=True):
        keep_worker(root, pool, own=not foreign)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
