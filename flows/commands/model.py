"""The `benchloom model` commands: download, start, list and stop embedded models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.cli_group import CommandGroup
from flows.commands.ledger import AsJson, load_models

if TYPE_CHECKING:
    from tasks.models.settings import EmbeddedModel

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Manage the files and the servers of embedded models.",
)

Name = Annotated[
    str | None,
    typer.Argument(help="A model under `models:` in params.yaml. Default: the first; for `model stop`: all."),
]


@app.command()
def pull(
    name: Name = None,
    file: Annotated[
        Path | None, typer.Option(help="Use this local copy of the file instead of downloading it.")
    ] = None,
) -> None:
    """Download a model's file to the user's cache folder and verify its checksum.

    The sample's models are 1,117 MB, 491 MB and 23 MB. The command prints its progress and the time left.

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
        float, typer.Option(min=0, help="Stop the server after this many seconds without a call; 0: never.")
    ] = 0,
) -> None:
    """Start a model's server on loopback, unless it is already running, and print its URL.

    Later runs of any project use this server. `benchloom model stop` stops the server.

    Example: benchloom model serve
    """
    from tasks.models.serving.embedded import ensure_server

    name, model = choose_model(name)
    typer.echo(ensure_server(name, model, idle))


@app.command(name="list")
def list_(as_json: AsJson = False) -> None:
    """List the embedded models with their files, checksums and servers.

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
        state = "downloaded" if row["here"] else "not downloaded"
        typer.echo(f"{row['name']}  {state}  {row['server'] or 'no server'}  {row['file']}")


@app.command()
def stop(name: Name = None) -> None:
    """Stop the server of one model, or of all models.

    Example: benchloom model stop
    """
    from tasks.models.serving.embedded import stop_server, stop_servers

    stopped = stop_servers() if name is None else [name] * stop_server(name)
    typer.echo(f"stopped: {', '.join(stopped)}" if stopped else "no server was running")


def choose_model(name: str | None) -> tuple[str, EmbeddedModel]:
    """Return a model from params.yaml by name, or the first model if no name is given.

    Raises BadInput, with the known names, if the name is unknown. Also raises BadInput if there are no
    models.
    """
    from tasks.errors import BadInput

    _, models = load_models()
    if not models:
        raise BadInput("params.yaml: models", "lists no embedded model", hint="see docs/models.md")
    name = name or next(iter(models))
    if name not in models:
        raise BadInput(f"model {name}", f"is not in params.yaml (known: {', '.join(models)})")
    return name, models[name]
