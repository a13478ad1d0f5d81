"""The `benchloom` command. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.ledger import app as ledger_app
from flows.commands.model import app as model_app
from flows.commands.nightly import app as nightly_app
from tasks.errors import BenchloomError

app = typer.Typer(
    name="benchloom",
    help="Build question-answering benchmarks from databases, and re-evaluate systems on them.\n\n"
    "Example: benchloom run grammar",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FLOW|STAGE]...", help="Flows or stages; everything where none is named."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")]) -> None:
    """Make a project of your own from this one: its code, and a database and a model to fill in.

    Example: benchloom init ../my-benchmark
    """
    from flows.commands.init import init_command

    raise typer.Exit(init_command(folder))


@app.command()
def run(
    targets: Targets = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Ask no model: every call must be in a ledger.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Without Prefect.")] = False,
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
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop before this run has paid more.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Stop before this run has used more.")
    ] = None,
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
        )
    )


@app.command()
def stage(
    name: Annotated[str, typer.Argument(help="Its name, as in dvc.yaml: grammar.fill_in")],
    key: Annotated[str, typer.Argument(help="What it is fanned out over: a database's name.")] = "",
    replay: Annotated[
        bool, typer.Option("--replay", help="Ask no model: every call must be in a ledger.")
    ] = False,
) -> None:
    """Run one stage and write its outputs, as `dvc repro` does; nothing is recorded.

    Example: benchloom stage grammar.fill_in films
    """
    from flows.commands.stage import stage_command

    raise typer.Exit(stage_command(name, key, replay=replay))


@app.command()
def plan(targets: Targets = None, as_json: Json = False) -> None:
    """Say what would run and why, and what it would ask and cost. Touches nothing.

    Example: benchloom plan grammar --json
    """
    from flows.commands.plan import plan_command

    raise typer.Exit(plan_command(targets or [], as_json=as_json))


@app.command()
def status(as_json: Json = False) -> None:
    """Show each artifact: fresh, stale (why), missing or failed; its rows and its last run.

    Example: benchloom status --json
    """
    from flows.commands.status import status_command

    raise typer.Exit(status_command(as_json=as_json))


@app.command()
def score(
    metric: Annotated[str, typer.Argument(help="Its name: rms, grammar, hotpotqa, ... (docs/scoring.md)")],
    file: Annotated[str, typer.Argument(help="JSON Lines, plain or gzipped; - is stdin.")],
    rule: Annotated[
        str | None, typer.Option(help="Where a metric has several; all nests the figures by rule.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="OUT.jsonl", help="Write every item's own scores there.")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Add 95% bootstrap intervals.")] = False,
    draws: Annotated[int, typer.Option(min=1, help="How many draws --ci takes.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of --ci.")] = 0,
    databases: Annotated[Path | None, typer.Option(help="execution: DIR/<db_id>/<db_id>.sqlite")] = None,
    url: Annotated[str | None, typer.Option(help="execution: a database's SQLAlchemy URL.")] = None,
    timeout: Annotated[float | None, typer.Option(help="execution: seconds for a query; 30.")] = None,
    keep_distinct: Annotated[
        bool, typer.Option("--keep-distinct", help="execution, test-suite: leave DISTINCT in.")
    ] = False,
    closed: Annotated[
        bool, typer.Option("--closed", help="grammar: an answer without a true document is incorrect.")
    ] = False,
    turns: Annotated[int | None, typer.Option(help="multiturn: the most turns; 5.")] = None,
    drop_zero: Annotated[
        bool, typer.Option("--drop-zero", help="correlation: leave out items with a 0.")
    ] = False,
    level: Annotated[str | None, typer.Option(help="agreement: nominal, ordinal or interval.")] = None,
    as_json: Json = False,
) -> None:
    """Score predictions of your own; no project, server or model is needed.

    Example: benchloom score hotpotqa answers.jsonl --rule all --ci --json
    """
    from flows.commands.score import score_command
    from tasks.scoring.running import Bootstrap

    given = {
        "databases": databases,
        "url": url,
        "timeout": timeout,
        "keep_distinct": keep_distinct or None,
        "closed": closed or None,
        "turns": turns,
        "drop_zero": drop_zero or None,
        "level": level,
    }
    raise typer.Exit(
        score_command(
            metric,
            file,
            options={name: value for name, value in given.items() if value is not None},
            rule=rule,
            items=items,
            ci=Bootstrap(draws, seed) if ci else None,
            as_json=as_json,
        )
    )


@app.command()
def evaluate(
    flow: Annotated[str, typer.Argument(help="By whose rules: grammar or ragcheck.", metavar="FLOW")],
    dataset: Annotated[
        Path,
        typer.Option(metavar="PATH", help="A folder or file of questions with answers; see the FLOW's page."),
    ],
    system: Annotated[str, typer.Option(metavar="NAME", help="A name of `systems` in params.yaml.")],
    documents: Annotated[
        Path | None, typer.Option(metavar="PATH", help="What the built-in RAG retrieves from.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only N groups or questions, drawn by seed.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="ragcheck: lead conversations too, of N turns at most.")
    ] = None,
    language: Annotated[
        str, typer.Option(metavar="CODE", help="ragcheck: of the questions; default: en, of JSQuAD ja.")
    ] = "",
    as_of: Annotated[
        str, typer.Option(metavar="LABEL", help="Ask anew under it; default: `evaluation.as_of`.")
    ] = "",
    replay: Annotated[bool, typer.Option("--replay", help="Ask nobody: all must be in a ledger.")] = False,
    budget_usd: Annotated[float | None, typer.Option(min=0, help="Stop before it has paid more.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(min=0, help="Stop before it has used more.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Default: data/evaluations/<system>-<hash>.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a system of yours over a dataset and judge it; the graph and dvc.lock stay as they are.

    Example: benchloom evaluate grammar --dataset questions.jsonl --system good --documents corpus/
    """
    from flows.commands.evaluate import evaluate_command
    from flows.evaluation import Wish

    raise typer.Exit(
        evaluate_command(
            flow,
            Wish(
                dataset.absolute(),
                system,
                documents.absolute() if documents else None,
                limit,
                as_of,
                out.absolute() if out else None,
                turns,
                language,
            ),
            replay=replay,
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            as_json=as_json,
        )
    )


