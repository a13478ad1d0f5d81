"""Classes that declare a flow: its stages, the sections whose stages run once per entry, and the folders.

A declaration contains only facts that cannot be derived. The module flows/graph.py derives all other facts,
and generates dvc.yaml. flows/graph.py reads a stage's arguments and outputs from the function's signature,
and the code dependencies from imports. A stage depends on the page files that its code names. The arguments
`params` and `entry` determine the parameters that the stage depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

KEY = "${key}"
"""Placeholder, in a scope's folder and in paths, for the key of the entry that a stage runs for."""
PAGES = "data/reports"
"""The folder of all pages; each page is a folder `FLOW/NAME`."""
FIGURES = {"metrics": "data/metrics", "bars": "data/plots/bars", "lines": "data/plots/lines"}
"""Argument of a page's function -> the folder of the metrics or plots that the function writes.

dvc.yaml lists these folders under `metrics` and `plots`, so that DVC shows the files of every report.
"""
CONTRACTS = "contracts"
"""The output of a stage that checks a dataset's contracts; nightly runs first update this output."""

LIST_SCORED, LIST_ANSWERED = "list_scored", "list_answered"
"""Names of functions in an evaluated stage's module: one lists the scores, the other the answers.

Nightly runs compare the scores; `benchloom compare` also shows the answers.
"""
EVALUATION, BASELINES = "evaluation", "baselines"
"""Sections of params.yaml whose `as_of` is the nightly run's label. Each call of a stage that reads the
section contains this label."""


@dataclass(frozen=True)
class Scope:
    """A group of stages that run once, or once per entry of a section, with one folder of artifacts."""

    over: str = ""
    """The section of params.yaml if the stages run once per entry; empty if the stages run only once."""
    folder: str = ""
    """The folder of artifacts, such as `data/grammar/${key}`; `${item.field}` is a field of the entry."""
    looks_in: tuple[Scope, ...] = ()
    """Scopes that are searched for an argument if the stage's own scope has no artifact of that name."""
    evaluates: str = ""
    """In a scope that evaluates systems, the stage whose artifact contains the items' scores.

    The function `list_scored` in the stage's module returns the scores, and nightly runs compare the scores.
    All stages of this scope that call models run again every night.
    """
    canaries: str = ""
    """In a scope with a judge, the stage in which the judge rates test cases with known verdicts.

    If the judge's accuracy on these cases drops, a nightly run attributes a drop of the scores to the judge,
    not to the system.
    """
    gold: str = ""
    """In a scope whose dataset has gold queries, a function that runs these queries again.

    The function's name has the form of a stage's name, such as `grammar.gold`. Its arguments are artifacts
    and the database; it returns a list of `GoldAnswer`. Nightly runs call the function.
    """
    asks: str = ""
    """In a scope that evaluates systems, the argument with the items: one row per item, with a column `id`.

    A nightly run may evaluate only a subset of these items (`evaluation.items`). Leave this field empty if
    items depend on earlier items.
    """
    template: str = ""
    """The column that names an item's source; the evaluated subset of items is stratified by this column."""
    asks_all_with: str = ""
    """A field of an entry that, if set, makes a system's input depend on all items.

    If the field is set, a nightly run evaluates all items.
    """
    samples: str = ""
    """In a scope whose artifacts are a dataset, the artifact with the questions, one row per question."""
    when: str = ""
    """A section of params.yaml. If the section is missing, the graph does not contain the scope's stages."""

    def at(self, key: str) -> Scope:
        """Return the scope for the entry with the given key.

        In `at("${item.database}")`, the key is the field `database` of the entry that a stage runs for.
        """
        return replace(self, folder=self.folder.replace(KEY, key))

    def stage(
        self,
        name: str,
        *,
        artifact: str = "",
        out: str = "",
        prompts: tuple[str, ...] = (),
        roles: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
        covered: tuple[str, ...] = (),
        beside: bool = False,
        settings: tuple[str, ...] = (),
        drops: bool = True,
        asks_once: bool = False,
        may_be_empty: bool = False,
        extra: str = "",
        may_ask: tuple[str, ...] = (),
        off: Mapping[str, tuple[object, ...]] | None = None,
    ) -> Stage:
        """Declare a stage of this scope; see `Stage`."""
        flags = {"drops": drops, "asks_once": asks_once, "may_be_empty": may_be_empty}
        return Stage(
            name, self, artifact, out, prompts, roles, reads, covered, beside, settings, **flags,
            extra=extra, may_ask=may_ask, off=off or {},
        )  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """A stage: a function in tasks/, found by its name.

    `name`: for example `grammar.fill_in`. The last part of the name is the name of the function and of its
    module. The module's name is unique under tasks/grammar. The argument `params` contains the section of
    params.yaml with the stage's whole name.
    """

    name: str
    scope: Scope
    artifact: str = ""
    """The stem of the file with the stage's rows, if it differs from the stage's name."""
    out: str = ""
    """The output of a function with an argument `out`.

    The output is a file or folder in the scope's folder, or a path that begins with `data/`.
    """
    prompts: tuple[str, ...] = ()
    """Names of the paper's prompts (tasks/<paper>/prompts); `texts/*` means a whole folder."""
    roles: tuple[str, ...] = ()
    """Roles that the stage calls; `*` means the roles that the stage's parameters name."""
    reads: tuple[str, ...] = ()
    """Additional dependencies: paths, which may contain `${item.field}`, or names of the scope's artifacts.

    This list also includes files for arguments that no scope provides.
    """
    covered: tuple[str, ...] = ()
    """Folders that are passed as arguments but are not dependencies.

    An artifact in `reads` contains the checksums of the files that the stage reads in these folders.
    """
    beside: bool = False
    """Whether the stage also reads the `.dropped` and `.calls` files of artifacts that it receives as
    paths."""
    settings: tuple[str, ...] = ()
    """Additional parameters that the stage depends on, by dotted name."""
    drops: bool = True
    """Whether the stage can drop rows; otherwise it writes no `.dropped` file."""
    asks_once: bool = False
    """In a scope that evaluates systems, whether the stage calls models only for comparison, like a baseline.

    Calls for comparison have the label `baselines.as_of`. A nightly run changes this label only if
    `nightly.baselines` is set. With an unchanged label, the stage makes new calls only for new answers.
    """
    may_be_empty: bool = False
    """Whether an empty result is valid; otherwise an empty result ends the run."""
    extra: str = ""
    """The package's extra that the stage always needs, regardless of its parameters, such as `retrieval`."""
    may_ask: tuple[str, ...] = ()
    """Fields of the stage's entry; each field names a role that the stage calls only in some cases."""
    off: Mapping[str, tuple[object, ...]] = field(default_factory=dict, compare=False)
    """Setting -> the values for which the stage calls no model.

    The key is `params.FIELD`, `entry.FIELD`, or a dotted name in params.yaml with `${key}`. If a setting
    disables the calls, `plan` estimates zero calls, regardless of the inputs.
    """

    @property
    def paper(self) -> str:
        """The folder under tasks/ that contains the stage's module."""
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        """The name of the stage's function and module."""
        return self.name.rpartition(".")[2]

    @property
    def block(self) -> str:
        """The stage's name in dvc.yaml."""
        return self.name.replace(".", "-").replace("_", "-")


