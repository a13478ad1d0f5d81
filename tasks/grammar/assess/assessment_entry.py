"""`assessments:` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from tasks.grammar.assess.ablation import DocumentAblation
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings


class AssessmentEntry(Settings):
    """An entry of `assessments`."""

    database: str
    """A name under `databases`: the source of questions and documents."""
    system: str
    """A name under `systems`."""
    llm_only: str
    """The assessment of the model without retrieval on the same questions (Table 4); without one, this
    entry's name."""
    withheld: DocumentAblation | None = None
    """Ablation: remove documents from the corpus."""
    baselines: bool = True
    """Also judge a sample of the answers by reference-free methods: up to seven calls each."""
    labels: LabelFile | None = None
    """A CSV file in data/labels with people's labels: id, label and, with several people, rater."""
