"""`benchloom import`: bring in what others, or you, have written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_imports import ImportGroup, Shots, make_choice, say
from flows.commands.cli_imports import app as streams_app
from tasks.errors import BadInput

app = typer.Typer(cls=ImportGroup, help="Bring in what others, or you, have written.", no_args_is_help=True)
app.add_typer(streams_app)


@app.callback()
def describe() -> None:
    """Bring in what others, or you, have written.

    Example: benchloom import templates my-templates.jsonl --database shop --instead
    """


@app.command()
def templates(
    file: Annotated[str, typer.Argument(help="JSON Lines, plain or gzipped; - is stdin.", metavar="FILE")],
    database: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A name of `databases`, for lines that name none themselves."),
    ] = None,
    instead: Annotated[
        bool | None,
        typer.Option(
            "--instead/--beside",
            help="Instead of a model's, and none is asked; or beside. Default: as it is, at first beside.",
        ),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Import the others where some break a rule; `.dropped` has these.")
    ] = False,
) -> None:
    """Bring in SQL templates with texts of your own, for questions over a database (docs/templates.md).

    A line: {"sql": "SELECT films.runtime FROM films WHERE films.title = '[films.title]'",
    "texts": {"short": "runtime of the film [films.title]", "long": ["...", "..."]}, "tag": "lengths"}

    Example: benchloom import templates my-templates.jsonl --database shop --instead
    """
    from flows.settings import find_project
    from flows.templates_import import import_templates

    import_templates(find_project(), file, database, instead=instead, drop=drop)


@app.command()
def mtrag(
    file: Annotated[Path, typer.Argument(help="An evaluation file as MT-RAG publishes it.", metavar="FILE")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the set in params.yaml.")] = "mtrag",
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="What people rated; default: the first that they did.")
    ] = "",
    judge: Annotated[
        str, typer.Option(metavar="ROLE", help="The role that judges the answers too.")
    ] = "judge",
) -> None:
    """Bring in published answers of models with people's ratings of them (docs/ragcheck.md).

    Each model becomes a system that replays its answers; the ratings are what judges are held against.

    Example: benchloom import mtrag mtrag-human.json --metric completeness
    """
    from flows.published_answers import import_published
    from flows.settings import find_project

    for line in import_published(find_project(), file, name, metric, judge):
        print(line)


@app.command()
def spider(
    path: Annotated[
        Path, typer.Argument(help="Spider's folder, or an archive of it, as published.", metavar="PATH")
    ],
    database: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A database of it; may be said several times.")
    ] = None,
    take: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="So many others with rows, drawn by seed."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the draw.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="All of its databases that have rows.")] = False,
    longform: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Long-form questions over them, too: this one of `longform.sets`."),
    ] = None,
    streambench: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead, its test questions as a dataset of streambench; --take and --seed draw.",
        ),
    ] = None,
    shots: Shots = None,
) -> None:
    """Bring in databases of Spider with the questions about them (docs/databases.md, docs/streambench.md).

    Example: benchloom import spider spider_data.zip --database concert_singer --take 5
    """
    from flows.run.progress import tell_first
    from flows.settings import find_project
    from flows.spider_import import import_spider

    if streambench is not None:
        from flows.spider_stream import HEAD, import_spider_stream

        if database or every or longform:
            raise BadInput("--streambench", "takes neither --database, --all nor --longform")
        choice = make_choice(streambench, take, seed, shots)
        say(import_spider_stream(find_project(), path, choice), HEAD)
        return
    if shots is not None:
        raise BadInput("--shots", "is of --streambench")
    done, left = import_spider(
        find_project(), path, database or [], take, seed, every=every, question_set=longform
    )
    tell_first("left out: ", left)
    for line in done:
        print(line)


@app.command()
def wikidata(
    place: Annotated[
        list[str],
        typer.Argument(
            help="Files of a JSON dump (.json, .gz, .bz2), a SQLite database with item ids, or the address "
            "of an API (.../w/api.php) or SPARQL endpoint (.../sparql).",
            metavar="PATH|URL",
        ),
    ],
    property_: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="P..", help="Take claims of it alone; may be said several times."),
    ] = None,
    entity: Annotated[list[str] | None, typer.Option(metavar="Q..", help="An item to take.")] = None,
    class_: Annotated[
        list[str] | None, typer.Option("--class", metavar="Q..", help="Take what is an instance of it.")
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Of labels and pages; `all` for all. Default: en."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=P..", help="A table's column and its property; NAME=P2047:Q7727: in a unit."
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of the folder under data/raw/wikidata.")
    ] = "main",
    contact: Annotated[
        str,
        typer.Option(metavar="MAIL", envvar="BENCHLOOM_CONTACT", help="How a server's people can reach you."),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes that read a dump. Default: one a core."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(metavar="threads|dask|ray", help="Where they are found; see docs/engines.md."),
    ] = "threads",
) -> None:
    """Bring in entities and claims of Wikidata as Parquet files (docs/wikidata.md).

    Example: benchloom import wikidata latest-all.json.bz2 --class Q11424 --property P57 --property P577
    """
    from flows.run.engines import open_engine
    from flows.settings import find_project
    from flows.wikidata_import import import_wikidata, make_selection, say_progress
    from tasks.sources.wikidata.table import read_column

    selection = make_selection(entity, class_, property_, language)
    columns = [read_column(text) for text in column or []]
    root = find_project()
    with open_engine(root, engine, workers, say_progress) as opened:
        done = import_wikidata(root, place, name, selection, columns=columns, contact=contact, engine=opened)
    for line in done:
        print(line)


@app.command()
def wikipedia(
    path: Annotated[
        str,
        typer.Argument(
            help="A dump, structured contents (NDJSON), wikitext, JSON of texts, or the URL of an api.php.",
            metavar="PATH",
        ),
    ],
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of the folder in data/raw/wikipedia.")
    ] = "articles",
    title: Annotated[
        list[str] | None, typer.Option(metavar="T", help="Only this article; may be said several times.")
    ] = None,
    contact: Annotated[
        str,
        typer.Option(metavar="MAIL", envvar="BENCHLOOM_CONTACT", help="How a server's people can reach you."),
    ] = "",
) -> None:
    """Bring in Wikipedia's articles as sentences, table cells and infobox entries (docs/wikipedia.md).

    Example: benchloom import wikipedia enwiki-latest-pages-articles.xml.bz2 --name english --title Dublin
    """
    from flows.settings import find_project

    try:
        from flows.wikipedia_import import import_wikipedia, say_outcome
    except ModuleNotFoundError as error:
        raise miss_library("wikipedia", error) from error
    outcome = import_wikipedia(find_project(), path, name, title or [], contact)
    for line in say_outcome(outcome):
        print(line)
    for line in outcome.ended:
        print(f"benchloom: ended early: {line}", file=sys.stderr)
    if outcome.ended:
        raise typer.Exit(1)


@app.command()
def qampari(
    path: Annotated[
        Path, typer.Argument(help="JSON or JSON Lines, plain or gzipped, as published.", metavar="PATH")
    ],
    graph: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="An imported Wikidata: finds answers by id, link and label."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the folder under data/raw/qampari.")] = "main",
    whole: Annotated[
        bool, typer.Option("--whole", help="Leave out a question that loses one of its answers.")
    ] = False,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of `tanq.sources`: these become its list questions.")
    ] = None,
) -> None:
    """Bring in list questions of QAMPARI, which tanq extends (docs/tanq.md).

    Example: benchloom import qampari dev_data.jsonl.gz --graph data/raw/wikidata/main
    """
    from flows.settings import find_project

    try:
        from flows.qampari_import import import_qampari, say_seeds
    except ModuleNotFoundError as error:
        raise miss_library("qampari", error) from error
    done = import_qampari(find_project(), path, name, graph, whole=whole, source=source)
    for line in say_seeds(done):
        print(line)
    tell_end(done.ended)


@app.command()
def tanq(
    path: Annotated[
        Path, typer.Argument(help="JSON or JSON Lines, plain or gzipped, as published.", metavar="PATH")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the folder under data/raw/tanq.")] = "main",
    question: Annotated[
        str,
        typer.Option(metavar="FIELD", help="That is asked. Default: the cleaned one, else what there is."),
    ] = "",
) -> None:
    """Bring in published records of TANQ as a dataset for `evaluate tanq` (docs/tanq.md).

    Example: benchloom import tanq tanq_test.jsonl.gz --question ext_question_rephrased
    """
    from flows.settings import find_project

    try:
        from flows.tanq_import import import_tanq, say_items
    except ModuleNotFoundError as error:
        raise miss_library("tanq", error) from error
    done = import_tanq(find_project(), path, name, question)
    for line in say_items(done):
        print(line)
    tell_end(done.ended)


def miss_library(source: str, error: ModuleNotFoundError) -> BadInput:
    """Make the error for an import whose libraries are not installed."""
    what = f"needs {error.name}, which is not installed here"
    return BadInput(f"benchloom import {source}", what, hint="pip install 'benchloom[wiki]'")


def tell_end(ended: str) -> None:
    """Say where a file ended before its end, and leave with 1 then."""
    if ended:
        print(f"benchloom: ended early: {ended}", file=sys.stderr)
        raise typer.Exit(1)
