"""Resolve each side's name: an entry, system, nightly run, run of `benchloom evaluate`, or revision.

For each combination of two sides, the answer sets are then paired. An answer set contains the scored answers
of one system in one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase

from flows.comparing.places import (
    Place,
    list_folders,
    list_nights,
    read_evaluation,
    read_night,
    read_revision,
    read_workspace,
)
from flows.run.record.lock_file import LOCK
from tasks.errors import BadInput, BenchloomError
from tasks.judging.comparison import ScoredSystem

ENTRY, SYSTEM, NIGHT, RUN, REVISION = KINDS = ("entry", "system", "night", "run", "rev")
WORKSPACE = "workspace"
"""DVC's name for the whole working tree."""
NAMED = 12
"""Maximum number of names per kind in an error message."""
Pair = tuple[ScoredSystem, ScoredSystem]
WAYS: tuple[Callable[[ScoredSystem], object], ...] = (
    lambda scored_system: (scored_system.section, scored_system.entry, scored_system.system),
    lambda scored_system: (scored_system.section, scored_system.system),
    lambda scored_system: (scored_system.section, scored_system.entry),
    lambda scored_system: scored_system.section,
)
"""Functions that return a key for pairing answer sets, tried in order.

A key must match exactly one answer set of each side.
"""


@dataclass(frozen=True)
class Side:
    """A side of a comparison: its label, its `Place` (where its artifacts are), and its scored answers."""

    label: str
    place: str
    scored_systems: Sequence[ScoredSystem]


@dataclass
class Sides:
    """Finds the sides of a comparison in a project. only: entries or systems to read, by default all."""

    root: Path
    only: Sequence[str] = ()

    def find(self, word: str) -> Side:
        """Find the side that an argument names. Raises BadInput if the argument is unknown or ambiguous."""
        kind, colon, name = word.partition(":")
        if colon and kind in KINDS:
            found = [side for side in [self._finders[kind](name)] if side is not None]
        elif word == WORKSPACE:
            found = [self._read(read_workspace(self.root))]
        else:
            kinds, found = self._find_kinds(word)
            if len(found) > 1:
                ways = ", ".join(f"{kind}:{word}" for kind in kinds)
                raise BadInput(word, f"is ambiguous: use {ways}")
        if not found:
            raise BadInput(word, f"is not an entry, a system, a run or a revision; {self._describe()}")
        return found[0]

    def _find_kinds(self, word: str) -> tuple[list[str], list[Side]]:
        """Return the kinds and the sides that an argument could refer to.

        The argument is looked up as a system only if the working tree has an evaluated system of this name,
        or if no other kind matches.
        """
        found = [
            (kind, side)
            for kind in KINDS
            if kind != SYSTEM and (side := self._finders[kind](word)) is not None
        ]
        named = any(stage.system == word for stage in self._workspace.stages)
        if (named or not found) and (side := self._find_system(word)) is not None:
            found.append((SYSTEM, side))
        return [kind for kind, _ in found], [side for _, side in found]

    @property
    def _finders(self) -> dict[str, Callable[[str], Side | None]]:
        return {
            ENTRY: self._find_entry,
            SYSTEM: self._find_system,
            NIGHT: lambda name: self._read_if(read_night(self.root, name)),
            RUN: lambda name: self._read_if(read_evaluation(Path(name), name)),
            REVISION: lambda name: self._read_if(read_revision(self.root, name)),
        }

    @cached_property
    def _workspace(self) -> Place:
        """The evaluated stages in the working tree; empty if there is no `dvc.lock`."""
        return read_workspace(self.root) if (self.root / LOCK).is_file() else Place(WORKSPACE, ())

    @cached_property
    def _scored_systems(self) -> list[ScoredSystem]:
        """All scored answers in the working tree whose artifacts exist."""
        scored_systems: list[ScoredSystem] = []
        for stage in self._workspace.stages:
            with suppress(BadInput):
                scored_systems += stage.read_scored_systems(self._workspace.label)
        return scored_systems

    def _find_entry(self, word: str) -> Side | None:
        """Return the side for an entry, or for `ENTRY/SYSTEM`; None if no entry that has run matches."""
        name, slash, system = word.partition("/")
        stages = [stage for stage in self._workspace.stages if name in (stage.key, stage.name)]
        if len(stages) > 1:
            ways = ", ".join(stage.name for stage in stages)
            raise BadInput(word, f"is an entry in several sections: use {ways}")
        scored_systems = [
            scored_system
            for stage in stages
            for scored_system in stage.read_scored_systems(self._workspace.label)
            if not slash or scored_system.system == system
        ]
        if stages and not scored_systems and slash:
            there = {
                scored_system.system
                for stage in stages
                for scored_system in stage.read_scored_systems("workspace")
            }
            raise BadInput(
                word,
                f"is not valid: the entry {name} has no such system (known: {join_names(sorted(there))})",
            )
        return Side(word, self._workspace.label, self._keep(scored_systems)) if stages else None

    def _find_system(self, word: str) -> Side | None:
        scored_systems = [
            scored_system for scored_system in self._scored_systems if scored_system.system == word
        ]
        return Side(word, self._workspace.label, self._keep(scored_systems)) if scored_systems else None

    def _read_if(self, place: Place | None) -> Side | None:
        return None if place is None else self._read(place)

    def _read(self, place: Place) -> Side:
        # Entries that --only excludes are not read, since their artifacts may be missing.
        entries = {name for stage in place.stages for name in (stage.key, stage.name)}
        wanted = {name.partition("/")[0] for name in self.only} & entries
        stages = [
            stage for stage in place.stages if not wanted or stage.key in wanted or stage.name in wanted
        ]
        scored_systems = [
            scored_system for stage in stages for scored_system in stage.read_scored_systems(place.label)
        ]
        return Side(place.label, place.label, self._keep(scored_systems))

    def _keep(self, scored_systems: Sequence[ScoredSystem]) -> list[ScoredSystem]:
        return [
            scored_system
            for scored_system in scored_systems
            if not self.only
            or {
                scored_system.entry,
                f"{scored_system.section}.{scored_system.entry}",
                scored_system.system,
                scored_system.name,
            }
            & set(self.only)
        ]

    def _describe(self) -> str:
        """Return a hint that lists what can be compared."""
        stages = self._workspace.stages
        systems = sorted(
            {scored_system.system for scored_system in self._scored_systems if scored_system.system}
        )
        keys = [stage.key for stage in stages]
        entries = [stage.key if keys.count(stage.key) == 1 else stage.name for stage in stages]
        parts = {
            "entries": entries,
            "systems": systems,
            "nights": list_nights(self.root),
            "runs": list_folders(self.root),
        }
        said = [f"{kind}: {join_names(names)}" for kind, names in parts.items() if names]
        return (
            f"known: {'; '.join(said)}; {WORKSPACE}, and Git revisions"
            if said
            else "known: none, because nothing has run"
        )


