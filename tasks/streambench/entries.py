"""Define the entries of `streambench` in params.yaml, such as databases, streams and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tasks.distinct import Names
from tasks.settings import Settings

Order = Literal["hashed", "released", "distribution_shift"]
Reading = Literal["lenient", "released"]
Use = Literal["all", "correct", "incorrect"]
MemoryRule = Literal["store_on_turn", "shadow"]
KIND_K: Mapping[str, int] = {"ds1000": 4, "hotpotqa": 4}
"""Kind of items -> default k; for all other kinds, k is 16 (StreamBench, appendix A)."""


def _check_seeds(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) != len(seeds):
        raise ValueError("a seed occurs twice")
    return seeds


Seeds = Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(_check_seeds)]


class QuestionDatabase(Settings):
    """One entry of `streambench.databases`: a text-to-SQL dataset from GRAMMAR questions."""

    questions: Path
    """A Parquet file with id, question, sql and sql_template, such as
    data/grammar/<database>/balanced.parquet."""
    file: Path
    """The SQLite file of the database."""
    shots: int = Field(default=16, ge=0)
    """Number of questions for few-shot examples, from SQL templates that no item uses."""
    templates: int | None = Field(default=None, gt=0)
    """Number of SQL templates to sample; null uses all. With fewer templates, more items are similar."""
    each: int | None = Field(default=None, gt=0)
    """Number of questions per template, each with a different gold query; null uses all questions."""
    first_words: Names | None = None
    """Use only questions that start with one of these words, such as `which`; null uses all questions."""
    seed: int = 0
    """The seed for choosing the questions."""


class Stream(Settings):
    """An entry of `streambench.streams`: items of datasets in a seeded order."""

    order: Order = "hashed"
    """The order of the items. `hashed`: by hashes of seed and item. `released`: StreamBench's order,
    for datasets of `benchloom import streambench`. `distribution_shift`: the released rows, sorted by
    database."""
    reading: Reading = "lenient"
    """How replies are parsed: `lenient`, or `released` as in the published code (docs/streambench.md)."""

    datasets: Names
    """The datasets, all of one kind: folders below data/raw/streambench."""
    take: int | None = Field(default=None, gt=0)
    """Number of items (T), sampled with `draw_seed`; null uses all items.

    DDXPlus is sampled evenly over diagnoses. Orders other than `hashed` use the first rows of the split.
    """
    draw_seed: int = 42
    """The seed for sampling the items."""
    seeds: Seeds = (42,)
    """Seeds of the orders. StreamBench uses 42; its robustness test (section 5.2) uses 2, 3, 7, 21 and 42."""
    shots: int = Field(default=16, ge=0)
    """Number of few-shot examples, sampled with `draw_seed`.

    Orders other than `hashed` use the first rows of the examples split. For some datasets, this split is
    first shuffled with the order's seed.
    """
    rule: str = ""
    """The rule for scoring; empty means the first rule of the items' kind.

    SQL: `streambench`, `bird` or `test-suite`. HotpotQA: `official` or `streambench`. ToolBench's judge:
    `released` or `strict`.
    """
    options: Mapping[str, Any] = {}
    """Options for the environment, such as timeout, descriptions or paragraphs_in_shots."""


class MethodChoice(Settings):
    """A method with an optional ablation; in params.yaml, a plain name is short for `{method: name}`."""

    method: str
    """The method: name of a file in tasks/streambench/methods, such as `zero_shot`, or of a plug-in."""
    use: Use = "all"
    """Memory entries to show in a prompt: all, only correct, or only wrong ones (StreamBench, Figure 2)."""
    memory_of: str | None = None
    """The only role whose correct answers enter the memory (StreamBench, Table 7); null means all roles."""
    memory_rule: MemoryRule = "store_on_turn"
    """Whether `memory_of` stores its answers only on its own turns (`store_on_turn`) or on all (`shadow`)."""
    version: str = ""
    """Version of the installed package that contains the method; empty for a project file."""
    record: str = ""
    """Digest of the files in the installed package that contains the method."""

    @property
    def label(self) -> str:
        """The method's name in rows and figures: `mem_prompt`, `mem_prompt-correct`, `mam-shadow-agent`."""
        parts = [self.method]
        if self.use != "all":
            parts.append(self.use)
        if self.memory_of is not None:
            parts += [self.memory_rule, self.memory_of]
        return "-".join(parts)


def _read_choice(given: object) -> object:
    return {"method": given} if isinstance(given, str) else given


NamedChoice = Annotated[
    MethodChoice, BeforeValidator(_read_choice, json_schema_input_type=str | MethodChoice)
]


def _check_labels(choices: tuple[MethodChoice, ...]) -> tuple[MethodChoice, ...]:
    labels = [choice.label for choice in choices]
    if len(set(labels)) != len(labels):
        raise ValueError("a method occurs twice")
    return choices


Choices = Annotated[tuple[NamedChoice, ...], Field(min_length=1), AfterValidator(_check_labels)]


class StreamEvaluation(Settings):
    """An entry of `streambench.evaluations`: methods and models to run over a stream."""

    stream: str
    """The stream: a name under `streambench.streams`."""
    methods: Choices
    """Methods to run, each given as a name or as a mapping with an ablation."""
    models: Names = ("agent",)
    """Roles to run each method with.

    A method with a shared memory has one run with all roles, in this order.
    """
    seeds: Seeds | None = None
    """Seeds of the stream to run; null uses all."""
    method_seeds: Mapping[str, Seeds] = {}
    """Label of a method -> seeds, which replace `seeds`."""
    method_models: Mapping[str, Names] = {}
    """Label of a method -> roles, which replace `models`."""
    k: int | None = Field(default=None, gt=0)
    """Maximum number of examples in a prompt; null means 16, or 4 for DS-1000 and HotpotQA."""
    embedder: str = "embedder"
    """The role that embeds memory keys."""
    judge: str = "judge"
    """The role that judges ToolBench's answers."""
    steps: int | None = Field(default=None, gt=0)
    """Number of steps to run, from the first; null runs all."""


class OwnStream(Settings):
    """One entry of `streambench.systems`: your system replaces the agent."""

    stream: str
    """The stream: a name under `streambench.streams`."""
    system: str
    """The system: a name under `systems`. Each prompt is sent as a question."""
    files: Path | None = None
    """The folder that `StreamItem.file` is relative to; null means data/raw/streambench."""
    methods: Choices = (MethodChoice(method="zero_shot"), MethodChoice(method="self_stream_icl"))
    """Methods to run the system with."""
    seeds: Seeds | None = None
    """Seeds of the stream to run; null uses all."""
    k: int | None = Field(default=None, gt=0)
    """Maximum number of examples in a prompt; null means 16, or 4 for DS-1000 and HotpotQA."""
    embedder: str = "embedder"
    """The role that embeds memory keys."""
    judge: str = "judge"
    """The role that judges ToolBench's answers."""


class StreamOverview(Settings):
    """An entry of `streambench.overviews`: evaluations of several streams joined on one page."""

    evaluations: Names | None = None
    """The evaluations: names under `streambench.evaluations`; null uses all.

    If two evaluations of a stream have the same method and models, the first evaluation is used.
    """
