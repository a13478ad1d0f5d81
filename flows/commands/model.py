"""`benchloom model`: the models that run on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.ledger import AsJson, load_models

if TYPE_CHECKING:
    from tasks.models.settings import EmbeddedModel

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Manage the files and servers of embedded models."
)

Name = Annotated[
    str | None, typer.Argument(help="A name under `models:` in params.yaml. Default: the first.")
]


@app.command()
def pull(
    name: Name = None,
    file: Annotated[Path | None, typer.Option(help="A local copy, instead of a download.")] = None,
) -> None:
    """Download a model's file into your cache folder, and verify its checksum.

    Example: benchloom model pull
    """
    from tasks.models.serving.fetching import pull_model

    name, model = choose_model(name)
    place = pull_model(name, model, local_file=file, say=lambda line: typer.echo(line, err=True))
    typer.echo(f"{name}: {place}")


@app.command()
def serve(
    name: Name = None,
    idle: Annotated[
        float, typer.Option(min=0, help="Seconds without a call until the server stops; 0 means never.")
    ] = 0,
) -> None:
    """Start a model's server on loopback, unless one runs, and print its address.

    Runs and other processes find the server; `benchloom model stop` stops it.

    Example: benchloom model serve
    """
    from tasks.models.serving.embedded import ensure_server

    name, model = choose_model(name)
    typer.echo(ensure_server(name, model, idle))


@app.command(name="list")
def list_(as_json: AsJson = False) -> None:
    """List the embedded models: file, checksum, server.

    Example: benchloom model list --json
    """
    from tasks.models.serving.embedded import list_servers
    from tasks.models.serving.fetching import find_file, has_files

    _, models = load_models()
    servers = {running.name: running for running in list_servers()}
    rows: list[dict[str, Any]] = []
    for name, model in sorted(models.items()):
        path = find_file(model)
        here = has_files(model)
        url = servers[name].url if name in servers else None
        rows.append({"name": name, "file": str(path), "here": here, "sha256": model.sha256, "server": url})
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        state = "here" if row["here"] else "not pulled"
        typer.echo(f"{row['name']}  {state}  {row['server'] or 'no server'}  {row['file']}")


@app.command()
def stop(name: Name = None) -> None:
    """Stop a model's server, or all servers.

    Example: benchloom model stop
    """
    from tasks.models.serving.embedded import stop_server, stop_servers

    stopped = stop_servers() if name is None else [name] * stop_server(name)
    typer.echo(f"stopped: {', '.join(stopped)}" if stopped else "no server was running")


def choose_model(name: str | None) -> tuple[str, EmbeddedModel]:
    """Find a model of params.yaml by name. Raises BadInput that names those there are."""
    from tasks.errors import BadInput

    _, models = load_models()
    if not models:
        raise BadInput("params.yaml: models", "names no embedded model", hint="see docs/models.md")
    name = name or next(iter(models))
    if name not in models:
        raise BadInput(f"model {name}", f"is not in params.yaml (there: {', '.join(models)})")
    return name, models[name]
