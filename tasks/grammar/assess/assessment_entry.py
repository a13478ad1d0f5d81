"""`assessments:` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from tasks.grammar.assess.ablation import DocumentAblation

LABELS = Path("data/labels")
"""The folder of human labels: a dependency in dvc.yaml as a whole, since a label file is optional."""


class AssessmentEntry(BaseModel):
    """One entry of `assessments`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str
    """A name of `databases`, whose questions and documents are used."""
    system: str
    """A name of `systems`."""
    llm_only: str
    """The assessment of the model alone on the same questions (Table 4); its own name if there is none."""
    withheld: DocumentAblation | None = None
    """Ablation: remove documents from the corpus."""
    baselines: bool = True
    """Also judge a sample of the answers by reference-free methods: up to seven calls each."""
    labels: Path | None = None
    """Human labels of the answers, a CSV file in data/labels: id, label and, if several rated, rater."""

    @field_validator("labels")
    @classmethod
    def check_folder(cls, labels: Path | None) -> Path | None:
        """Refuse a file outside of `LABELS`: a change of it would not make the stage run again."""
        if labels is not None and labels.parent != LABELS:
            raise ValueError(f"must be a file in {LABELS}")
        return labels
