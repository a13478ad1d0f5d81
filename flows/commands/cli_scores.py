"""The commands that score and evaluate, with or without a graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_options import BudgetTokens, BudgetUsd, Json, Replay


def score(
    metric: Annotated[str, typer.Argument(help="Its name: rms, grammar, hotpotqa, ... (docs/scoring.md)")],
    file: Annotated[str, typer.Argument(help=".jsonl, .csv, .tsv or .parquet; - reads JSON Lines.")],
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
    reading: Annotated[
        str | None,
        typer.Option(help="execution, ds1000: how replies are read: lenient (default), released or none."),
    ] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="grammar: an answer without all its true documents is incorrect.")
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
        "reading": reading,
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


QaColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="qa: the column with it; '' reads none.")
]


def evaluate(
    flow: Annotated[
        str,
        typer.Argument(
            help="By whose rules: grammar, longform, qa, ragcheck, streambench or tanq.", metavar="FLOW"
        ),
    ],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The dataset, as --dataset.")] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A folder or file of questions with answers; see the FLOW's page."),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A name of `systems` in params.yaml, or for --answers; repeatable."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A model alone, as the role `answerer` asks it; repeatable."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge the answers of this file; no system is asked."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Where the models of --model and --judge are, up to /v1 (OpenAI's)."
        ),
    ] = "",
    key_env: Annotated[
        str, typer.Option(metavar="NAME", help="The environment variable with the key for --endpoint.")
    ] = "",
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
    score: Annotated[
        str,
        typer.Option(metavar="HOW", help="qa: rules (default), judge or both (default with --judge)."),
    ] = "",
    judge: Annotated[
        str, typer.Option(metavar="NAME", help="qa: the model that judges; default: the role `judge`.")
    ] = "",
    question: QaColumn = None,
    answer: QaColumn = None,
    contexts: QaColumn = None,
    item_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="qa: the column with it; '' reads none.")
    ] = None,
    group: QaColumn = None,
    tags: QaColumn = None,
    as_of: Annotated[
        str, typer.Option(metavar="LABEL", help="Ask anew under it; default: `evaluation.as_of`.")
    ] = "",
    replay: Replay = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Default: data/evaluations/<system>-<hash>; of several, DIR/<system>."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run systems of yours over a dataset, and judge them; the graph and dvc.lock stay as they are.

    Example: benchloom evaluate grammar --dataset questions.jsonl --system good --documents corpus/
    """
    from flows.commands.evaluate import PaidLimits, evaluate_command
    from tasks.systems.evaluation import EvaluationOptions

    if (file is None) == (dataset is None):
        raise typer.BadParameter("name one dataset: by --dataset PATH, or as FILE", param_hint="--dataset")
    place = (file or dataset or Path()).absolute()
    columns = {
        "question": question,
        "answer": answer,
        "contexts": contexts,
        "id": item_id,
        "group": group,
        "tags": tags,
    }
    given = {part: column for part, column in columns.items() if column is not None}
    names = list(system or ())
    if answers is not None and (model or len(names) > 1):
        raise typer.BadParameter(
            "is one system's file: give --system once, and no --model", param_hint="--answers"
        )
    if answers is not None and not names:
        names = [re.sub(r"[^\w.-]+", "-", answers.name.partition(".")[0])]
    chosen = [*((name, False) for name in names), *((name, True) for name in model or ())]
    if not chosen:
        raise typer.BadParameter("name one, or give --model NAME or --answers FILE", param_hint="--system")
    if len({name for name, _ in chosen}) < len(chosen):
        raise typer.BadParameter("a name is given twice", param_hint="--system")
    several = [
        EvaluationOptions(
            place,
            name,
            documents.absolute() if documents else None,
            limit,
            as_of,
            (out.absolute() / name if len(chosen) > 1 else out.absolute()) if out else None,
            turns,
            language,
            answers.absolute() if answers else None,
            by_model,
            given,
            score,
            judge,
            endpoint,
            key_env,
        )
        for name, by_model in chosen
    ]
    limits = PaidLimits(replay, budget_usd, budget_tokens)
    raise typer.Exit(evaluate_command(flow, several, limits, as_json=as_json))


def compare(
    a: Annotated[
        str, typer.Argument(help="An entry, ENTRY/SYSTEM, system, night, run's folder, git revision.")
    ],
    b: Annotated[str, typer.Argument(help="What it is compared with; `workspace` is what lies here now.")],
    more: Annotated[
        list[str] | None, typer.Argument(help="Further ones; every two of them are compared.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Entries or systems; all.")] = None,
    metric: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Metrics to compare; all.")] = None,
    items: Annotated[int, typer.Option(min=0, help="How many items each table names.")] = 5,
    draws: Annotated[int, typer.Option(min=100, help="Draws of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Its seed.")] = 0,
    distance: Annotated[
        float, typer.Option(min=0.0001, help="The difference that `needed` says how many pairs it takes for.")
    ] = 0.05,
    html: Annotated[bool, typer.Option("--html", help="Write a page with all changed items.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the page goes.")] = None,
    markdown: Annotated[
        str, typer.Option(metavar="FILE", help="Write a report for a pull request in Markdown; - is stdout.")
    ] = "",
    link: Annotated[
        list[str] | None, typer.Option(metavar="TEXT=URL", help="A link at the foot of that report.")
    ] = None,
    alarm: Annotated[
        bool, typer.Option("--alarm", help="Exit 5 if a metric of a later side dropped significantly.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare systems, runs, nights or git revisions, in pairs over the same items.

    With three or more it also prints how well each item tells the systems apart.

    Example: benchloom compare films-weak films-good films-alone
    """
    from flows.commands.compare import CompareOptions, CompareOutput, compare_command, read_link
    from flows.comparing.places import is_evaluation
    from flows.settings import find_base

    words = [a, b, *(more or ())]
    root = find_base(needed=not all(is_evaluation(Path(word.removeprefix("run:"))) for word in words))
    options = CompareOptions(tuple(only or ()), tuple(metric or ()), items, draws, seed, distance)
    links = tuple(map(read_link, link or ()))
    output = CompareOutput(as_json, html, out, markdown, links, alarm)
    raise typer.Exit(compare_command(words, options, root=root, output=output))
