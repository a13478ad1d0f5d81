"""Remove documents from the corpus, and measure how well the resulting gaps are detected (ablation)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import make_id
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.settings import Settings
from tasks.systems.contract import Document


class DocumentAblation(Settings):
    """The settings of an ablation, in params.yaml under `assessments.<name>.withheld`."""

    share: float = Field(gt=0, lt=1)
    """The share of the groups whose documents are removed, between 0 and 1."""
    seed: int = 0
    """The seed of the random choice of groups."""


@dataclass(frozen=True)
class AblationPlan:
    """The documents that an ablation removes, and the groups that lose their documents.

    `documents` contains the ids of the removed documents. `planted` contains the groups that lose all their
    true documents, because the group was chosen or shares its documents with a chosen group. `touched`
    contains the groups that lose only some of their true documents. These groups are excluded when detected
    gaps are compared with planted ones.
    """

    documents: frozenset[str]
    planted: frozenset[str]
    touched: frozenset[str]


def plan_ablation(true: Mapping[str, Iterable[str] | None], withheld: DocumentAblation) -> AblationPlan:
    """Choose a random share of the groups and plan to remove their true documents.

    `true` maps each group to the ids of its true documents, or to None if they are unknown. Only groups with
    known true documents can be chosen. If there are any, at least one group is chosen.
    """
    known = {group: frozenset(ids) for group, ids in true.items() if ids}
    ordered = sorted(known, key=lambda group: make_id("withheld", withheld.seed, group))
    chosen = ordered[: max(1, round(withheld.share * len(ordered)))]
    documents = frozenset[str]().union(*(known[group] for group in chosen))
    planted = frozenset(group for group, ids in known.items() if ids <= documents)
    touched = frozenset(group for group, ids in known.items() if ids & documents) - planted
    return AblationPlan(documents, planted, touched)


def ablate_corpus(
    documents: Iterable[Document], questions: Iterable[AskedQuestion], withheld: DocumentAblation | None
) -> list[Document]:
    """Return a corpus without the documents that the assessment's ablation removes, if it has an ablation."""
    if withheld is None:
        return list(documents)
    plan = plan_ablation({question.group: question.true_document_ids for question in questions}, withheld)
    return [document for document in documents if document.id not in plan.documents]


@dataclass(frozen=True)
class GapDiagnosis:
    """How many of the planted gaps were detected, counted in groups.

    `found` is the number of groups that are both planted and detected, `called` the number of detected
    groups, and `planted` the number of planted groups.
    """

    found: int
    called: int
    planted: int

    @property
    def precision(self) -> float | None:
        """The share of the detected gaps that were planted; None if no gap was detected."""
        return self.found / self.called if self.called else None

    @property
    def recall(self) -> float | None:
        """The share of the planted gaps that were detected; None if no gap was planted."""
        return self.found / self.planted if self.planted else None


def diagnose_groups(plan: AblationPlan, scored: Iterable[str], gaps: Iterable[str]) -> GapDiagnosis:
    """Compare the detected gaps with the planted gaps.

    `scored` contains the groups with at least one scored row; all other groups are ignored. `gaps` contains
    the groups that were detected as gaps.
    """
    judged = frozenset(scored) - plan.touched
    called = frozenset(gaps) & judged
    planted = plan.planted & judged
    return GapDiagnosis(len(called & planted), len(called), len(planted))
