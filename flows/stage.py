"""Declare a flow: what it fans out over, the folder of its artifacts, and its stages in order.

A declaration contains only what is not determined elsewhere. A stage's arguments and outputs follow from its
function's signature, its code from imports, its pages from names in its code, its parameters from `params`
and `entry`; flows/graph.py generates dvc.yaml from all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

KEY = "${key}"
"""Placeholder in a scope's folder and in paths for the name of the entry that a stage runs for."""
PAGES = "data/reports"
"""Where pages are written, each as a folder `FLOW/NAME`."""
FIGURES = {"metrics": "data/metrics", "bars": "data/plots/bars", "lines": "data/plots/lines"}
"""Arguments of a page's function for its figures in files that DVC shows -> the folder of all pages' ones.
dvc.yaml names these folders under `metrics` and `plots`, so that a report is shown by being there."""
CONTRACTS = "contracts"
"""The output of a stage that holds a dataset to its contracts; a night brings it up to date first."""

LIST_SCORED, LIST_ANSWERED = "list_scored", "list_answered"
"""What the module of an evaluated stage must have: the scores that nights compare, and the answers that
`benchloom compare` shows with them."""
EVALUATION, BASELINES = "evaluation", "baselines"
"""The sections of params.yaml whose `as_of` names the night: a stage that declares one asks under it."""


@dataclass(frozen=True)
class Scope:
    """A group of stages: what they fan out over, and the folder of their artifacts."""

    over: str = ""
    """The section of params.yaml for each of whose entries the stages run; empty = they run once."""
    folder: str = ""
    """The folder of artifacts, such as `data/grammar/${key}`; `${item.field}` is a field of the entry."""
    looks_in: tuple[Scope, ...] = ()
    """Scopes whose artifacts the stages also read, if their own scope has none of that name."""
    evaluates: str = ""
    """For a scope that evaluates systems: the stage whose artifact has the items' scores, which nights
    compare, by the function `list_scored` of its module. Stages of such a scope that call models are run
    again every night."""
    canaries: str = ""
    """For a scope whose scores a judge gives: the stage that has it judge cases with known verdicts. Where
    these fall, a night calls a fall of the scores the judge's, not the system's."""
    gold: str = ""
    """For a scope whose dataset has gold queries: a function named as a stage is, which takes artifacts and
    the database, runs the queries again, and returns a list of `GoldAnswer`. A night calls it."""
    asks: str = ""
    """For a scope that evaluates: the argument with the items that systems are asked, a row each with an
    `id`, of which a night may ask a part (`evaluation.items`). Empty: items depend on those asked before
    them."""
    template: str = ""
    """The column of these rows that names what several items were made from, by which parts are
    stratified."""
    asks_all_with: str = ""
    """A field of an entry with which a system is given what depends on all items: the entry is asked
    whole."""
    samples: str = ""
    """For a scope whose artifacts are a dataset: the artifact with its questions, a row each."""
    when: str = ""
    """A section of params.yaml without which the graph does not have the stages."""

    def at(self, key: str) -> Scope:
        """Return the scope for one entry, given by a field of another: `at("${item.database}")`."""
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

    name: such as `grammar.fill_in`: the function and the only module of that last name below tasks/grammar,
    and the section of params.yaml that its argument `params` is read from.
    """

    name: str
    scope: Scope
    artifact: str = ""
    """The stem of its rows' file, if that is not the stage's name."""
    out: str = ""
    """The output of a function with an argument `out`: a file or folder below the scope's folder, or a path
    that begins with `data/`."""
    prompts: tuple[str, ...] = ()
    """Names of prompts of its paper (tasks/<paper>/prompts); `texts/*` is a whole folder."""
    roles: tuple[str, ...] = ()
    """Roles that it calls; `*` = those that its parameters name."""
    reads: tuple[str, ...] = ()
    """Further dependencies, and files of arguments that no scope has: paths, possibly with `${item.field}`,
    or names of artifacts of its scope."""
    covered: tuple[str, ...] = ()
    """Folders that are arguments and no dependencies: an artifact among `reads` has the checksums of what the
    stage reads there."""
    beside: bool = False
    """Whether it also reads the `.dropped` and `.calls` files of each artifact that it takes as a path."""
    settings: tuple[str, ...] = ()
    """Further parameters, by dotted name."""
    drops: bool = True
    """Whether it can drop rows; otherwise it writes no `.dropped` file."""
    asks_once: bool = False
    """Of a scope that evaluates: whether its calls are for comparison alone, as those of baselines are. They
    belong to the night `baselines.as_of`, which a night raises only if `nightly.baselines` says so: what was
    asked of an answer once is not asked of it again."""
    may_be_empty: bool = False
    """Whether no rows are a right result of it; a run ends where any other stage has none."""
    extra: str = ""
    """The extra of the package whose libraries it needs whatever its parameters say, as `retrieval`."""
    may_ask: tuple[str, ...] = ()
    """Fields of its entry that name roles which it asks in some cases alone."""
    off: Mapping[str, tuple[object, ...]] = field(default_factory=dict, compare=False)
    """Settings that switch its calls off: `params.` or `entry.` and a field, or a dotted name of params.yaml
    with `${key}` -> values with which it asks no model. `plan` then counts none, whatever its inputs."""

    @property
    def paper(self) -> str:
        """The folder below tasks/ that its module is in."""
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        """The name of its function, and of its module."""
        return self.name.rpartition(".")[2]

    @property
    def block(self) -> str:
        """The stage's name in dvc.yaml."""
        return self.name.replace(".", "-").replace("_", "-")


@dataclass(frozen=True)
class Usual:
    """Call counts of a stage for an entry of the sample: minimum, maximum, and tokens of a call."""

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
    """Sections of params.yaml that stages read by `settings` but that are no stage's own: dotted name -> what
    validates it, such as `tasks.trial.wording:Wording`."""

    released: str = ""
    """What writes items in the layout of the paper's release, such as `tasks.trial.released:write_released`.

    `publish` calls it with the file of the items, that of predictions or None, the option `--prediction-key`,
    and a folder."""
    preview: str = ""
    """What scales the parameters with the items of `run --limit N`, such as `tasks.trial.previewing:shrink`.

    It is called with all parameters and N, and returns those of the preview."""
    usual: Mapping[str, Usual] = field(default_factory=dict)
    """What stages asked in the sample, by which `plan` estimates those that no run here tells of."""

    def find(self, stage: str) -> Stage | None:
        """Return a stage by its name; None if it is not in this flow."""
        return next((known for known in self.stages if known.name == stage), None)

    def list_scopes(self) -> tuple[Scope, ...]:
        """List the distinct scopes of its stages, in order."""
        return tuple(dict.fromkeys(stage.scope for stage in self.stages))


def name_argument(path: str) -> str:
    """Return the name of the argument that a file is passed as: `b_calls` for `a/b.calls.parquet`."""
    first, *rest = PurePosixPath(path).name.split(".")
    return "_".join([first, *rest[:-1]]) if rest[-1:] == ["parquet"] else first
