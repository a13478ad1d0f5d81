"""Ablation: remove documents from the corpus, and measure how well the resulting gaps are detected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import make_id
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.settings import Settings
from tasks.systems.contract import Document


class DocumentAblation(Settings):
    """`assessments.<name>.withheld` in params.yaml: remove the documents of a seeded share of the groups."""

    share: float = Field(gt=0, lt=1)
    """The share of the groups whose documents are removed."""
    seed: int = 0
    """The seed that chooses these groups."""


@dataclass(frozen=True)
class AblationPlan:
    """Which documents are removed, and which groups that affects.

    documents: ids of the removed documents. planted: groups that lose all of their true documents, because
    they were chosen or share them with a chosen group. touched: groups that lose some of them; these are
    excluded when detected gaps are compared with planted ones.
    """

    documents: frozenset[str]
    planted: frozenset[str]
    touched: frozenset[str]


def plan_ablation(true: Mapping[str, Iterable[str] | None], withheld: DocumentAblation) -> AblationPlan:
    """Choose a seeded share of the groups and remove their true documents.

    true: group -> ids of its true documents; None if unknown. Only groups with known true documents can be
    chosen; if there are any, at least one is.
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
    """Remove from a corpus the documents of an assessment's ablation, if it has one."""
    if withheld is None:
        return list(documents)
    plan = plan_ablation({question.group: question.true_document_ids for question in questions}, withheld)
    return [document for document in documents if document.id not in plan.documents]


@dataclass(frozen=True)
class GapDiagnosis:
    """Detected gaps compared with planted ones, as numbers of groups.

    found: planted and detected. called: detected. planted: planted.
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
        """The share of the planted gaps that were detected; None if none was planted."""
        return self.found / self.planted if self.planted else None


def diagnose_groups(plan: AblationPlan, scored: Iterable[str], gaps: Iterable[str]) -> GapDiagnosis:
    """Compare detected gaps with planted ones.

    scored: groups with at least one scored row; only these are compared. gaps: the groups detected as gaps.
    """
    judged = frozenset(scored) - plan.touched
    called = frozenset(gaps) & judged
    planted = plan.planted & judged
    return GapDiagnosis(len(called & planted), len(called), len(planted))