@app.command()
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


@app.command()
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

    Example: benchloom lineage data/grammar/films/balanced.parquet --row 0f3a5c
    """
    from flows.commands.lineage import lineage_command
    from flows.settings import find_project

    raise typer.Exit(
        lineage_command(
            target,
            row,
            root=find_project(),
            every=every,
            as_json=as_json,
            html=html,
            openlineage=openlineage,
            out=out,
        )
    )


@app.command()
def report(
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Build the front page over the reports.

    Example: benchloom report --open
    """
    from flows.commands.report import report_command

    raise typer.Exit(report_command(open_it=open_it))


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is missing on this machine, and the command that mends it.

    Example: benchloom doctor --json
    """
    from flows.commands.doctor import doctor_command

    raise typer.Exit(doctor_command(as_json=as_json))


@app.command()
def stop() -> None:
    """End the background servers of this project (Prefect, and the embedded model).

    Example: benchloom stop
    """
    from flows.commands.stop import stop_command

    raise typer.Exit(stop_command())


app.add_typer(ledger_app, name="ledger")
app.add_typer(model_app, name="model")
app.add_typer(nightly_app, name="nightly")


def main() -> None:
    """Run the command line; every error of ours is one line on stderr and an exit code."""
    try:
        code = app(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except typer.TyperException as error:
        print(f"benchloom: {error.format_message()}", file=sys.stderr)
        code = 2
    except BenchloomError as error:
        print(f"benchloom: {error}", file=sys.stderr)
        code = error.exit_code
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(
            f"benchloom: the disk is full; make room and run the same command again ({error})",
            file=sys.stderr,
        )
        code = 1
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
