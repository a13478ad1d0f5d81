"""Stage: fill the placeholders of SQL templates with values from the database (section 4.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.artifacts.splitting import splits
from tasks.artifacts.spool import Spool
from tasks.databases.columns import Column
from tasks.databases.content import ensure_unchanged
from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.literals import split_literals
from tasks.databases.profile.look_alikes import find_look_alikes
from tasks.databases.profile.readings import list_readings
from tasks.databases.rendering import name_kinds, write_plain
from tasks.databases.values import UNDECODABLE, Value
from tasks.errors import BadInput, SqlError, SqlTimeout, StageFailed
from tasks.grammar.construct.combinations import IDLE, OVER, Combination, DrawnCombinations, read_combinations
from tasks.grammar.construct.free_combinations import enumerate_combinations
from tasks.grammar.construct.free_reading import name_source, read_stored
from tasks.grammar.construct.queries import FilledSql, FreeQuery, Measure, Query, write_rows
from tasks.grammar.construct.sql_templates import SqlTemplate, is_by_person
from tasks.grammar.construct.verbalisation import find_scope
from tasks.settings import Settings

ROWS_JSON = json.JSONEncoder(ensure_ascii=False)
TEMPLATES = 8
"""The number of SQL templates in a shard."""
Rows = Sequence[tuple[Value, ...]]


class FillIn(Settings):
    """The settings in params.yaml under `grammar.fill_in`."""

    cap: int | None = Field(default=None, ge=1)
    """The maximum number of groups per SQL template; null means no maximum."""
    single_answer: bool = True
    """Whether to keep only combinations with one distinct answer row. The measure `list` is exempt."""
    look_alikes: Literal["leave_out", "keep"] = "leave_out"
    """Whether to use values that differ from another value only in case, spaces, punctuation or Unicode
    form: `keep` uses these values; `leave_out` does not."""
    every_value_matters: bool = True
    """Whether to drop combinations whose answer would be the same without one of the values."""
    rows: Mapping[Measure, tuple[int, int | None]] = Field(default_factory=dict)
    """The minimum and maximum number of rows that each measure is computed from; null means no limit."""
    tries: int = Field(default=1_000, ge=1)
    """The maximum number of combinations to run for a template that no single query can fill."""
    free_rows: int = Field(default=20, ge=1)
    """The maximum number of answer rows of free-form SQL, so that answers are short enough to read."""
    seed: int = 0
    """The seed for sampling combinations of values."""
    limits: QueryLimits = QueryLimits()
    """The limits of each template's fill-in query."""


@dataclass(frozen=True)
class Filling:
    """The value that replaces a placeholder."""

    placeholder: str
    value: str
    kind: str = ""
    """The kind of the value, which sets its format in a sentence (tasks/databases/rendering.py)."""


@dataclass(frozen=True)
class Group:
    """A semantic group: one filled SQL query and its answer. The id is the hash of the filled SQL."""

    id: str
    sql_template: str
    sql: str
    fillings: tuple[Filling, ...]
    answer: str
    """The answer as readable text: cells joined by commas, rows by semicolons."""
    answer_rows: str
    """The result rows as a JSON list of lists. Rows are distinct unless user-written SQL repeats rows."""
    origin: tuple[Origin, ...]


@splits("sql_templates", TEMPLATES)
def fill_in(
    sql_templates: list[SqlTemplate], schema: list[Column], database: DatabaseEntry, params: FillIn
) -> Drafts[Group]:
    """Fill every SQL template with every combination of values that has an answer (GRAMMAR, section 4.2).

    One query per template returns all combinations of the placeholders' distinct values that have an answer.
    One dropped row per template and reason counts the
    combinations that are left out. User-written templates and free-form SQL are exempt from the rules for
    plain SQL (`relax`). With free-form SQL, at most `params.tries` combinations are enumerated.

    If the database is part of a larger database (`world`), groups with a different answer in the larger
    database are left out, unless the question names the scope. Raises StageFailed if a query exceeds its time
    limit, because the query's duration depends on the machine and its load.
    """
    groups: Spool[Group] = Spool()
    dropped: list[Dropped] = []
    with ensure_unchanged(database), SafeDatabase(database, params.limits) as safe:
        look_alikes = LookAlikes(schema, safe if params.look_alikes == "leave_out" else None)
        for template in sql_templates:
            query = read_stored(template.sql, schema)
            own = is_by_person(template) and not database.strict_templates
            rules = relax(params) if own else relax_free(params) if isinstance(query, FreeQuery) else params
            dropped += fill_template(template, query, schema, safe, rules, groups, look_alikes)
    world = database.find_world()
    if world is None:
        return Drafts(groups, dropped)
    held = [
        template for template in sql_templates if not find_scope(read_stored(template.sql, schema), schema)[0]
    ]
    return drop_other_answers(groups, held, world, params.limits, dropped)


def relax(params: FillIn) -> FillIn:
    """Return a copy of the parameters without the rules that apply only to plain SQL.

    These rules are `single_answer`, `every_value_matters` and `rows`.
    """
    return params.model_copy(update={"single_answer": False, "every_value_matters": False, "rows": {}})


