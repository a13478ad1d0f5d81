"""`benchloom import` for the datasets of StreamBench (docs/streambench.md)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tasks.errors import BadInput

if TYPE_CHECKING:
    from flows.stream_import import ImportChoice, ImportedStream
    from tasks.sources.stream_dataset import DatasetHead

app = typer.Typer()


class ImportGroup(TyperGroup):
    """The shipped importers as commands, and those of one's own files and of packages by their names."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the shipped commands, then one's own."""
        shipped = super().list_commands(ctx)
        return list(dict.fromkeys([*shipped, *self._list_own()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command; one of one's own is made when it is asked for."""
        shipped = super().get_command(ctx, cmd_name)
        return shipped or (make_own(cmd_name) if cmd_name in self._list_own() else None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called. Raises BadInput where an importer has a shipped one's name."""
        if args[0] in self.commands and args[0] in self._list_own():
            raise BadInput(f"importer {args[0]}", "has the name of a shipped command", hint="rename it")
        return super().resolve_command(ctx, args)

    def _list_own(self) -> list[str]:
        from tasks.plugged_classes import list_own
        from tasks.plugs import list_plugs
        from tasks.sources import importers

        return [*list_own(Path(importers.__path__[0])), *list_plugs("importers")]


Release = Annotated[
    Path, typer.Argument(help="The folder, an archive of it, or the file, as published.", metavar="PATH")
]
Name = Annotated[str, typer.Option(metavar="NAME", help="Of the folder under data/raw/streambench.")]
Take = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="So many items, drawn by seed. Default: all."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Of the draw.")]
Shots = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help='Examples of your own: JSON Lines with "text" and "answer".'),
]
Databases = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the databases are: DIR/<id>/<id>.sqlite. Default: beside it."),
]


@app.command()
def cosql(
    path: Release,
    databases: Databases = None,
    name: Name = "cosql",
    take: Take = None,
    seed: Seed = 42,
    shots: Shots = None,
) -> None:
    """Bring in CoSQL, each turn of its dialogues a question of its own, for streambench.

    Example: benchloom import cosql cosql_dataset.zip
    """
    from flows.cosql_import import HEAD, import_cosql
    from flows.settings import find_project

    say(import_cosql(find_project(), path, make_choice(name, take, seed, shots), databases), HEAD)


@app.command()
def bird(
    path: Release,
    databases: Databases = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Questions without a database, too: they are asked, and never judged."),
    ] = False,
    name: Name = "bird",
    take: Take = None,
    seed: Seed = 42,
    shots: Shots = None,
) -> None:
    """Bring in BIRD's development split, for streambench.

    Example: benchloom import bird dev --databases dev/dev_databases
    """
    from flows.bird_import import HEAD, import_bird
    from flows.settings import find_project

    choice = make_choice(name, take, seed, shots)
    say(import_bird(find_project(), path, choice, databases, keep=keep), HEAD)


@app.command()
def ds1000(
    path: Release, name: Name = "ds1000", take: Take = None, seed: Seed = 42, shots: Shots = None
) -> None:
    """Bring in DS-1000's problems with their test programs, for streambench.

    Example: benchloom import ds1000 ds1000.jsonl.gz --shots data/shots/ds1000.jsonl
    """
    from flows.ds1000_import import HEAD, import_ds1000
    from flows.settings import find_project

    say(import_ds1000(find_project(), path, make_choice(name, take, seed, shots)), HEAD)


@app.command()
def toolbench(
    path: Release, name: Name = "toolbench", take: Take = None, seed: Seed = 42, shots: Shots = None
) -> None:
    """Bring in the tests of STE's 50 APIs, with the descriptions of all 817, for streambench.

    Example: benchloom import toolbench STE/tool_metadata
    """
    from flows.settings import find_project
    from flows.toolbench_import import HEAD, import_toolbench

    say(import_toolbench(find_project(), path, make_choice(name, take, seed, shots)), HEAD)


@app.command()
def ddxplus(
    path: Release,
    name: Name = "ddxplus",
    take: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="So many patients, as many of each diagnosis. Default: 1,764; 0: all."
        ),
    ] = None,
    seed: Seed = 42,
    shots: Shots = None,
) -> None:
    """Bring in patients of DDXPlus, as many of each diagnosis, for streambench.

    Example: benchloom import ddxplus ddxplus --take 490
    """
    from flows.ddxplus_import import HEAD, import_ddxplus
    from flows.settings import find_project

    say(import_ddxplus(find_project(), path, make_choice(name, take, seed, shots)), HEAD)


@app.command()
def hotpotqa(
    path: Release, name: Name = "hotpotqa", take: Take = None, seed: Seed = 42, shots: Shots = None
) -> None:
    """Bring in HotpotQA's distractor questions with their paragraphs, for streambench.

    Example: benchloom import hotpotqa hotpot_dev_distractor_v1.json --take 1500
    """
    from flows.hotpotqa_import import HEAD, import_hotpotqa
    from flows.settings import find_project

    say(import_hotpotqa(find_project(), path, make_choice(name, take, seed, shots)), HEAD)


def make_own(importer: str) -> Any:
    """Make the command of an importer of one's own. Imports nothing of it."""
    own = typer.Typer()

    @own.command(importer)
    def bring_in(
        path: Release, name: Name = importer, take: Take = None, seed: Seed = 42, shots: Shots = None
    ) -> None:
        """Bring in a dataset by an importer of your own, for streambench (docs/plugs.md)."""
        from flows.own_import import import_own
        from flows.settings import find_project

        say(*import_own(find_project(), importer, path, make_choice(name, take, seed, shots)))

    return typer.main.get_command(own)


def make_choice(name: str, take: int | None, seed: int, shots: Path | None) -> ImportChoice:
    """Make what an import is asked for."""
    from flows.stream_import import ImportChoice

    return ImportChoice(name, take, seed, shots)


def say(done: ImportedStream, head: DatasetHead) -> None:
    """Say what an import did; leave with 1 where a file ended before its end."""
    from flows.stream_import import say_stream

    for line in say_stream(done, head):
        print(line)
    if done.ended:
        print(f"benchloom: a record is broken: {done.ended}", file=sys.stderr)
        raise typer.Exit(1)
