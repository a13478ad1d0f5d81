"""Plan analyses from a database's existing questions, and alternate the kinds of analyses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tasks.artifacts.rows import Origin, make_id
from tasks.english import is_word
from tasks.longform.build.analyses.kinds import KINDS, AnalysisScope
from tasks.longform.build.analyses.steering import count_mentioned, find_mentions, write_questions
from tasks.longform.build.analyses.subjects import AnalysedRows, list_subjects
from tasks.longform.build.designs import Chosen
from tasks.longform.build.foci import Focus
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.build.words import split_name

TRIES = 40
"""Maximum number of the database's existing questions that are tried for one plan."""


@dataclass(frozen=True)
class AnalysisPlan:
    """The plan of an analysis question."""

    design: str
    """The kind of analysis, a name in `KINDS`."""
    focus: Focus
    groups: tuple[str, ...]
    chosen: Chosen
    seed: str
    """The question that the plan is based on: an existing question of the database, or a question that code
    made from its tables."""


@dataclass
class Tally:
    """Counts of plans, to balance the kinds and the share of interpretive questions across databases."""

    interpretive: float
    """The target share of interpretive plans, whose questions depend on an abstract word."""
    kinds: Counter[tuple[str, bool]] = field(default_factory=Counter)

    @property
    def is_interpretive(self) -> bool:
        """Whether the next plan must be interpretive, to reach the target share."""
        done = sum(count for (_, interpretive), count in self.kinds.items() if interpretive)
        return done < self.interpretive * (self.kinds.total() + 1)

    def list_kinds(self, interpretive: bool) -> list[str]:
        """List the kinds in ascending order of the number of their plans."""
        return sorted(KINDS, key=lambda kind: (self.kinds[kind, interpretive], self.kinds[kind, True]))


def plan_analyses(
    known: SourceArtifacts, database: str, count: int, seed: int, tally: Tally
) -> list[AnalysisPlan]:
    """Plan `count` questions about a database, or fewer if its tables allow no more distinct plans."""
    dice = random.Random(f"{seed} {database}")  # noqa: S311 (not used for security)
    subjects = list_subjects(known.read(database), known.read_foci(database))
    seeds = known.read_seeds(database) or write_questions(subjects)
    planner = _Planner(known, database, subjects, dice)
    plans: dict[str, AnalysisPlan] = {}
    for _ in range(count):
        interpretive = tally.is_interpretive
        # The sort is stable, so equally used questions stay in random order.
        order = sorted(dice.sample(seeds, len(seeds)), key=lambda text: planner.used[text])
        for kind in tally.list_kinds(interpretive):
            plan = planner.find(kind, interpretive, order[:TRIES], plans)
            if plan is not None:
                tally.kinds[kind, interpretive] += 1
                break
    return list(plans.values())


class _Planner:
    """Finds the plans of one database, and counts the use of tables, columns and seed questions."""

    def __init__(
        self, known: SourceArtifacts, database: str, subjects: Sequence[AnalysedRows], dice: random.Random
    ) -> None:
        self.columns, self.database = known.read(database), database
        self.subjects, self.dice = subjects, dice
        self.used: Counter[str] = Counter()
        self.garbled = {
            row.id: not all(map(is_word, split_name(row.column.name).split()))
            for row in self.columns.values()
        }

    def find(
        self, kind: str, interpretive: bool, seeds: Sequence[str], plans: dict[str, AnalysisPlan]
    ) -> AnalysisPlan | None:
        """Add a plan from the first usable seed question to `plans`; return it, or None if no seed fits."""
        for seed in seeds:
            mentions = find_mentions(seed, self.columns)
            for choice in self._list_choices(kind, interpretive, mentions):
                name = make_id(kind, choice.subject.source, choice.groups, *map(str, choice.chosen.figures))
                if name not in plans:
                    plans[name] = _make_plan(kind, choice, seed, self.database)
                    self.used.update([seed, choice.subject.table, *choice.columns])
                    return plans[name]
        return None

    def _list_choices(
        self, kind: str, interpretive: bool, mentions: frozenset[str]
    ) -> Iterator[AnalysisScope]:
        """Yield analyses of a kind that use columns or a table from `mentions`.

        Analyses are sorted by the score from `count_mentioned`, highest first, then by table, least used
        first.
        """
        chance = {column: self.dice.random() for column in self.columns}

        def rank(column: str) -> tuple[object, ...]:
            return (column not in mentions, self.garbled[column], self.used[column], chance[column])

        found: list[tuple[int, int, int, AnalysisScope]] = []
        for subject in self.subjects:
            choice = KINDS[kind](subject, interpretive, rank)
            if choice is None or not _needs_all(choice):
                continue
            score = count_mentioned(mentions, choice.columns, subject.table)
            if score:
                found.append((-score, self.used[subject.table], len(found), choice))
        yield from (choice for *_, choice in sorted(found, key=lambda scored: scored[:3]))


def _needs_all(choice: AnalysisScope) -> bool:
    """Return whether an analysis uses every table of its subject, or the subject has only one table.

    Otherwise, the analysis is a duplicate: it uses one table, and is also found for that table's own subject.
    """
    return {column.partition(".")[0] for column in choice.columns} >= {*choice.subject.tables} or len(
        choice.subject.tables
    ) == 1


def _make_plan(kind: str, choice: AnalysisScope, seed: str, database: str) -> AnalysisPlan:
    subject, category = choice.subject, choice.category
    group = category.column if category else ""
    focus = Focus(
        id=make_id(subject.source, kind, group, *choice.columns),
        table=subject.table,
        table_words=subject.words,
        measures=choice.measures,
        qualities=(),
        group=group,
        group_words=category.words if category else "",
        relation=category.relation if category else "{}",
        groups=choice.groups,
        source=subject.source,
        tables=subject.tables,
        origin=(Origin("file", f"{database}/seeds.json"),),
    )
    return AnalysisPlan(kind, focus, choice.groups, choice.chosen, seed)