def join_names(names: Sequence[str]) -> str:
    """Join names as text: the first twelve names, and the number of further names."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Paired:
    """Paired answer sets, and the answer sets without a counterpart.

    `letters`: for each pair, the letters of the two sides. `alone`: side's letter -> names of its answer sets
    without a counterpart on any other side.
    """

    pairs: Sequence[Pair]
    letters: Sequence[tuple[str, str]]
    alone: Mapping[str, Sequence[str]]


def pair_sides(sides: Sequence[Side]) -> Paired:
    """Pair the answer sets for each combination of two sides. Raises the errors of `pair_scored_systems`."""
    named = dict(zip(ascii_uppercase, sides, strict=False))
    pairs: list[Pair] = []
    letters: list[tuple[str, str]] = []
    alone = {
        letter: {name_whole(scored_system) for scored_system in side.scored_systems}
        for letter, side in named.items()
    }
    for a, b in combinations(named, 2):
        found, *rest = pair_scored_systems(named[a], named[b])
        pairs += found
        letters += [(a, b)] * len(found)
        for letter, scored_systems in zip((a, b), rest, strict=True):
            alone[letter] &= {name_whole(scored_system) for scored_system in scored_systems}
    return Paired(pairs, letters, {letter: sorted(names) for letter, names in alone.items()})


def pair_scored_systems(a: Side, b: Side) -> tuple[list[Pair], list[ScoredSystem], list[ScoredSystem]]:
    """Return the pairs of answer sets of two sides, and each side's answer sets without a counterpart.

    Answer sets are paired by entry and system, then by system, then by entry, then by common cases. Each key
    pairs the answer sets that it identifies uniquely. The next key is used for the remaining answer sets.
    Raises BadInput if several answer sets match, or if both sides refer to the same answers. Raises
    BenchloomError if none match.
    """
    left, right, pairs = list(a.scored_systems), list(b.scored_systems), list[Pair]()
    if a.place == b.place and left and right:
        # If one side is a system of the other side's entry, compare the entry's other systems with it.
        rest = drop_same(left, right)
        left, right = (rest, right) if rest else (left, drop_same(right, left))
        if not right:
            raise BadInput(
                f"{a.label} and {b.label}", "refer to the same answers, so there is nothing to compare"
            )
    for way in WAYS:
        for side in list(left):
            mine, theirs = (find_alike(side, scored_systems, way) for scored_systems in (left, right))
            if len(mine) == 1 and len(theirs) == 1:
                pairs.append((side, theirs[0]))
                left.remove(side)
                right.remove(theirs[0])
    for side in left:
        mine, theirs = (find_alike(side, scored_systems, WAYS[-1]) for scored_systems in (left, right))
        if theirs:
            raise BadInput(
                f"{a.label} and {b.label}",
                f"it is unclear which of {list_names(mine)} to compare with which of {list_names(theirs)}",
                hint="give each argument as ENTRY/SYSTEM, or select entries with --only",
            )
    if not pairs:
        raise BenchloomError(
            f"{a.label} and {b.label} have no items in common: {describe_side(a)}; {describe_side(b)}"
        )
    return sorted(pairs, key=lambda pair: (pair[0].section, pair[0].name)), left, right


def drop_same(scored_systems: Sequence[ScoredSystem], others: Sequence[ScoredSystem]) -> list[ScoredSystem]:
    """Return the answer sets that the other side does not contain."""
    same = {WAYS[0](scored_system) for scored_system in others}
    return [scored_system for scored_system in scored_systems if WAYS[0](scored_system) not in same]


def find_alike(
    one: ScoredSystem, scored_systems: Sequence[ScoredSystem], way: Callable[[ScoredSystem], object]
) -> list[ScoredSystem]:
    """Return the answer sets that have the same key as `one` and share at least one case with `one`."""
    return [
        scored_system
        for scored_system in scored_systems
        if way(scored_system) == way(one) and scored_system.cases & one.cases
    ]


def describe_side(side: Side) -> str:
    """Describe a side by its label and its answer sets."""
    return f"{side.label} has {list_names(side.scored_systems) or 'no scored answers'}"


def list_names(scored_systems: Sequence[ScoredSystem]) -> str:
    """Join the full names of answer sets as text."""
    return join_names([name_whole(scored_system) for scored_system in scored_systems])


def name_whole(scored_system: ScoredSystem) -> str:
    """Return the full name of an answer set: section, entry and system."""
    return f"{scored_system.section}.{scored_system.name}"
