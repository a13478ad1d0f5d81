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
    """How a relation is asked for; what is left empty follows from its label."""

    words: str = ""
    """Of several values: `neighbouring countries`."""
    one: str = ""
    """Of one value: `neighbouring country`."""
    condition: str = ""
    """A list question by it, `{}` for the value: `border {}`; empty makes no condition of it."""
    aspect: str = ""
    """What it is asked beside, such as `birth`."""


class GraphSource(Settings):
    """One entry of `tanq.sources`: a graph, the articles that bear it out, and list questions."""

    graph: Path
    """A folder with entities.parquet and claims.parquet, as `benchloom import wikidata` writes it."""
    articles: Path
    """A folder with articles.parquet and parts.parquet, as `benchloom import wikipedia` writes it."""
    seeds: Path
    """A file of list questions, as `benchloom import qampari` writes it; the graph's own folder makes them
    from the graph."""
    relations: Mapping[str, RelationWords | None] = {}
    """R: properties that questions may ask, with their words; empty takes those that QAMPARI uses."""
    nouns: Mapping[str, str] = {}
    """Class -> what its things are called, in the plural; list questions of the graph ask for these alone."""
    incomplete: tuple[str, ...] = ()
    """Classes of which the graph has but some things: it cannot say which of them there are in a place, and
    they are asked for by what complete classes have: the capitals of the countries that border Peru."""


class TanqSet(Settings):
    """One entry of `tanq.sets`: questions of a source."""

    source: str
    """A name under `tanq.sources`."""
    questions: int = Field(default=60, gt=0)
    """At most so many items."""
    seed: int = 0
    """The seed that chooses the items."""


class TableEvaluation(Settings):
    """One entry of `tanq.evaluations`: baselines and models on a set."""

    set: str
    """A name under `tanq.sets`."""
    settings: Annotated[tuple[SettingName, ...], Field(min_length=1), AfterValidator(check_distinct)] = (
        "closed", "oracle", "open",
    )  # fmt: skip
    """The settings: without evidence, with the item's evidence, or with tools."""
    models: Names = ("agent",)
    """Names under `roles:`."""
    shots: Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(check_distinct)] = (3,)
    """How many examples a prompt has, for closed and oracle: 0, 1, 3 or 5 in the paper."""
    choices: tuple[Literal["random", "chosen"], ...] = ("random",)
    """How examples are taken, for three and more."""
    instructions: tuple[InstructionName, ...] = ("simple",)
    """The instructions in the prompt, by name."""
    items: int | None = Field(default=None, gt=0)
    """Only the first so many items by id; null takes all."""
    people: LabelFile | None = None
    """A file in data/labels of tables that people wrote, with the columns id, table and rater."""
    labels: LabelFile | None = None
    """A file in data/labels of people's words on other hallucinations, with the columns id, label, rater."""
