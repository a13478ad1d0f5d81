"""How a flow is declared: what it fans out over, where its artifacts lie, and its stages in order.

Only what cannot be read elsewhere is said. A stage's arguments and outputs follow from its function's
signature, its code from the imports, its pages from the names in its code, its parameters from `params`
and `entry`; flows/graph.py makes dvc.yaml of it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

KEY = "${key}"
"""In a scope's folder and in paths: the name of the entry that a stage runs for."""


@dataclass(frozen=True)
class Scope:
    """What a group of stages fans out over, and where their artifacts lie."""

    over: str = ""
    """The section of params.yaml whose entries the stages run for, by name; nothing = they run once."""
    folder: str = ""
    """Where artifacts lie, as `data/grammar/${key}`; an entry's own fields stand as `${item.field}`."""
    looks_in: tuple[Scope, ...] = ()
    """Scopes whose artifacts the stages read too, by name, where their own scope has none of it."""
    evaluates: str = ""
    """The stage whose artifact says how good each item was, where the scope evaluates systems: what a night
    compares, by the function `list_scored` of its module. Stages of such a scope that ask anybody ask anew
    every night."""
    when: str = ""
    """A section of params.yaml without which the stages are left out of the graph."""

    def at(self, key: str) -> Scope:
        """Give the scope for one entry, named by a field of another's: `at("${item.database}")`."""
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
        beside: bool = False,
        settings: tuple[str, ...] = (),
        drops: bool = True,
    ) -> Stage:
        """Declare a stage of this scope; see `Stage`."""
        return Stage(name, self, artifact, out, prompts, roles, reads, beside, settings, drops)


@dataclass(frozen=True)
class Stage:
    """One stage: a function in tasks/, found by its name.

    name: `grammar.fill_in`: the function and the one module of that last name below tasks/grammar, and the
    section of params.yaml that its argument `params` is read from.
    """

    name: str
    scope: Scope
    artifact: str = ""
    """The stem of its rows' file, where that is not the stage's own name."""
    out: str = ""
    """What it writes by itself, of a function with an argument `out`: a file or folder below its scope's
    folder, or a path from `data/`."""
    prompts: tuple[str, ...] = ()
    """Prompts of its paper (tasks/<paper>/prompts) by name; `texts/*` is the whole folder."""
    roles: tuple[str, ...] = ()
    """Roles that it asks; `*` = whichever its parameters name."""
    reads: tuple[str, ...] = ()
    """Files beyond its arguments' artifacts, or where an argument lies that no scope has: paths, with
    `${item.field}`; or an artifact of its scope by name."""
    beside: bool = False
    """It also reads what was dropped and called beside each artifact that it takes as a path."""
    settings: tuple[str, ...] = ()
    """Further parameters by dotted name."""
    drops: bool = True
    """Whether it can drop rows; one that keeps them all writes no `.dropped` file."""

    @property
    def paper(self) -> str:
        """The folder below tasks/ that it lives in."""
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        """The name of its function, and of its module."""
        return self.name.rpartition(".")[2]

    @property
    def block(self) -> str:
        """Its name in dvc.yaml."""
        return self.name.replace(".", "-").replace("_", "-")


@dataclass(frozen=True)
class Flow:
    """One paper's flow: a name to run it by, a title, and its stages in order."""

    name: str
    title: str
    stages: tuple[Stage, ...]
    sections: Mapping[str, str] = field(default_factory=dict)
    """Sections of params.yaml that are no stage's own, and that stages read by `settings`: dotted name ->
    what validates one, as `tasks.trial.wording:Wording`."""

    def find(self, stage: str) -> Stage | None:
        """Find a stage by its name; None where it is not of this flow."""
        return next((own for own in self.stages if own.name == stage), None)

    def list_scopes(self) -> tuple[Scope, ...]:
        """List the scopes of its stages, each once, in order."""
        return tuple(dict.fromkeys(stage.scope for stage in self.stages))


def name_argument(path: str) -> str:
    """Turn a file's path into the argument's name that it is: `a/b.calls.parquet` is `b_calls`."""
    first, *rest = PurePosixPath(path).name.split(".")
    return "_".join([first, *rest[:-1]]) if rest[-1:] == ["parquet"] else first
