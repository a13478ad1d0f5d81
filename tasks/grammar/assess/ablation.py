"""Ablation: remove documents from the corpus, and measure how many of the resulting gaps are detected.

A planted gap is a group that loses all its true documents. A detected gap is a group that a rule reports, for
example because no answer in the group is correct.
"""

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
    """The share of groups to sample, 0 to 1. The sampled groups lose their true documents."""
    seed: int = 0
    """The seed for sampling groups."""


@dataclass(frozen=True)
class AblationPlan:
    """The documents that an ablation removes, and the groups that lose their documents.

    `documents` contains the ids of the removed documents. `planted` contains the groups that lose all their
    true documents, whether sampled or not. `touched` contains the groups that lose only some of their true
    documents. The groups in `touched` are excluded from the comparison of detected and planted gaps.
    """

    documents: frozenset[str]
    planted: frozenset[str]
    touched: frozenset[str]


def plan_ablation(true: Mapping[str, Iterable[str] | None], withheld: DocumentAblation) -> AblationPlan:
    """Return a plan that removes the true documents of a random share of the groups.

    `true` contains the ids of each group's true documents (those with the answer's facts), or None if the ids
    are unknown. Only groups with known true documents can be sampled. At least one group is sampled if any
    group has known true documents.
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
    """Return the corpus, without the documents that the ablation (if any) removes."""
    if withheld is None:
        return list(documents)
    plan = plan_ablation({question.group: question.true_document_ids for question in questions}, withheld)
    return [document for document in documents if document.id not in plan.documents]


@dataclass(frozen=True)
class GapDiagnosis:
    """The numbers of detected and planted gaps.

    `called` counts detected gaps. `planted` counts planted gaps. `found` counts planted gaps that were
    detected.
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

    `scored` contains the groups with at least one scored row. `gaps` contains the groups that were detected
    as gaps. Groups without a scored row and groups in `plan.touched` are ignored.
    """
    judged = frozenset(scored) - plan.touched
    called = frozenset(gaps) & judged
    planted = plan.planted & judged
    return GapDiagnosis(len(called & planted), len(called), len(planted))
