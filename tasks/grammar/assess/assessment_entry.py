"""Parse `assessments` in params.yaml: which system answers the questions about which database."""

from __future__ import annotations

from tasks.grammar.assess.ablation import DocumentAblation
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings


class AssessmentEntry(Settings):
    """An entry of `assessments`."""

    database: str
    """The database under `databases` that the questions and documents are about."""
    system: str
    """The system under `systems` that answers the questions."""
    llm_only: str
    """The assessment that asks a model without retrieval the same questions (Table 4).

    If there is no such assessment, set `llm_only` to the name of this entry.
    """
    withheld: DocumentAblation | None = None
    """An ablation that removes documents from the corpus, to measure how many of the gaps are detected."""
    baselines: bool = True
    """Whether reference-free methods also judge a sample of the answers, at up to seven calls per answer."""
    labels: LabelFile | None = None
    """A CSV file in data/labels with the columns id, label and, if several people label answers, rater."""
