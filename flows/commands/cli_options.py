"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FLOW|STAGE]...", help="Flows or stages. Default: all."),
]
AskAgain = Annotated[
    list[str] | None,
    typer.Option(
        metavar="STAGE",
        help="Ignore this stage's recorded calls for this run, and call the model again. Repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout, and nothing else.")]
Replay = Annotated[
    bool, typer.Option("--replay", help="Use only recorded model calls; fail if a call is not in a ledger.")
]
BudgetUsd = Annotated[
    float | None, typer.Option(min=0, help="Stop before the cost exceeds this number of US dollars.")
]
BudgetTokens = Annotated[
    int | None, typer.Option(min=0, help="Stop before the token usage exceeds this number.")
]


def _declare_column(content: str, *words: str) -> typer.models.OptionInfo:
    help_text = f"For the flow `qa`: the column with {content}; pass '' if there is none."
    option: typer.models.OptionInfo = typer.Option(*words, metavar="COLUMN", help=help_text)
    return option


QuestionColumn = Annotated[str | None, _declare_column("questions")]
AnswerColumn = Annotated[str | None, _declare_column("reference answers")]
ContextsColumn = Annotated[str | None, _declare_column("retrieved passages")]
IdColumn = Annotated[str | None, _declare_column("ids", "--id")]
GroupColumn = Annotated[str | None, _declare_column("group ids (the bootstrap resamples whole groups)")]
TagsColumn = Annotated[str | None, _declare_column("tags")]


def collect_columns(
    question: str | None,
    answer: str | None,
    contexts: str | None,
    item_id: str | None,
    group: str | None,
    tags: str | None,
) -> dict[str, str]:
    """Map each item field to the column that its option specifies; omit fields without an option."""
    columns = {
        "question": question,
        "answer": answer,
        "contexts": contexts,
        "id": item_id,
        "group": group,
        "tags": tags,
    }
    return {part: column for part, column in columns.items() if column is not None}
