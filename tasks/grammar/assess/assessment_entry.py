"""Parse `assessments` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from tasks.grammar.assess.ablation import DocumentAblation
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings


class AssessmentEntry(Settings):
    """An entry of `assessments`."""

    database: str
    """A name under `databases`. The questions and documents come from this database."""
    system: str
    """A name under `systems`."""
    llm_only: str
    """The assessment that asks a model without retrieval the same questions (Table 4).
    If there is no such assessment, write the name of this entry.
    """
    withheld: DocumentAblation | None = None
    """Remove some documents from the corpus, to measure how well the resulting gaps are detected."""
    baselines: bool = True
    """Also judge a sample of the answers by reference-free methods: up to seven calls per answer."""
    labels: LabelFile | None = None
    """A CSV file in data/labels with human labels: id, label and, if several people labelled, rater."""
