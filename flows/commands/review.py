"""The `benchloom review` commands: export, import and serve forms in which people review artifact rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.cli_group import CommandGroup
from flows.commands.cli_options import Json

if TYPE_CHECKING:
    from flows.review.items import ReviewedArtifact
    from tasks.judging.decisions import Decisions, PairAgreement

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Let people accept, edit, reject and rate rows of artifacts.\n\n"
    "Example: benchloom review serve data/grammar/films/questions.parquet",
)

Artifact = Annotated[
    Path, typer.Argument(metavar="ARTIFACT.parquet", help="An artifact whose rows have ids and texts.")
]
Take = Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only N items, sampled with --seed.")]
Seed = Annotated[int, typer.Option(help="Random seed for --take.")]
Beside = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="ARTIFACT.parquet",
        help="Also show the row of this artifact to which each item refers. Repeatable.",
    ),
]
NAMED_LINES = 50
"""Maximum number of invalid lines that are printed; further invalid lines are only counted."""


@app.command()
def export(
    artifact: Artifact,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv|.jsonl",
            help="The output file. Default: FLOW-...-STAGE.csv, derived from the artifact's path.",
        ),
    ] = None,
    take: Take = None,
    seed: Seed = 0,
    beside: Beside = None,
    as_json: Json = False,
) -> None:
    """Write items to a form with columns to fill in: decision, edited, rating, reviewer, note.

    Example: benchloom review export data/grammar/films/questions.parquet --out form.csv --take 50
    """
    from flows.review.forms import draw_items, write_review_form
    from flows.settings import find_project
    from tasks.judging.decisions import name_decisions

    root = find_project()
    found = open_artifact(root, artifact, beside)
    items = draw_items(found, take, seed)
    place = out or Path(name_decisions(found.path)).with_suffix(".csv")
    write_review_form(found, items, place)
    facts = {"path": str(place), "artifact": found.path, "items": len(items), "of": len(found.items)}
    if as_json:
        typer.echo(json.dumps({**facts, "edited": list(found.editable)}))
        return
    typer.echo(f"{place}: wrote {len(items)} of {len(found.items)} items of {found.path}")


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(help="A completed form, .csv or .jsonl.")],
    reviewer: Annotated[
        str, typer.Option(metavar="NAME", help="The name to record for lines without a reviewer.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Merge the decisions of a completed form into data/labels/review. Exit with 1 if a line is invalid.

    Example: benchloom review import form.csv --reviewer Anna
    """
    from dataclasses import asdict
    from datetime import UTC, datetime

    from flows.review.fields import read_name
    from flows.review.forms import read_form
    from flows.review.store import find_file, record_decisions
    from flows.settings import find_project
    from tasks.errors import BadInput
    from tasks.scoring.items import BadItem

    root, now = find_project(), datetime.now(UTC)
    try:
        reviewer = read_name({"reviewer": reviewer}) if reviewer else ""
    except BadItem as error:
        raise BadInput("--reviewer", str(error)) from error
    form = read_form(root, file, reviewer, now)
    merged = record_decisions(root, form.artifact.path, form.decisions, now)
    pairs = merged.decisions.measure_agreement()
    facts: dict[str, Any] = {
        "path": find_file(root, form.artifact.path).relative_to(root).as_posix(),
        "artifact": form.artifact.path,
        "read": len(form.decisions) + len(form.refused) + form.left_open,
        "new": merged.new,
        "changed": merged.changed,
        "unchanged": merged.unchanged,
        "older": merged.older,
        "left_open": form.left_open,
        "refused": [asdict(line) for line in form.refused],
        "split": list_split(form.artifact, merged.decisions),
        "agreement": [asdict(pair) for pair in pairs],
    }
    tell_refused(file, facts["refused"])
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
    else:
        print_import(facts)
        for line in describe_people(pairs, facts["split"]):
            typer.echo(line)
    raise typer.Exit(1 if form.refused else 0)


