"""The `benchloom ledger` commands: count, export, import, verify, prune and serve recorded model calls."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.cli_group import CommandGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tasks.models.recording.ledger import Ledger, ModelStats, PossiblyPaid
    from tasks.models.settings import EmbeddedModel, ModelRun

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Inspect, share, verify, prune and serve recorded model calls.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
DAY_S = 86_400


@app.command()
def stats(as_json: AsJson = False) -> None:
    """Count calls, tokens and dollars by model, and list the cost of calls without a usable reply.

    Example: benchloom ledger stats --json
    """
    with open_ledger() as ledger:
        facts = asdict(ledger.stats())
        models = price_models(ledger.count_models())
        possibly_paid = price_doubts(ledger.list_possibly_paid())
    if as_json:
        typer.echo(json.dumps({**facts, "models": models, "possibly_paid_models": possibly_paid}))
        return
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' '):18} {value}")
    for row in models:
        typer.echo(describe_model(row))
    for row in possibly_paid:
        typer.echo(f"no usable reply, maximum cost: {describe_model(row)}")


@app.command()
def export(
    flow: Annotated[str, typer.Argument(help="Export the recorded calls of this flow.")],
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Include calls of unfinished stages, and keep previously exported calls."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The output file. Default: data/ledger/FLOW.jsonl.gz.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy the calls that produced a flow's artifacts to the ledger file that ships with the project.

    Example: benchloom ledger export grammar
    """
    from tasks.errors import BadInput
    from tasks.models.recording.ledger import list_unfinished
    from tasks.models.recording.shipped import read_shipped, write_shipped
    from tasks.models.verifying import find_calls

    root = find_root()
    shipped = root / "data" / "ledger" / f"{flow}.jsonl.gz"
    calls = find_calls(root / "data", flow)
    with open_ledger() as ledger:
        entries = {call.id: ledger.get(call.id) for call in calls}
        missing = [call for call in calls if entries[call.id] is None]
        if missing and not partial:
            first = f"the first is {missing[0].id[:12]} of {missing[0].stage}"
            raise BadInput(
                "data",
                f"{len(missing)} of {len(calls)} calls are not in any ledger; {first}",
                hint="run the flow without --replay, or import the ledger in which the calls were recorded",
            )
        facts: dict[str, Any] = {}
        if partial:
            waiting = set(list_unfinished(ledger, str(root), flow)) - entries.keys()
            found = {key: entry for key in waiting if (entry := ledger.get(key)) is not None}
            entries |= found
            facts |= {"unfinished": len(found), "missing": len(missing)}
            # A stage that is being re-run has removed its artifact; only the shipped file contains its calls.
            entries = {**(read_shipped(shipped) if shipped.exists() else {}), **entries}
    kept = [entry for entry in entries.values() if entry is not None]
    if not kept:
        more = "" if partial else "; --partial includes calls of unfinished stages"
        hint = f"run `benchloom run {flow}{more}`"
        raise BadInput("data", f"contains no calls from the flow {flow} (*.calls.parquet)", hint=hint)
    place = out or shipped
    count = write_shipped(place, kept)
    tell(as_json, {"path": str(place), "calls": count, **facts, "bytes": place.stat().st_size})


@app.command(name="import")
def import_(
    path: Annotated[Path, typer.Argument(help="A shipped ledger (.jsonl.gz).")], as_json: AsJson = False
) -> None:
    """Copy the calls of a shipped ledger into the live ledger. Existing calls are not changed.

    Example: benchloom ledger import colleague.jsonl.gz
    """
    from tasks.errors import BadInput

    if not path.is_file():
        raise BadInput(path, "does not exist")
    with open_ledger() as ledger:
        before = ledger.stats().live_calls
        calls = ledger.import_shipped(path)
        added = ledger.stats().live_calls - before
    tell(as_json, {"path": str(path), "calls": calls, "added": added})