def relax_free(params: FillIn) -> FillIn:
    """Return the parameters for a model's free-form SQL: answers have at most `free_rows` rows."""
    return relax(params).model_copy(update={"rows": {"": (1, params.free_rows)}})


def drop_other_answers(
    groups: Spool[Group],
    sql_templates: Sequence[SqlTemplate],
    world: DatabaseEntry,
    limits: QueryLimits,
    dropped: list[Dropped],
) -> Drafts[Group]:
    """Drop the groups of `sql_templates` that have a different answer in `world`, the larger database.

    Groups of other SQL templates are kept. `dropped` contains earlier dropped rows.
    """
    held = {template.id for template in sql_templates}
    asked_there = (group for group in groups if group.sql_template in held)
    other = {group for group, _ in find_other_answers(asked_there, world, limits)}
    kept: Spool[Group] = Spool()
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for group in groups:
        seen[group.sql_template] += 1
        if group.id in other:
            counts[group.sql_template] += 1
        else:
            kept.add(group)
    drops = [
        _drop(template, "other_in_world", f"{counts[template.id]} of {seen[template.id]} combinations")
        for template in sql_templates
        if counts[template.id]
    ]
    return Drafts(kept, [*dropped, *drops])


def fill_template(
    template: SqlTemplate,
    query: Query,
    schema: Sequence[Column],
    database: SafeDatabase,
    params: FillIn,
    groups: Spool[Group],
    look_alikes: LookAlikes | None = None,
) -> list[Dropped]:
    """Append one SQL template's groups to `groups`; return one dropped row per reason.

    `look_alikes` finds the values that no question may contain; None allows all values. Memory is limited by
    the cap, the spool and `read_combinations`.
    """
    left_out: Counter[str] = Counter()
    before = len(groups)
    drawn = DrawnCombinations((params.seed, template.id), params.cap or 0)
    limits = params.rows.get(query.measure, (1, None))
    if isinstance(query, FreeQuery):
        salt = (params.seed, template.id)
        every = enumerate_combinations(
            query, schema, database, seed=salt, tries=params.tries, most=params.cap
        )
    else:
        every = read_combinations(
            query,
            schema,
            database,
            limits,
            None if params.cap is None else drawn,
            idle=params.every_value_matters,
        )
    writer = GroupWriter(template, query, schema)
    try:
        given = map(name_source, query.placeholders)
        alike = [look_alikes.find(name) if look_alikes else frozenset() for name in given]
        usable = _filter_combinations(every, query, params, alike, left_out)
        # If the query fails after some rows, the dropped template must have no groups.
        with groups.all_or_none():
            if params.cap is None:
                for combination in usable:
                    groups.add(writer.write(combination))
            else:
                for combination in usable:
                    left_out[OVER] += not drawn.add(combination, ordered=bool(query.measure))
                for combination in drawn.list_all():
                    groups.add(writer.write(combination))
    except SqlTimeout as error:
        # The duration of a query depends on the machine. If the stage dropped slow templates, its output
        # would depend on the machine too.
        raise StageFailed(
            f"the query of SQL template {template.id} did not finish within "
            f"{database.limits.timeout_s:g} s of execution time ({template.sql}); raise "
            "grammar.fill_in.limits.timeout_s, or add an index to the database"
        ) from error
    except SqlError as error:
        return [_drop(template, "sql_failed", f"{type(error).__name__}: {error}")]
    kept = len(groups) - before
    if not kept and not left_out:
        return [_drop(template, "no_rows", "the joined tables have no row with values in all these columns")]
    seen = kept + left_out.total()
    # For a measure, only the sampled combinations are checked for values that do not change the answer. For
    # other templates, all combinations are checked.
    sought = kept + left_out[IDLE] + (0 if query.measure else left_out[OVER])
    return [
        _drop(template, reason, f"{n} of {sought if reason == IDLE else seen} combinations")
        for reason, n in sorted(left_out.items())
        if n
    ]


class GroupWriter:
    """Converts the combinations of one template to semantic groups."""

    def __init__(self, template: SqlTemplate, query: Query, schema: Sequence[Column]) -> None:
        self._template = template
        self._placeholders = query.placeholders
        self._sql = FilledSql(query, list_readings(schema))
        kinds = name_kinds(schema)
        self._kinds = [kinds.get(name_source(name), "") for name in query.placeholders]
        self._origin = (Origin("row", f"sql_templates#{template.id}"),)

    def write(self, combination: Combination) -> Group:
        """Return the group of a combination: the filled SQL, the answer and the id.

        No value of the combination may be NULL.
        """
        sql = self._sql.write([value for value in combination.values if value is not None])
        fillings = zip(self._placeholders, combination.values, self._kinds, strict=True)
        return Group(
            id=make_id("group", sql),
            sql_template=self._template.id,
            sql=sql,
            fillings=tuple(Filling(name, write_plain(value), kind) for name, value, kind in fillings),
            answer="; ".join(", ".join(map(write_plain, row)) for row in combination.rows),
            answer_rows=ROWS_JSON.encode(combination.rows),
            origin=self._origin,
        )


