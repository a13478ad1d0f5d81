"""The commands that score and evaluate, with or without a graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_options import BudgetTokens, BudgetUsd, Json, Replay


def score(
    metric: Annotated[str, typer.Argument(help="The metric: rms, grammar, hotpotqa, ... (docs/scoring.md)")],
    file: Annotated[
        str, typer.Argument(help="A .jsonl, .csv, .tsv or .parquet file; - reads JSON Lines from stdin.")
    ],
    rule: Annotated[
        str | None, typer.Option(help="The rule, if the metric has several; all reports each of them.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="OUT.jsonl", help="Write the scores of each item to this file.")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Add 95% bootstrap intervals.")] = False,
    draws: Annotated[int, typer.Option(min=1, help="Number of bootstrap samples for --ci.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed for --ci.")] = 0,
    databases: Annotated[Path | None, typer.Option(help="execution: DIR/<db_id>/<db_id>.sqlite")] = None,
    url: Annotated[str | None, typer.Option(help="execution: a database's SQLAlchemy URL.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="execution: timeout of a query in seconds. Default: 30.")
    ] = None,
    keep_distinct: Annotated[
        bool, typer.Option("--keep-distinct", help="execution, test-suite: keep DISTINCT.")
    ] = False,
    reading: Annotated[
        str | None,
        typer.Option(help="execution, ds1000: how replies are read: lenient (default), released or none."),
    ] = None,
    closed: Annotated[
        bool,
        typer.Option("--closed", help="grammar: count an answer without all true documents as incorrect."),
    ] = False,
    turns: Annotated[int | None, typer.Option(help="multiturn: maximum number of turns. Default: 5.")] = None,
    drop_zero: Annotated[
        bool, typer.Option("--drop-zero", help="correlation: skip items with a score of 0.")
    ] = False,
    level: Annotated[str | None, typer.Option(help="agreement: nominal, ordinal or interval.")] = None,
    as_json: Json = False,
) -> None:
    """Score your predictions, without a project, server or model.

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
    str | None, typer.Option(metavar="COLUMN", help="qa: the name of this column; '' reads none.")
]


def evaluate(
    flow: Annotated[
        str,
        typer.Argument(
            help="The flow: grammar, longform, qa, ragcheck, streambench or tanq.", metavar="FLOW"
        ),
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The dataset, like --dataset.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="A folder or file with questions and answers; see the page of the flow."
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A name under `systems` in params.yaml, or a name for --answers; repeatable."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A model without retrieval, asked as the role `answerer`; repeatable."
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge the answers in this file instead of asking a system."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(metavar="URL", help="The URL for --model and --judge, up to /v1. Default: OpenAI's."),
    ] = "",
    key_env: Annotated[
        str, typer.Option(metavar="NAME", help="The environment variable with the key for --endpoint.")
    ] = "",
    documents: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The documents for the built-in RAG.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Sample only N groups or questions.")] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="ragcheck: also hold conversations of at most N turns.")
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            metavar="CODE", help="ragcheck: the language of the questions. Default: en; ja for JSQuAD."
        ),
    ] = "",
    score: Annotated[
        str,
        typer.Option(metavar="HOW", help="qa: rules (default), judge or both (default with --judge)."),
    ] = "",
    judge: Annotated[
        str, typer.Option(metavar="NAME", help="qa: the model that judges. Default: the role `judge`.")
    ] = "",
    question: QaColumn = None,
    answer: QaColumn = None,
    contexts: QaColumn = None,
    item_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="qa: the name of this column; '' reads none.")
    ] = None,
    group: QaColumn = None,
    tags: QaColumn = None,
    as_of: Annotated[
        str,
        typer.Option(metavar="LABEL", help="Repeat the calls under this label. Default: `evaluation.as_of`."),
    ] = "",
    replay: Replay = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to write. Default: data/evaluations/<system>-<hash>; for several, DIR/<system>.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run your systems on a dataset and judge their answers, outside the graph.

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
        str,
        typer.Argument(
            help="An entry, ENTRY/SYSTEM, a system, a night, a folder of a run, or a git revision."
        ),
    ],
    b: Annotated[str, typer.Argument(help="What to compare it with; `workspace` is the current state.")],
    more: Annotated[list[str] | None, typer.Argument(help="More of them; every pair is compared.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Entries or systems. Default: all.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Metrics to compare. Default: all.")
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="Number of items that each table lists.")] = 5,
    draws: Annotated[int, typer.Option(min=100, help="Number of bootstrap samples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the bootstrap.")] = 0,
    distance: Annotated[
        float,
        typer.Option(min=0.0001, help="The difference for which `needed` computes the number of pairs."),
    ] = 0.05,
    html: Annotated[bool, typer.Option("--html", help="Write a page with all changed items.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The path of the page.")] = None,
    as_json: Json = False,
) -> None:
    """Compare systems, runs, nights or git revisions on the same items.

    For three or more, it also prints the discrimination of each item.

    Example: benchloom compare films-weak films-good films-alone
    """
    from flows.commands.compare import CompareOptions, compare_command
    from flows.comparing.places import is_evaluation
    from flows.settings import find_base

    words = [a, b, *(more or ())]
    root = find_base(needed=not all(is_evaluation(Path(word.removeprefix("run:"))) for word in words))
    options = CompareOptions(tuple(only or ()), tuple(metric or ()), items, draws, seed, distance)
    raise typer.Exit(compare_command(words, options, root=root, as_json=as_json, html=html, out=out))
