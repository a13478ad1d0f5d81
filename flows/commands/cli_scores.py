"""Commands that score predictions, evaluate systems and compare results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.cli_options import (
    AnswerColumn,
    BudgetTokens,
    BudgetUsd,
    ContextsColumn,
    GroupColumn,
    IdColumn,
    Json,
    QuestionColumn,
    Replay,
    TagsColumn,
    collect_columns,
)


def score(
    metric: Annotated[
        str, typer.Argument(help="The metric's name: rms, grammar, hotpotqa, ... (docs/scoring.md).")
    ],
    file: Annotated[
        str, typer.Argument(help="A .jsonl, .csv, .tsv or .parquet file; - reads JSON Lines from stdin.")
    ],
    rule: Annotated[
        str | None,
        typer.Option(
            help="The scoring rule, if the metric has several. `all` reports the figures for every rule."
        ),
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="OUT.jsonl", help="Write each item's scores to this file.")
    ] = None,
    ci: Annotated[bool, typer.Option("--ci", help="Add 95% bootstrap intervals.")] = False,
    draws: Annotated[int, typer.Option(min=1, help="Number of bootstrap resamples for --ci.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for --ci.")] = 0,
    databases: Annotated[
        Path | None, typer.Option(help="For the metric `execution`: a folder with <db_id>/<db_id>.sqlite.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="For the metric `execution`: the SQLAlchemy URL of the database.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="For the metric `execution`: time limit per query, in seconds. Default: 30."),
    ] = None,
    keep_distinct: Annotated[
        bool,
        typer.Option(
            "--keep-distinct",
            help="For the metric `execution` with the rule `test-suite`: keep DISTINCT in the queries.",
        ),
    ] = False,
    reading: Annotated[
        str | None,
        typer.Option(
            help="For the metrics `execution` and `ds1000`: how to extract code from replies (lenient, "
            "released or none). Default: lenient."
        ),
    ] = None,
    closed: Annotated[
        bool,
        typer.Option(
            "--closed",
            help="For the metric `grammar`: count an answer as incorrect if a document in "
            "`true_document_ids` was not retrieved.",
        ),
    ] = False,
    turns: Annotated[
        int | None, typer.Option(help="For the metric `multiturn`: maximum number of turns. Default: 5.")
    ] = None,
    drop_zero: Annotated[
        bool,
        typer.Option("--drop-zero", help="For the metric `correlation`: exclude items that contain a 0."),
    ] = False,
    level: Annotated[
        str | None,
        typer.Option(help="For the metric `agreement`: level of measurement (nominal, ordinal or interval)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score your predictions from a file. Needs no project, server or model.

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


def evaluate(
    flow: Annotated[
        str,
        typer.Argument(
            help="The evaluation: grammar, longform, qa, ragcheck, streambench or tanq.", metavar="FLOW"
        ),
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The dataset; same as --dataset.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A folder or file with questions and answers; docs/FLOW.md describes the format.",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A system in params.yaml, or a name for the system that produced the answers in --answers. "
            "Repeatable.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A model to evaluate without retrieval; it takes the role `answerer`. Repeatable.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judge the answers in this file instead of calling a system."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Base URL of an OpenAI-compatible endpoint for --model and --judge, including /v1.",
        ),
    ] = "",
    key_env: Annotated[
        str,
        typer.Option(metavar="NAME", help="The environment variable that holds the API key for --endpoint."),
    ] = "",
    documents: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The documents from which the built-in RAG retrieves.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Use only N questions or groups of questions: depending on FLOW, a fixed sample or the "
            "first N by id.",
        ),
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(min=1, help="For the flow `ragcheck`: also run conversations of at most N turns."),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            metavar="CODE",
            help="For the flow `ragcheck`: language of the questions. Default: en; for JSQuAD: ja.",
        ),
    ] = "",
    score: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="For the flow `qa`: score with rules, a judge or both. Default: rules; with --judge: both.",
        ),
    ] = "",
    judge: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="For the flow `qa`: the model that judges. Default: the role `judge`."
        ),
    ] = "",
    question: QuestionColumn = None,
    answer: AnswerColumn = None,
    contexts: ContextsColumn = None,
    item_id: IdColumn = None,
    group: GroupColumn = None,
    tags: TagsColumn = None,
    as_of: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Label for the model calls; with a new label, all model calls are repeated. "
            "Default: the value of `evaluation.as_of` in params.yaml.",
        ),
    ] = "",
    replay: Replay = False,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The output folder. Default: data/evaluations/<system>-<hash>. With several systems: "
            "DIR/<system>.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run your systems on a dataset and judge the answers. Leaves dvc.yaml and dvc.lock unchanged.

    Example: benchloom evaluate grammar --dataset questions.jsonl --system good --documents corpus/
    """
    from flows.commands.evaluate import PaidLimits, evaluate_command
    from tasks.systems.evaluation import EvaluationOptions

    if (file is None) == (dataset is None):
        raise typer.BadParameter("give one dataset, by --dataset PATH or as FILE", param_hint="--dataset")
    place = (file or dataset or Path()).absolute()
    given = collect_columns(question, answer, contexts, item_id, group, tags)
    names = list(system or ())
    if answers is not None and (model or len(names) > 1):
        raise typer.BadParameter(
            "the file contains the answers of one system: give --system once and no --model",
            param_hint="--answers",
        )
    if answers is not None and not names:
        names = [re.sub(r"[^\w.-]+", "-", answers.name.partition(".")[0])]
    chosen = [*((name, False) for name in names), *((name, True) for name in model or ())]
    if not chosen:
        raise typer.BadParameter("give --system NAME, --model NAME or --answers FILE", param_hint="--system")
    if len({name for name, _ in chosen}) < len(chosen):
        raise typer.BadParameter("the same name is given twice", param_hint="--system")
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
            help="An entry, ENTRY/SYSTEM, a system, a nightly run, an evaluation's folder, or a Git revision."
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            help="The value to compare with A, in the same form; `workspace` is the current working tree."
        ),
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More values, in the same form as A; each pair of values is compared."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Entries or systems to compare. Default: all.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Metrics to compare. Default: all.")
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="Number of changed items to list in each table.")] = 5,
    draws: Annotated[int, typer.Option(min=100, help="Number of bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the bootstrap.")] = 0,
    distance: Annotated[
        float,
        typer.Option(
            min=0.0001, help="Difference to detect; the column `needed` shows how many pairs this requires."
        ),
    ] = 0.05,
    html: Annotated[bool, typer.Option("--html", help="Write an HTML page with all changed items.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The output file for the HTML page.")
    ] = None,
    markdown: Annotated[
        str, typer.Option(metavar="FILE", help="Write a Markdown report for a pull request; - is stdout.")
    ] = "",
    link: Annotated[
        list[str] | None, typer.Option(metavar="TEXT=URL", help="Add this link at the end of the report.")
    ] = None,
    alarm: Annotated[
        bool,
        typer.Option(
            "--alarm",
            help="Exit with 5 if a metric dropped significantly from one argument to a later argument.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare pairs of systems, runs, nightly runs or Git revisions on the items that each pair shares.

    With three or more systems, the command also prints how well each item distinguishes the systems.

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