@dataclass(frozen=True)
class Usual:
    """The usual calls of a stage for one entry of the sample.

    `calls`: minimum and maximum number of calls. `prompt_tokens`, `completion_tokens`: tokens per call.
    """

    calls: tuple[int, int]
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Flow:
    """The flow of one paper: its name on the command line, its title, and its stages in order."""

    name: str
    title: str
    stages: tuple[Stage, ...]
    sections: Mapping[str, str] = field(default_factory=dict)
    """Sections of params.yaml that stages read through `settings`, and that belong to no stage.

    Dotted name -> the model that validates it, such as `tasks.trial.wording:Wording`.
    """

    released: str = ""
    """The function that writes items in the format of the paper's release.

    The value names a module and a function: `tasks.trial.released:write_released`. `publish` calls the
    function with the file of items, the file of predictions or None, the option `--prediction-key`, and a
    folder.
    """
    preview: str = ""
    """The function that scales the parameters for `run --limit N`, such as `tasks.trial.previewing:shrink`.

    The function receives all parameters and N, and returns the parameters of the preview.
    """
    usual: Mapping[str, Usual] = field(default_factory=dict)
    """Stage -> its calls in the sample. `plan` uses these numbers for stages that have not run in the
    project."""

    def find(self, stage: str) -> Stage | None:
        """Return a stage by its name; None if it is not in this flow."""
        return next((known for known in self.stages if known.name == stage), None)

    def list_scopes(self) -> tuple[Scope, ...]:
        """List the distinct scopes (groups of stages) of the flow, in order."""
        return tuple(dict.fromkeys(stage.scope for stage in self.stages))


def name_argument(path: str) -> str:
    """Return the name of the argument that a file is passed as: `b_calls` for `a/b.calls.parquet`."""
    first, *rest = PurePosixPath(path).name.split(".")
    return "_".join([first, *rest[:-1]]) if rest[-1:] == ["parquet"] else first
