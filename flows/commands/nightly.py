"""The `benchloom nightly` commands: repeat evaluations now or on a schedule, with alarms if metrics drop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.cli_group import CommandGroup
from flows.commands.cli_options import BudgetTokens, BudgetUsd, Replay
from tasks.lines import say_line

if TYPE_CHECKING:
    from flows.nights.subset import NightPlan, WholeNight

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Repeat evaluations, and compare them with the last accepted nightly run.",
)


@app.command()
def once(
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="The run's label. Default: the label of an unfinished run, otherwise the time in UTC.",
        ),
    ] = None,
    replay: Replay = False,
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect.")] = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document to stdout, and nothing else.")
    ] = False,
) -> None:
    """Re-evaluate `nightly.assessments` on a separate branch. Exit with 5 if a metric dropped significantly.

    Example: benchloom nightly once --as-of 2031-07-09
    """
    import os

    from flows.night_settings import read_nightly
    from flows.nights.once import run_night
    from flows.settings import find_project, load_params

    home = find_project()
    os.chdir(home)
    read_nightly(load_params(home))
    flags = {"--replay": replay, "--plain": plain, "--json": as_json}
    limits = {"--budget-usd": budget_usd, "--budget-tokens": budget_tokens}
    options = [flag for flag, given in flags.items() if given]
    options += [word for name, value in limits.items() if value is not None for word in (name, str(value))]
    raise typer.Exit(run_night(home, as_of, options, _say))


@app.command(hidden=True)
def inside(
    home: Path,
    label: str,
    replay: Replay = False,
    plain: bool = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run one nightly evaluation in its worktree; `nightly once` calls this command.

    Example: benchloom nightly inside /path/of/the/project 2031-07-09
    """
    import os

    from flows.nights.subset import prepare_night
    from flows.settings import find_project

    root = find_project()
    os.chdir(root)
    raise typer.Exit(
        _carry_out(
            home,
            root,
            label,
            prepare_night(home, root, label),
            plain=plain,
            as_json=as_json,
            options={"replay": replay, "budget_usd": budget_usd, "budget_tokens": budget_tokens},
        )
    )


def _carry_out(
    home: Path,
    root: Path,
    label: str,
    plan: NightPlan | WholeNight,
    *,
    plain: bool,
    as_json: bool,
    options: dict[str, Any],
) -> int:
    import json
    from contextlib import nullcontext
    from dataclasses import asdict

    from flows.commands.cli_recorder import open_recorder
    from flows.commands.run import bring_up_stages, make_run
    from flows.graph_file import require_graph
    from flows.night_settings import read_nightly
    from flows.nights.inside import NightWork, stop_with_parent
    from flows.run.prefect_server import use_prefect
    from flows.run.runner import Run
    from flows.settings import load_params
    from tasks.judging.nights import Night
    from tasks.reports.night_summary import describe_night

    params = load_params(root)
    nightly = read_nightly(params)
    require_graph(root, params)
    run = make_run(root, open_recorder(root), params, **options)
    run.listen()
    stop_with_parent(run)
    run.say(f"nightly run {label}")

    def bring_up(run: Run, names: Sequence[str]) -> int:
        # Use the Prefect server of the user's project, since the worktree does not have a server.
        with nullcontext() if plain else use_prefect(home, run.say):
            return bring_up_stages(run, names, plain=plain, title=f"night {label}")

    def show(night: Night) -> None:
        if as_json:
            typer.echo(json.dumps(asdict(night)))
        for line in describe_night(night):
            run.say(line)
        run.say("page: data/nightly/index.html")

    return NightWork(home, label, nightly, run, show, plan).carry_out(bring_up)


@app.command()
def accept(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label of a nightly run with an alarm.")],
) -> None:
    """Accept a nightly run despite its alarm, so that later nightly runs are compared with it.

    Example: benchloom nightly accept 2031-07-09
    """
    from flows.nights.history import accept_night
    from flows.settings import find_project

    night = accept_night(find_project(), label)
    _say(f"nightly run {night.label} is accepted; later runs are compared with this run")


@app.command()
def serve() -> None:
    """Run nightly evaluations on the schedule `nightly.cron`, until Ctrl-C.

    Example: benchloom nightly serve
    """
    from datetime import UTC, datetime

    from flows.night_settings import describe_schedule, read_nightly
    from flows.run.prefect_server import use_prefect
    from flows.settings import find_project, load_params

    root = find_project()
    nightly = read_nightly(load_params(root))
    with use_prefect(root, _say, needed=True):
        # Imported here, because Prefect reads its settings when it is imported.
        from flows.nights.deployment import serve_nights

        _say(f"nightly runs start at {describe_schedule(nightly, datetime.now(UTC))}; press Ctrl-C to stop")
        serve_nights(root, nightly.cron, nightly.timezone)


Pool = Annotated[
    str | None,
    typer.Option(
        help="A Prefect work pool of type process, created if missing. Default: the pool in prefect.yaml."
    ),
]


@app.command()
def deploy(
    pool: Pool = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="The port of the project's Prefect server.")
    ] = 4210,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the deployment and its server.")] = False,
) -> None:
    """Create a Prefect deployment, a persistent server, and the files that start the server and a worker.

    Example: benchloom nightly deploy --port 4210
    """
    from contextlib import nullcontext
    from datetime import UTC, datetime

    from flows.night_settings import describe_schedule, read_nightly
    from flows.nights.service_files import remove_files, write_files
    from flows.prefect_file import POOL
    from flows.run.prefect_server import (
        find_foreign,
        run_persistent_server,
        stop_persistent_server,
        use_prefect,
    )
    from flows.settings import find_project, load_params

    root = find_project()
    params = load_params(root)
    foreign = find_foreign(root) is not None
    if remove:
        with use_prefect(root, _say, needed=True):
            from flows.nights.deployment import remove_nights

            found = remove_nights()
        if not foreign:
            stop_persistent_server(root)
        remove_files(root)
        _say("the deployment was removed" if found else "no deployment existed")
        return
    nightly, pool = read_nightly(params), pool or POOL
    server = nullcontext() if foreign else run_persistent_server(root, port, _say)
    with server, use_prefect(root, _say, needed=True):
        from flows.nights.deployment import deploy_nights

        files = write_files(root, pool, params)
        if deploy_nights(root, pool):
            _say("prefect.yaml was written")
    schedule = describe_schedule(nightly, datetime.now(UTC))
    _say(f"deployed with the schedule {schedule} to the work pool {pool!r}; nightly runs need:")
    for line in files.describe_needs(pool, foreign):
        _say(f"- {line}")


@app.command(hidden=True)
def work(pool: Pool = None) -> None:
    """Run a deployment's server and worker. The generated systemd unit and compose file call this command.

    Example: benchloom nightly work --pool benchloom
    """
    from flows.nights.service_files import keep_worker
    from flows.prefect_file import POOL
    from flows.run.prefect_server import find_foreign, read_port, use_prefect
    from flows.settings import find_project
    from tasks.errors import BadInput

    root = find_project()
    foreign = find_foreign(root) is not None
    if not foreign and read_port(root) is None:
        raise BadInput(
            "benchloom nightly work",
            "this project has no nightly deployment",
            hint="run `benchloom nightly deploy`",
        )
    with use_prefect(root, _say, needed=True):
        keep_worker(root, pool or POOL, own=not foreign)


def _say(line: str) -> None:
    say_line(line)