def _filter_combinations(
    combinations: Iterable[Combination],
    query: Query,
    params: FillIn,
    alike: Sequence[frozenset[str]],
    left_out: Counter[str],
) -> Iterator[Combination]:
    """Yield the combinations that satisfy the rules; count the rejected combinations by reason in `left_out`.

    `alike` contains the look-alikes of each placeholder's column.
    """
    single = params.single_answer and query.measure != "list"
    least, most = params.rows.get(query.measure, (1, None))
    for combination in combinations:
        if combination.problem:
            left_out[combination.problem] += 1
        elif combination.fitting < least:
            left_out["few_rows"] += 1
        elif most is not None and combination.fitting > most:
            left_out["many_rows"] += 1
        elif not all(fits_text(value) for value in combination.values):
            left_out["unfit_value"] += 1
        elif any(value in others for value, others in zip(combination.values, alike, strict=True)):
            left_out["look_alike"] += 1
        elif any(isinstance(cell, str) and UNDECODABLE in cell for row in combination.rows for cell in row):
            left_out["undecodable"] += 1
        elif any(cell is None or cell == "" for row in combination.rows for cell in row):
            left_out["empty_answer"] += 1
        elif single and len(combination.rows) > 1:
            left_out["several_answers"] += 1
        else:
            yield combination


def fits_text(value: Value) -> bool:
    """Return whether a sentence can contain a value.

    The value must be printable and not blank, and must not contain square brackets or undecodable bytes.
    """
    text = "" if value is None else str(value)
    return bool(text.strip()) and text.isprintable() and not set(text) & {"[", "]", UNDECODABLE}


class LookAlikes:
    """Finds the values of text columns that a reader cannot distinguish from other values.

    If `database` is None, no look-alikes are found. Each column is read once. Memory grows with the number of
    distinct values in the column.
    """

    def __init__(self, schema: Sequence[Column], database: SafeDatabase | None) -> None:
        self._schema, self._database = schema, database
        self._texts = {column.id for column in schema if column.type == "text"}
        self._found: dict[str, frozenset[str]] = {}

    def find(self, column: str) -> frozenset[str]:
        """Return the look-alikes in a column, given its id. Raises SqlError."""
        if self._database is None or column not in self._texts:
            return frozenset()
        if column not in self._found:
            sql = write_rows(Query((column,), (), ()), (column,))
            stream = self._database.stream(translate(sql, self._database.dialect, self._schema))
            self._found[column] = find_look_alikes(value for batch in stream for (value,) in batch)
        return self._found[column]


def _drop(template: SqlTemplate, reason: str, detail: str) -> Dropped:
    origin = (Origin("row", f"sql_templates#{template.id}"),)
    return Dropped(make_id("fill_in", template.id, reason), reason, f"{detail}: {template.sql}", origin)


def find_other_answers(
    groups: Iterable[Group], world: DatabaseEntry, limits: QueryLimits
) -> Iterator[tuple[str, Rows]]:
    """Yield (group id, rows in `world`) for each group whose SQL returns different rows in `world`.

    `world` is a larger SQLite database with the same tables and columns. `limits` caps the query of each
    group. The query reads at most one row more than the answer has. The comparison ignores the order of rows.
    Numbers are rounded to ten digits, because `world` may sum the values of a mean in a different order.

    Raises BadInput if the SQL does not run in `world`. Raises StageFailed if the SQL exceeds its time limit,
    since the duration depends on the machine.
    """
    # The queries run one after the other, so one process is enough.
    with SafeDatabase(world, limits, children=1) as safe:
        for group in groups:
            due = [tuple(row) for row in json.loads(group.answer_rows)]
            statement, values = split_literals(group.sql)
            try:
                found = read_some(safe, statement, values, len(due) + 1)
            except SqlTimeout as error:
                raise StageFailed(
                    f"the query of group {group.id} did not finish within {limits.timeout_s:g} s in "
                    f"{world.file} ({group.sql}); raise the limit, or add an index to that database"
                ) from error
            except SqlError as error:
                raise BadInput(
                    world.file or world.label,
                    f"cannot answer group {group.id}: {error} ({group.sql})",
                    hint="a `world` must have all tables and columns of its database",
                ) from error
            if make_comparable(found) != make_comparable(due):
                yield group.id, found


def read_some(safe: SafeDatabase, statement: str, values: tuple[Value, ...], count: int) -> Rows:
    """Return the first rows of a query's result, at most `count`. Raises SqlError."""
    for batch in safe.stream(statement, count, values):
        return batch
    return []


def make_comparable(rows: Iterable[Sequence[Value]]) -> list[str]:
    """Return an answer's rows as sorted JSON strings, with floats rounded to ten significant digits.

    Databases may sum the values of a mean in different orders, and engines return whole numbers as different
    types.
    """
    return sorted(json.dumps([_round(cell) for cell in row]) for row in rows)


def _round(cell: Value) -> Value:
    if not isinstance(cell, float):
        return cell
    number = float(f"{cell:.10g}")
    return int(number) if number.is_integer() else number
