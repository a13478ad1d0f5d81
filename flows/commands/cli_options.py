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
    typer.Option(metavar="STAGE", help="Repeat the recorded calls of a stage once. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout, and nothing else.")]
Replay = Annotated[bool, typer.Option("--replay", help="Call no model; fail if a call is not in a ledger.")]
BudgetUsd = Annotated[
    float | None, typer.Option(min=0, help="Stop before the cost exceeds this number of US dollars.")
]
BudgetTokens = Annotated[
    int | None, typer.Option(min=0, help="Stop before more than this number of tokens is used.")
]
