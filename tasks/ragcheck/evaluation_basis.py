"""Name the rows that the figures of `benchloom evaluate ragcheck` are computed from."""

from __future__ import annotations

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.comparison import FLAGGED, LEAK, MEAN, ConversationFigure
from tasks.ragcheck.contexts import RULES
from tasks.ragcheck.correlations import MeasureCorrelation
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.guards import ANSWERS, ASKED


def derive_correctness(row: MeasureCorrelation) -> Derivation:
    """Derive a measure's mean over a dataset's answers: "not sure" (0) and failures are in none."""
    through = _choose_dataset(row.dataset)
    if row.measure in RULES:
        sure = tuple(range(1, TOP_SCORE + 1))
        scores = Selection("scores", {"rule": row.measure, "score": sure}, through)
        return Derivation("mean", (scores,), "score")
    return Derivation("mean", (Selection("baselines", {"measure": row.measure}, through),), "value")


def derive_continuity(row: ConversationFigure) -> Derivation:
    """Derive a mean over conversations, or the share of an agent's texts that give words away."""
    if row.kind == MEAN:
        rows = Selection("conversations", {}, _choose_dataset(row.dataset))
        return Derivation("mean", (rows,), row.measure)
    tasks = ANSWERS if row.measure.startswith(LEAK) else (ASKED,)
    own = tuple(task for task in tasks if row.measure == f"{LEAK}_{task}") or tasks
    column = FLAGGED if row.measure == FLAGGED else "words"
    return Derivation("share of those with words", (Selection("guards", {"task": own}),), column)


def _choose_dataset(dataset: str) -> dict[str, Selection]:
    return {"question": Selection("questions", {"dataset": dataset})} if dataset else {}
