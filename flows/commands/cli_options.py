"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FLOW|STAGE]...", help="Flows or stages; everything where none is named."),
]
AskAgain = Annotated[
    list[str] | None,
    typer.Option(metavar="STAGE", help="Ask the recorded calls of a stage again, once; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Replay = Annotated[bool, typer.Option("--replay", help="Ask no model: every call must be in a ledger.")]
BudgetUsd = Annotated[
    float | None, typer.Option(min=0, help="Stop before it has paid more than so many dollars.")
]
BudgetTokens = Annotated[
    int | None, typer.Option(min=0, help="Stop before it has used more than so many tokens.")
]
