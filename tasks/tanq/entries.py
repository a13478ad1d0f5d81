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
    """Words for a relation; an empty field is derived from the relation's label."""

    words: str = ""
    """Words for several values, such as `neighbouring countries`."""
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
    """A folder with entities.parquet and claims.parquet, as `benchloom import wikidata` writes it."""
    articles: Path
    """A folder with articles.parquet and parts.parquet, as `benchloom import wikipedia` writes it."""
    seeds: Path
    """A file of list questions that `benchloom import qampari` wrote.

    If `seeds` is the graph's folder, the questions are made from the graph.
    """
    relations: Mapping[str, RelationWords | None] = {}
    """Properties that questions may use (R in the paper), with their words.

    Empty means QAMPARI's properties.
    """
    nouns: Mapping[str, str] = {}
    """Map each class to the plural noun for its entities.

    List questions made from the graph use only these classes.
    """
    incomplete: tuple[str, ...] = ()
    """Classes of which the graph has only some of the entities.

    Questions reach these classes through complete classes, as in: the capitals of the countries that border
    Peru.
    """


class TanqSet(Settings):
    """One entry of `tanq.sets`: questions from one source."""

    source: str
    """A name under `tanq.sources`."""
    questions: int = Field(default=60, gt=0)
    """Maximum number of items."""
    seed: int = 0
    """The seed for choosing the items."""


class TableEvaluation(Settings):
    """One entry of `tanq.evaluations`: baselines and models, evaluated on a set."""

    set: str
    """A name under `tanq.sets`."""
    settings: Annotated[tuple[SettingName, ...], Field(min_length=1), AfterValidator(check_distinct)] = (
        "closed", "oracle", "open",
    )  # fmt: skip
    """Evaluation settings: `closed` gives the model no evidence, `oracle` gives it the item's evidence, and
    `open` gives it tools."""
    models: Names = ("agent",)
    """Names under `roles:`, each with a model to evaluate."""
    shots: Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(check_distinct)] = (3,)
    """Numbers of examples in a prompt of the closed and oracle settings: 0, 1, 3 or 5 in the paper."""
    choices: tuple[Literal["random", "chosen"], ...] = ("random",)
    """The choice of three or more examples: at random, or by similarity to the question."""
    instructions: tuple[InstructionName, ...] = ("simple",)
    """Names of the instruction styles to use in prompts."""
    items: int | None = Field(default=None, gt=0)
    """Maximum number of items, taken in the order of their ids; null means all items."""
    people: LabelFile | None = None
    """A CSV file in data/labels with tables that people wrote: id, table, rater."""
    labels: LabelFile | None = None
    """A CSV file in data/labels with people's labels for kind `other_hallucination`: id, label, rater."""
