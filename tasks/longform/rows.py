"""Rows of building a question set, from a source's columns to items."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin
from tasks.databases.columns import Column

CONCLUSIVE, INTERPRETIVE = "conclusive", "interpretive"
KINDS = (CONCLUSIVE, INTERPRETIVE)


@dataclass(frozen=True)
class SourceColumn:
    """Stage source_columns: a column of a database that questions are made from, with some of its values."""

    id: str
    column: Column
    vocabulary: bool
    """Whether it has so few distinct values that `values` may stand for all."""
    values: tuple[str, ...]
    """Distinct values as JSON, the commonest first for a vocabulary, else spread over their order."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Measure:
    """A numeric column with the words for it."""

    column: str
    """Its id."""
    name: str
    """`box office`"""
    unit: str
    """`US dollars`; empty for no unit."""
    more: str
    """What rows do that have more of it: `earn more`, `have a higher box office`."""
    negative: str
    """How an amount below 0 is said: `early`; empty keeps the minus."""
    digits: int
    """Decimal places to which figures of it are rounded."""


@dataclass(frozen=True)
class Quality:
    """An abstract word of an open question, and the measures that may tell of it."""

    words: str
    """`have been more successful`"""
    measures: tuple[str, ...]
    """Ids of measures."""
    rising: tuple[bool, ...]
    """For each measure, whether more of it speaks for the quality."""


@dataclass(frozen=True)
class Focus:
    """Stage foci: what questions can be about: the measures of a table, compared by a group."""

    id: str
    table: str
    table_words: str
    """What its rows are called: `films`."""
    measures: tuple[Measure, ...]
    """Amounts in `table`."""
    qualities: tuple[Quality, ...]
    """Of those, the ones that the measures can tell."""
    group: str
    """The id of a text column, of the same table or of one that a foreign key leads to."""
    group_words: str
    """What it is of a row of `table`: `origin airport`."""
    relation: str
    """How a row is said to belong to a group, `{}` for the value: `directed by {}`."""
    groups: tuple[str, ...]
    """Its commonest values, the commonest first."""
    source: str
    """The FROM clause that joins table and group, without the word."""
    tables: tuple[str, ...]
    """The tables of that clause."""
    origin: tuple[Origin, ...]

    def find(self, column: str) -> Measure:
        """Return the measure of a column."""
        return next(measure for measure in self.measures if measure.column == column)

    def say_rows(self, group: str) -> str:
        """Name the rows of a group: `films directed by Woody Allen`."""
        return f"{self.table_words} {self.relation.format(group)}"

    def say_those(self, group: str) -> str:
        """Name the rows of a group where it is said what they are: `those directed by Woody Allen`."""
        return f"those {self.relation.format(group)}"


@dataclass(frozen=True)
class WholeRow:
    """Stage source_rows: a row of a source, with the rows that its focus joins it to.

    Also, with an empty `focus`, a row that some other refers to.
    """

    id: str
    focus: str
    """The focus's id."""
    group: str
    """The value of the focus's group."""
    tables: str
    """Table -> column -> value, as JSON."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class FigureDesign:
    """One figure that a question needs: a statistic of a measure for each of some groups."""

    kind: str
    """`mean`, `median`, `highest`, or `share`: the part of one group's rows above the other group's mean."""
    measure: str
    """The id of its column."""
    over: str = ""
    """The id of a measure: only rows with more than `threshold` of it are taken. Empty for all rows."""
    threshold: float = 0


@dataclass(frozen=True)
class ControlledQuestion:
    """Stage control: a question that was steered to given columns and entities."""

    id: str
    database: str
    seed: str
    """A question of the database's own that the model was shown; empty where it has none."""
    design: str
    """What it asks, a name in `designs.DESIGNS`."""
    focus: Focus
    """The columns that the question is about."""
    groups: tuple[str, ...]
    """The values of the focus's group that the question names."""
    decoy: str
    """Another value, whose rows stand in the database too; empty if there is none."""
    quality: Quality | None
    """The abstract word that the question turns on; None for a question with a definite answer."""
    figures: tuple[FigureDesign, ...]
    """What its answer stands on."""
    text: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class CondensedQuestion:
    """Stage condense: a controlled question without superfluous detail. It has the same id."""

    id: str
    text: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class ConfirmedQuestion:
    """Stage confirm: a condensed question that a model, or a person, has passed. It has the same id."""

    id: str
    text: str
    confirmed_by: str
    """`model`, or the people who decided, joined by commas."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Conjecture:
    """Stage conjecture: what the answer may be. It has its question's id."""

    id: str
    text: str
    expected: tuple[str, ...]
    """For each figure of the question, the group that is expected to be higher; of a share `yes` or `no`,
    whether it is more than half."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SyntheticDatabase:
    """Stage construct: a database made for one question. It has its question's id."""

    id: str
    script: str
    """CREATE and INSERT statements, in the order in which they run; it is no input of a model's any more."""
    tables: int
    columns: int
    rows: int
    rounds: int
    """How often the model was asked for rows."""
    borne_out: tuple[bool, ...]
    """For each figure of the question, whether the rows bear the conjecture out."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Claim:
    """One claim of a reference answer, with the query that bears it out."""

    text: str
    sql: str
    columns: tuple[str, ...]
    rows: str
    """The query's rows as JSON: a list of lists."""


@dataclass(frozen=True)
class Conclusion:
    """Stage conclude: the reference answer from the rows really there. It has its question's id."""

    id: str
    text: str
    claims: tuple[Claim, ...]
    by: str
    """`model`, or `plain` where the model's sentences did not pass and the answer states the rows plainly."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class QuestionKind:
    """Stage classify: whether a question is conclusive or interpretive. It has its question's id."""

    id: str
    kind: str
    by: str
    """`rule` where the answer begins with yes, no or unknown; else `model`."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class LongformItem:
    """Stage items: a finished question with its database and its reference answer."""

    id: str
    database: str
    question: str
    kind: str
    """`conclusive` or `interpretive`"""
    reference: str
    claims: tuple[Claim, ...]
    script: str
    """The synthetic database as CREATE and INSERT statements of SQLite."""
    confirmed_by: str
    origin: tuple[Origin, ...]
