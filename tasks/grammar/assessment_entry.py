"""`assessments:` in params.yaml: which system is asked the questions of which database."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tasks.grammar.withholding import Withheld


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
