"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FLOW|STAGE]...", help="Flows, stages or entries. Default: everything."),
]
AskAgain = Annotated[
    list[str] | None,
    typer.Option(metavar="STAGE", help="Repeat the recorded calls of a stage once; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print only one JSON document on stdout.")]
Replay = Annotated[bool, typer.Option("--replay", help="Call no model: every call must be in a ledger.")]
BudgetUsd = Annotated[
    float | None, typer.Option(min=0, help="Stop before the run spends more dollars than this.")
]
BudgetTokens = Annotated[
    int | None, typer.Option(min=0, help="Stop before the run uses more tokens than this.")
]