@app.command()
def verify(
    flow: Annotated[
        str | None, typer.Argument(help="Verify only the calls of this flow. Default: all flows.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Number of calls to verify, sampled with --seed. Default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for --sample.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Repeat recorded calls without the ledger and compare the replies. Exit with 1 if a reply differs.

    Example: benchloom ledger verify --sample 30
    """
    import asyncio

    from tasks.errors import BadInput
    from tasks.models.opening import open_client
    from tasks.models.sending.budget import Budget
    from tasks.models.verifying import RepeatedCall, ask_again, draw_sample, find_model_calls

    calls = draw_sample(find_model_calls(find_root() / "data", flow or ""), sample, seed)
    if not calls:
        of = f"calls of {flow}" if flow else "calls"
        raise BadInput("data", f"contains no {of} (*.calls.parquet)", hint="run `benchloom run`")
    run, models = load_models()
    done: list[RepeatedCall] = []

    def show(comparison: RepeatedCall) -> None:
        done.append(comparison)
        verdict = "same" if comparison.same else "DIFFERENT"
        typer.echo(
            f"{len(done)}/{len(calls)} {comparison.call.id[:12]} {comparison.call.stage}: {verdict}", err=True
        )

    results = asyncio.run(ask_again(calls, open_client(run, models, Budget(run.budget)), show))
    different = [result for result in results if not result.same]
    facts: dict[str, Any] = {
        "asked": len(results),
        "same": len(results) - len(different),
        "different": len(different),
    }
    if as_json:
        facts["differing"] = [
            {
                "call": result.call.id,
                "stage": result.call.stage,
                "recorded": result.call.text,
                "live": result.text,
            }
            for result in different
        ]
    tell(as_json, facts)
    raise typer.Exit(1 if different else 0)


@app.command()
def prune(
    older_than_days: Annotated[
        float | None,
        typer.Option(min=0, help="Delete live calls recorded more than this many days ago."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help='Delete only calls to this model; "" selects calls without a recorded model.'),
    ] = None,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="Delete live calls whose checksums do not match.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count the calls without deleting any.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old or damaged calls from the live ledger, and print the cost of repeating the old calls.

    Shipped ledgers never change.

    Example: benchloom ledger prune --older-than-days 365 --model my-model --dry-run
    """
    from tasks.errors import BadInput

    if damaged == (older_than_days is not None):
        raise BadInput("ledger prune", "needs either --older-than-days or --damaged")
    if older_than_days is None:
        with open_ledger() as ledger:
            keys = ledger.list_damaged()
            if not dry_run:
                ledger.delete(keys)
        tell(as_json, {"would_delete" if dry_run else "deleted": len(keys)})
        return
    with open_ledger() as ledger:
        found = ledger.prune(time.time() - older_than_days * DAY_S, model=model, dry_run=dry_run)
    rows, word = price_models(found), "would_delete" if dry_run else "deleted"
    count = sum(part.calls for part in found)
    if as_json:
        tell(as_json, {word: count, "models": rows})
        return
    tell(as_json, {word: count})
    for row in rows:
        typer.echo(describe_model(row))


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 selects a free port.")] = 8093,
    latency: Annotated[float, typer.Option(min=0, help="Delay before each reply, in seconds.")] = 0.0,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of calls whose first attempt fails.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Random seed for --faults.")] = 0,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(min=1, help="Number of requests allowed per minute; further requests get status 429."),
    ] = None,
    batch_seconds: Annotated[float, typer.Option(min=0, help="Duration of a batch in seconds.")] = 0.0,
) -> None:
    """Serve recorded replies as an OpenAI-compatible API on loopback until Ctrl-C.

    The server answers chat, embedding and batch requests.

    Example: benchloom ledger serve --port 8093 --latency 0.05 --faults 0.3 --seed 7
    """
    from tasks.errors import BadInput
    from tasks.models.serving.ledger_server import LedgerServer, serve_ledger

    _, models = load_models()
    identities = {name: model.identity for name, model in models.items()}
    with open_ledger() as ledger:
        server = LedgerServer(
            ledger,
            latency_s=latency,
            faults=faults,
            seed=seed,
            requests_per_minute=requests_per_minute,
            batch_s=batch_seconds,
            identities=identities,
        )
        try:
            serve_ledger(server, port, lambda url: typer.echo(f"serving {ledger.address} at {url}"))
        except KeyboardInterrupt:
            typer.echo(json.dumps(server.counts.report()), err=True)
        except OSError as error:
            raise BadInput(
                f"--port {port}", f"cannot be used: {error.strerror}", hint="--port 0 selects a free port"
            ) from error


def find_root() -> Path:
    """Find the project's folder."""
    from flows.settings import find_project

    return find_project()


def load_models() -> tuple[ModelRun, dict[str, EmbeddedModel]]:
    """Read the model settings from params.yaml."""
    from flows.run.model_settings import read_models
    from flows.settings import load_params

    return read_models(load_params(find_root()))


def open_ledger() -> Ledger:
    """Open the live ledger together with the project's shipped ledgers."""
    from tasks.models.recording.ledger import Ledger
    from tasks.models.recording.ledger_address import find_ledger

    run, _ = load_models()
    return Ledger(find_ledger(run.ledger), sorted((find_root() / "data" / "ledger").glob("*.jsonl.gz")))


def price_models(counted: Iterable[ModelStats]) -> list[dict[str, Any]]:
    """Add the cost in US dollars to the counts of each model; None for a model without a price."""
    return [{**asdict(count), "usd": price_tokens(count)} for count in counted]


def price_doubts(possibly_paid: Iterable[PossiblyPaid]) -> list[dict[str, Any]]:
    """Return, for each model, the maximum cost of its calls that gave no usable reply."""
    from tasks.models.recording.ledger import ModelStats

    sums: dict[str, list[int]] = {}
    for call in possibly_paid:
        counts = sums.setdefault(call.model, [0, 0, 0])
        for place, count in enumerate((1, call.prompt_tokens, call.max_tokens)):
            counts[place] += count
    return price_models(ModelStats(name, False, *counts) for name, counts in sorted(sums.items()))


def price_tokens(counted: ModelStats) -> float | None:
    """Return the cost of a model's tokens in US dollars: 0 for an embedded model, None without a price."""
    from tasks.models.opening import list_prices
    from tasks.models.sending.budget import Budget

    prices = list_prices(*load_models())
    if counted.model not in prices:
        return None
    tokens = counted.prompt_tokens, counted.completion_tokens
    return round(Budget(prices=prices).price(counted.model, *tokens, batch=counted.batch).usd, 6)


def describe_model(row: Mapping[str, Any]) -> str:
    """Format a model's counts as one line."""
    name = (row["model"] or "(model not recorded)") + (" (batch API)" if row["batch"] else "")
    tokens = f"{row['prompt_tokens']:,} + {row['completion_tokens']:,} tokens"
    return f"{name}: {row['calls']:,} calls, {tokens}, " + (
        "no price in run.prices" if row["usd"] is None else f"${row['usd']:.4f}"
    )


def tell(as_json: bool, facts: dict[str, Any]) -> None:
    """Print the results of a command, by name, as one JSON object or as one line of text."""
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
    else:
        typer.echo(", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))
    sys.stdout.flush()
