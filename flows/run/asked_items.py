"""Select the items that a nightly run evaluates: `evaluation.items` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.discovery import find_stage
from flows.run.node import Node
from flows.settings import get_section
from flows.stage import EVALUATION
from tasks.errors import BadInput

ITEMS = f"{EVALUATION}.items"


def keep_asked(node: Node, argument: str, rows: list[Any], params: Mapping[str, Any]) -> list[Any]:
    """Return the rows that a nightly run chose to evaluate; all rows if there is no choice.

    Only the argument with the entry's items is restricted. Stages that call models depend on `evaluation` in
    dvc.yaml. A changed choice therefore makes these stages and their downstream stages stale. Raises BadInput
    if a chosen item is not among the rows.
    """
    declared = find_stage(node.stage)
    if declared is None or not argument or argument != declared.scope.asks:
        return rows
    name = f"{declared.scope.over}.{node.key}"
    chosen = (get_section(params, ITEMS) or {}).get(name)
    if chosen is None:
        return rows
    wanted = set(chosen)
    kept = [row for row in rows if row.id in wanted]
    if len(kept) < len(wanted):
        missing = len(wanted) - len(kept)
        raise BadInput(
            f"params.yaml: {ITEMS}", f"{missing} items of {name} are not in the artifact {argument!r}"
        )
    return kept
