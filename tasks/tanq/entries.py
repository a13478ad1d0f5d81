"""Define the entries of `tanq.sources`, `tanq.sets` and `tanq.evaluations` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tasks.distinct import Names, check_distinct
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings

SettingName = Literal["closed", "oracle", "open"]
InstructionName = Literal["empty", "simple", "detailed", "steps"]


class RelationWords(Settings):
    """The wording of a relation. Empty texts get built-in wording or the label."""

    words: str = ""
    """Words for several values, such as `neighbouring countries`. If empty, the plural of `one`."""
    one: str = ""
    """Words for one value, such as `neighbouring country`."""
    condition: str = ""
    """The condition in a list question, with `{}` for the value: `border {}`.

    If empty, the relation is never a condition.
    """
    aspect: str = ""
    """The topic that the relation belongs to, such as `birth`."""


class GraphSource(Settings):
    """One entry of `tanq.sources`: a graph, articles for evidence, and list questions."""

    graph: Path
    """A folder with entities.parquet and claims.parquet, from `benchloom import wikidata`."""
    articles: Path
    """A folder with articles.parquet and parts.parquet, from `benchloom import wikipedia`."""
    seeds: Path
    """A file of list questions, from `benchloom import qampari`.

    If `seeds` is the graph's folder, the questions are generated from the graph.
    """
    relations: Mapping[str, RelationWords | None] = {}
    """Properties that questions may use (R in the TANQ paper), with their wording.

    Empty means QAMPARI's properties.
    """
    nouns: Mapping[str, str] = {}
    """Map each class to the plural noun for its entities.

    Questions generated from the graph use only the classes in `nouns`.
    """
    incomplete: tuple[str, ...] = ()
    """Classes whose entities are not all in the graph.

    A condition never selects entities of an incomplete class. Such entities can be answers only if they are
    derived from a complete class, as in the capitals of the countries that border Peru.
    """


class TanqSet(Settings):
    """One entry of `tanq.sets`: questions from one source."""

    source: str
    """The source: a name under `tanq.sources`."""
    questions: int = Field(default=60, gt=0)
    """Maximum number of items."""
    seed: int = 0
    """The seed for choosing the items."""


class TableEvaluation(Settings):
    """One entry of `tanq.evaluations`: baselines and models, evaluated on a set."""

    set: str
    """The question set: a name under `tanq.sets`."""
    settings: Annotated[tuple[SettingName, ...], Field(min_length=1), AfterValidator(check_distinct)] = (
        "closed", "oracle", "open",
    )  # fmt: skip
    """Evaluation settings: `closed` (no evidence), `oracle` (the prompt contains the item's evidence), and
    `open` (the model uses tools)."""
    models: Names = ("agent",)
    """The models to evaluate, as names under `roles:`."""
    shots: Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(check_distinct)] = (3,)
    """Numbers of examples per prompt in the closed and oracle settings: 0, 1, 3 or 5 in TANQ."""
    choices: tuple[Literal["random", "chosen"], ...] = ("random",)
    """How three or more examples are selected: at random, or by similarity to the question."""
    instructions: tuple[InstructionName, ...] = ("simple",)
    """The instruction styles to use in prompts."""
    items: int | None = Field(default=None, gt=0)
    """Maximum number of items, in order of id; null means all items."""
    people: LabelFile | None = None
    """A CSV file in data/labels with human-written tables; columns: id, table, rater."""
    labels: LabelFile | None = None
    """A CSV file in data/labels with human labels for `other_hallucination`; columns: id, label, rater."""
