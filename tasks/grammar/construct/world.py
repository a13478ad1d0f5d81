"""Hold groups against the world: the whole that their database is a part of, as January is of a year."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.literals import split_literals
from tasks.errors import BadInput, SqlError, SqlTimeout, StageFailed
from tasks.grammar.construct.comparable_answers import Rows, make_comparable, read_some
from tasks.grammar.rows import Group


def find_other_answers(
    groups: Iterable[Group], world: DatabaseEntry, limits: QueryLimits
) -> Iterator[tuple[str, Rows]]:
    """Yield each group whose SQL gives other rows in the world than its `answer_rows`: its id, and the rows.

    world: a SQLite database with the tables and columns of the groups' own. limits: of each group's query.
    Of the rows found there are at most one more than the answer has. Rows are compared whatever their order,
    numbers to ten digits, since a mean may be summed up in another order there.

    Raises BadInput if the SQL does not run in the world, StageFailed if it exceeds its time limit, since that
    depends on the machine.
    """
    with SafeDatabase(world, limits, children=1) as safe:
        for group in groups:
            due = [tuple(row) for row in json.loads(group.answer_rows)]
            statement, values = split_literals(group.sql)
            try:
                found = read_some(safe, statement, values, len(due) + 1)
            except SqlTimeout as error:
                raise StageFailed(
                    f"the query of group {group.id} did not end within {limits.timeout_s:g} s in "
                    f"{world.file} ({group.sql}); raise the limit, or give that database an index"
                ) from error
            except SqlError as error:
                raise BadInput(
                    world.file or world.label,
                    f"cannot answer group {group.id}: {error} ({group.sql})",
                    hint="a world has the tables and columns of the database that is a part of it",
                ) from error
            if make_comparable(found) != make_comparable(due):
                yield group.id, found
