"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FLOW|STAGE]...", help="Flows or stages; everything where none is named."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
