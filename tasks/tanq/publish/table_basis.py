"""Name the rows that an evaluation's figures are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.publish.table_outcomes import TableOutcome, is_people

Where = Mapping[str, CellValue | tuple[CellValue, ...]]


@dataclass(frozen=True)
class ItemGroup:
    """The items of which a value fits. expression: as a selection reads `read`'s values from items' rows."""

    expression: str
    read: Callable[[TanqItem], Iterable[str | int]]
    fits: Callable[[str | int], bool]

    def has(self, item: TanqItem) -> bool:
        """Tell whether an item belongs to it."""
        return any(map(self.fits, self.read(item)))

    def describe(self, outcomes: Iterable[TableOutcome]) -> Where:
        """Describe it for a selection by those values that the items of some outcomes have."""
        values = {value for outcome in outcomes for value in self.read(outcome.item) if self.fits(value)}
        return {self.expression: tuple(sorted(values, key=lambda value: (str(type(value)), value)))}


def derive_scores(
    outcomes: Iterable[TableOutcome],
    measure: str,
    column: str,
    *,
    items: Where | None = None,
    replied: bool = False,
    hit: CellValue = None,
) -> Derivation:
    """Derive a figure from the scores of some systems' predictions.

    outcomes: of these systems. items: of those alone, if given. replied: of those with a reply alone.
    """
    systems = sorted({(is_people(outcome.system), outcome.score.system) for outcome in outcomes})
    rows = []
    for people, system in systems:
        scores, predictions = ("human_scores", "human_tables") if people else ("scores", "predictions")
        through = {"item": Selection("items", items)} if items else {}
        if replied:
            through["id"] = Selection(predictions, {"failed": ""})
        rows.append(Selection(scores, {"system": system}, through))
    return Derivation(measure, tuple(rows), column, hit=hit)
