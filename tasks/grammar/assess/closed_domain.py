"""Stage: find the groups without a correct answer (the closed domain of a model without retrieval)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.judgements import Judgement
from tasks.scoring.correctness import Correctness
from tasks.scoring.label import count_labels


@dataclass(frozen=True)
class ClosedDomain:
    """A group in one assessment. `scored` and `correct` are the numbers of scored and correct questions.

    The row's id is the group's id. `closed_domain` is true if no scored question was answered correctly, and
    None if no question is scored. For a model without retrieval, a true `closed_domain` means that the model
    does not know the answer. `wording` is the prompt wording of a model without retrieval; it is empty for a
    system that may retrieve.
    """

    id: str
    scored: int
    correct: int
    closed_domain: bool | None
    wording: str
    origin: tuple[Origin, ...]


def closed_domain(
    judgements: list[Judgement], entry: AssessmentEntry, settings: Mapping[str, object]
) -> Drafts[ClosedDomain]:
    """Return one row per group, stating whether all scored answers of the group are incorrect.

    `settings` contains the system's settings, including the retriever and the prompt wording.
    """
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        groups[judgement.group].append(judgement)
    wording = find_wording(entry.system, settings)
    return Drafts([_summarise_group(group, rows, wording) for group, rows in groups.items()])


def find_wording(system: str, settings: Mapping[str, object]) -> str:
    """Return the prompt wording of a model without retrieval, or "" if the system may retrieve."""
    if settings.get(f"systems.{system}.retriever") != "none":
        return ""
    return str(settings.get(f"systems.{system}.wording", "ours"))


def _summarise_group(group: str, rows: list[Judgement], wording: str) -> ClosedDomain:
    scored = count_labels(row.judgement for row in rows).scored
    correct = sum(row.judgement is Correctness.CORRECT for row in rows)
    origin = tuple(Origin("row", f"judgements#{row.id}") for row in rows)
    return ClosedDomain(group, scored, correct, not correct if scored else None, wording, origin)