@app.command()
def serve(
    artifact: Artifact,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 selects a free port.")] = 0,
    take: Take = None,
    seed: Seed = 0,
    beside: Beside = None,
) -> None:
    """Serve a page on loopback to review items one by one with the keyboard. Each decision is saved at once.

    Several people can review at the same time, each under their own name. After Ctrl-C, the command prints
    the agreement between each pair of reviewers and the items on which they disagree.

    Example: benchloom review serve data/grammar/films/questions.parquet --take 50
    """
    import secrets

    from flows.review.forms import draw_items
    from flows.review.server import ReviewServer, serve_review
    from flows.review.store import find_file
    from flows.settings import find_project
    from tasks.judging.decisions import load_decisions

    root = find_project()
    found = open_artifact(root, artifact, beside)
    items = draw_items(found, take, seed)
    token = secrets.token_urlsafe(24)
    place = find_file(root, found.path).relative_to(root).as_posix()

    def announce(url: str) -> None:
        typer.echo(f"{url}/{token}/")
        typer.echo(
            f"{len(items)} of {len(found.items)} items are served; decisions are written to {place}", err=True
        )

    try:
        serve_review(ReviewServer(root, found, items, token), port, announce)
    except KeyboardInterrupt:
        typer.echo("stopped; every decision is saved", err=True)
        decisions = load_decisions(root / place)
        for line in describe_people(decisions.measure_agreement(), list_split(found, decisions)):
            typer.echo(line, err=True)
        raise typer.Exit(130) from None


def open_artifact(root: Path, path: Path, beside: list[Path] | None) -> ReviewedArtifact:
    """Read an artifact by its path relative to the current folder or to the project."""
    from flows.review.items import read_artifact

    return read_artifact(root, find_path(root, path), [find_path(root, other) for other in beside or []])


def find_path(root: Path, path: Path) -> Path:
    """Return the path relative to the current folder if it exists, otherwise relative to the project."""
    return path.absolute() if path.exists() else root / path


def list_split(artifact: ReviewedArtifact, decisions: Decisions) -> list[str]:
    """List the ids of items with as many accept as reject decisions, or with different edited texts."""
    rulings = {item.id: decisions.decide_seen(item.id, item.seen) for item in artifact.items.values()}
    return [item for item, ruling in rulings.items() if ruling.state == "split"]


def tell_refused(file: Path, refused: list[dict[str, Any]]) -> None:
    """Print the first `NAMED_LINES` invalid lines with reasons to stderr, and the number of further lines."""
    for line in refused[:NAMED_LINES]:
        typer.echo(f"benchloom: {file}, line {line['line']}: {line['why']}", err=True)
    if len(refused) > NAMED_LINES:
        typer.echo(f"benchloom: {file}: {len(refused) - NAMED_LINES} more lines are invalid", err=True)


def print_import(facts: dict[str, Any]) -> None:
    """Print the counts of an import as one line."""
    counts = ("new", "changed", "unchanged", "older", "left_open")
    told = ", ".join(f"{facts[name]} {name.replace('_', ' ')}" for name in counts)
    typer.echo(f"{facts['path']}: {facts['read']} lines read: {told}, {len(facts['refused'])} invalid")


def describe_people(pairs: list[PairAgreement], split: list[str]) -> list[str]:
    """Return one line per pair of reviewers with their agreement, and one line with the disputed items."""
    lines = []
    for pair in pairs:
        kappa = "-" if pair.kappa is None else f"{pair.kappa:.4f}"
        agree = "-" if pair.agree is None else f"{100 * pair.agree:.2f}%"
        lines.append(f"{pair.first}, {pair.second}: agree on {agree} of {pair.n} items, kappa {kappa}")
    return [
        *lines,
        *([f"items not accepted, because the reviewers disagree: {', '.join(split)}"] if split else []),
    ]
