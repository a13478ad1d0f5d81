"""Join predictions with their items and scores, list the evaluated systems, and trace figures to rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.reports.declared import Where
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.score.human_tables import PEOPLE
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.examples import RANDOM
from tasks.tanq.solve.prediction import SETTINGS, Prediction

RULES = ("released", "paper")
"""The two variants of relative mapping similarity (RMS); every figure is reported for both variants."""
RULE_NAMES = {"released": "rule of the released code", "paper": "rule of the paper"}
"""The RMS variants, as displayed on pages."""
MEASURES = ("precision", "recall", "f1")
MAIN_SHOTS, SIMPLE = 3, "simple"
"""The prompt of TANQ's main tables: three examples and the simple instruction (section 5.2)."""


@dataclass(frozen=True, order=True)
class TableSystem:
    """A system that makes predictions: a model (or people) with a setting and a prompt.

    rank: the position of the setting in `SETTINGS`; systems are sorted by rank.
    """

    rank: int
    setting: str
    model: str
    shots: int
    choice: str
    instruction: str

    @property
    def label(self) -> tuple[str, str, str]:
        """Return the setting, model and prompt for table headers; the prompt is empty for the open agent."""
        chosen = f"{self.choice} " if self.shots > 1 else ""
        shots = "1 shot" if self.shots == 1 else f"{self.shots} {chosen}shots"
        return self.setting, self.model, f"{shots}, {self.instruction}" if self.instruction else ""

    @property
    def name(self) -> str:
        """Return the label as one text, such as `oracle · agent · 3 random shots, simple`."""
        return " · ".join(filter(None, self.label))

    @property
    def is_people(self) -> bool:
        """Return whether people wrote the tables."""
        return self.model == PEOPLE


@dataclass(frozen=True)
class TableOutcome:
    """A prediction with its item and its score."""

    item: TanqItem
    prediction: Prediction
    score: PredictionScore

    @property
    def system(self) -> TableSystem:
        """Return the system that made the prediction."""
        row = self.prediction
        rank = SETTINGS.index(row.setting) if row.setting in SETTINGS else len(SETTINGS)
        return TableSystem(rank, row.setting, row.model, row.shots, row.shot_choice, row.instruction)

    def measure(self, rule: str) -> tuple[float, ...] | None:
        """Return precision, recall and F1 (0 to 1), or None if the prediction has no reply."""
        values = [getattr(self.score, f"{rule}_{name}") for name in MEASURES]
        return None if None in values else tuple(values)


def join_table_outcomes(
    items: Iterable[TanqItem], predictions: Iterable[Prediction], scores: Iterable[PredictionScore]
) -> list[TableOutcome]:
    """Join predictions with their items and scores, and sort them by system and item."""
    by_id = {item.id: item for item in items}
    scored = {score.id: score for score in scores}
    joined = [TableOutcome(by_id[row.item], row, scored[row.id]) for row in predictions]
    return sorted(joined, key=lambda outcome: (outcome.system, outcome.item.id, outcome.prediction.id))


def list_systems(outcomes: Iterable[TableOutcome]) -> list[TableSystem]:
    """List the systems in order: by setting, model, shots and instruction."""
    return sorted({outcome.system for outcome in outcomes})


def select_outcomes(outcomes: Iterable[TableOutcome], system: TableSystem) -> list[TableOutcome]:
    """Select the outcomes of one system."""
    return [outcome for outcome in outcomes if outcome.system == system]


def list_main(systems: Sequence[TableSystem]) -> list[TableSystem]:
    """For each setting and model, list the system whose prompt is nearest to TANQ's main prompt.

    The simple instruction is preferred, then the first instruction by name. Three random examples are
    preferred, then the largest number below three, then the smallest number above three.
    """
    best: dict[tuple[str, str], TableSystem] = {}
    for system in sorted(systems, key=_rank_prompt):
        best.setdefault((system.setting, system.model), system)
    return sorted(best.values())


def _rank_prompt(system: TableSystem) -> tuple[object, ...]:
    beyond = system.shots > MAIN_SHOTS
    return (
        system.instruction != SIMPLE,
        system.instruction,
        beyond,
        system.shots if beyond else -system.shots,
        system.choice != RANDOM,
        system,
    )


def derive_scores(
    outcomes: Iterable[TableOutcome],
    measure: str,
    column: str,
    *,
    items: Where | None = None,
    replied: bool = False,
    hit: CellValue = None,
) -> Derivation:
    """Return the derivation of a figure from the score rows of the systems in the outcomes.

    outcomes: used only to list the systems. items: conditions on the items, if any. replied: whether to count
    only predictions with a reply. hit: for a share, the value that is counted.
    """
    systems = sorted({(outcome.system.is_people, outcome.score.system) for outcome in outcomes})
    rows = []
    for people, system in systems:
        scores, predictions = ("human_scores", "human_tables") if people else ("scores", "predictions")
        through = {"item": Selection("items", items)} if items else {}
        if replied:
            through["id"] = Selection(predictions, {"failed": ""})
        rows.append(Selection(scores, {"system": system}, through))
    return Derivation(measure, tuple(rows), column, hit=hit)
