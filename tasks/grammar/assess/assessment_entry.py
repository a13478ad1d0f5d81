"""`assessments:` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from tasks.grammar.assess.ablation import DocumentAblation
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings


class AssessmentEntry(Settings):
    """An entry of `assessments`."""

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
    labels: LabelFile | None = None
    """Human labels of the answers, a CSV file in data/labels: id, label and, if several rated, rater."""
