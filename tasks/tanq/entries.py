"""Entries of `tanq.sources`, `tanq.sets` and `tanq.evaluations` in params.yaml."""

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
    """Words for a relation; empty ones follow from its label."""

    words: str = ""
    """Words for several values: `neighbouring countries`."""
    one: str = ""
    """Words for one value: `neighbouring country`."""
    condition: str = ""
    """The condition of a list question, with `{}` for the value: `border {}`. Empty makes no condition."""
    aspect: str = ""
    """The topic that it belongs to, such as `birth`."""


class GraphSource(Settings):
    """One entry of `tanq.sources`: a graph, articles with evidence, and list questions."""

    graph: Path
    """A folder with entities.parquet and claims.parquet, as `benchloom import wikidata` writes it."""
    articles: Path
    """A folder with articles.parquet and parts.parquet, as `benchloom import wikipedia` writes it."""
    seeds: Path
    """A file of list questions by `benchloom import qampari`. The graph's folder makes them from the
    graph."""
    relations: Mapping[str, RelationWords | None] = {}
    """Properties (R) that questions may use, with their words; empty uses QAMPARI's."""
    nouns: Mapping[str, str] = {}
    """Class -> the plural word for its things. List questions of the graph use only these classes."""
    incomplete: tuple[str, ...] = ()
    """Classes of which the graph has only some things. Questions reach them through complete classes: the
    capitals of the countries that border Peru."""


class TanqSet(Settings):
    """An entry of `tanq.sets`: questions of a source."""

    source: str
    """A name under `tanq.sources`."""
    questions: int = Field(default=60, gt=0)
    """Maximum number of items."""
    seed: int = 0
    """The seed that chooses the items."""


class TableEvaluation(Settings):
    """An entry of `tanq.evaluations`: baselines and models on a set."""

    set: str
    """A name under `tanq.sets`."""
    settings: Annotated[tuple[SettingName, ...], Field(min_length=1), AfterValidator(check_distinct)] = (
        "closed", "oracle", "open",
    )  # fmt: skip
    """The settings: without evidence, with the item's evidence, or with tools."""
    models: Names = ("agent",)
    """Names under `roles:`."""
    shots: Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(check_distinct)] = (3,)
    """Number of examples in a prompt, for closed and oracle: 0, 1, 3 or 5 in the paper."""
    choices: tuple[Literal["random", "chosen"], ...] = ("random",)
    """How three or more examples are chosen."""
    instructions: tuple[InstructionName, ...] = ("simple",)
    """The instructions in the prompt, by name."""
    items: int | None = Field(default=None, gt=0)
    """Number of items, the first by id; null takes all."""
    people: LabelFile | None = None
    """A file in data/labels of tables that people wrote, with the columns id, table and rater."""
    labels: LabelFile | None = None
    """A file in data/labels with people's labels of other hallucinations: id, label, rater."""
