"""`assessments:` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from tasks.grammar.assess.ablation import Withheld

LABELS = Path("data/labels")
"""The folder of people's labels: a dependency in dvc.yaml, which can name no file that only some have."""


class Entry(BaseModel):
    """One entry of `assessments`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str
    """A name of `databases`: whose questions and documents."""
    system: str
    """A name of `systems`."""
    llm_only: str
    """The assessment that asks the model alone the same questions (Table 4); itself where there is none."""
    withheld: Withheld | None = None
    """Leave documents out of the corpus on purpose."""
    baselines: bool = True
    """Try the reference-free methods on a sample of its answers: a dozen calls each."""
    labels: Path | None = None
    """People's labels of its answers, a file in data/labels: id, label and, where several rated, rater."""

    @field_validator("labels")
    @classmethod
    def check_folder(cls, labels: Path | None) -> Path | None:
        """Hold that the file lies where a change of it makes a stage stale."""
        if labels is not None and labels.parent != LABELS:
            raise ValueError(f"must be a file in {LABELS}")
        return labels
