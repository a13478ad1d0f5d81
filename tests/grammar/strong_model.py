"""A scripted strong model: SQL of many shapes for planned requests, and wrong, hostile and malformed replies.

A reply depends only on a hash of the request, so the same request has the same reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.grammar.construct.sql_rules import has_order
from tests.grammar.scripted import Asked

WRONG = {
    "SELECT colour_of_socks FROM {table} WHERE {column} = '[{id}]'": "unknown_name",
    "SELECT {column} FROM no_such_table WHERE {column} = '[{id}]'": "unknown_name",
    "SELECT COUNT({column}) FROM {table} WHERE {column} = 'a value by heart'": "no_placeholder",
    "SELECT COUNT(*) FROM {table} WHERE {column} <> '[{id}]' AND {column} <> 'a value by heart'": "constant",
    "SELECT * FROM {table} WHERE {column} = '[{id}]'": "star",
    "SELECT {column} FROM {table} WHERE {column} = '[no.column]'": "wrong_placeholder",
}
HOSTILE = {
    "DROP TABLE {table}": "not_select",
    "SELECT 1; DELETE FROM {table}": "unreadable",
    "SELECT COUNT({column}) FROM {table} WHERE {column} = '[{id}]' AND RANDOM() > 0": "clock",
    "SELECT load_extension('/tmp/x.so'), {column} FROM {table} WHERE {column} <> '[{id}]'": "other_operator",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n, {table} "
    "WHERE {column} = '[{id}]'": "other_operator",
    "SELECT COUNT(*) FROM {table} AS a, {table} AS b, {table} AS c WHERE a.{column} = '[{id}]'": (
        "unconnected"
    ),
    "SELECT name FROM sqlite_master WHERE name = '[{id}]'": "unknown_name",
    "PRAGMA writable_schema = 1": "not_select",
    "SELECT {column} FROM {table} WHERE {column} < DATE('now') AND {column} <> '[{id}]'": "clock",
}
MALFORMED = {
    "": "unreadable",
    "I am sorry, but I cannot write this query.": "unreadable",
    "SELECT {column} FROM {table} WHERE ({column} = '[{id}]'": "unreadable",
    "SELECT " + "(" * 300 + "1" + ")" * 300: "unreadable",
    "SELECT 'x" + "x" * 5_000 + "'": "unreadable",
    '{{"sql": "SELECT {column} FROM {table}"}}': "unreadable",
}
SHARES = (("wrong", 0.10, WRONG), ("hostile", 0.08, HOSTILE), ("malformed", 0.07, MALFORMED))


def find_reply(asked: Asked) -> tuple[str, str]:
    """Return the reply to a request for SQL, and the expected drop reason; empty if the reply is good."""
    chance = int(make_id("share", asked.row), 16) / 2**64
    for _, share, replies in SHARES:
        if chance < share:
            draw = _Draw(asked.row)
            template = draw.choose("bad", list(replies))
            column = next(column for column in asked.fields["tables"][0]["columns"])
            names = {"table": quote(column.table), "column": quote(column.name), "id": column.id}
            return template.format(**names), replies[template]
        chance -= share
    return write_good(asked.fields, asked.row), ""


def write_good(fields: Mapping[str, Any], row: str) -> str:
    """Return a valid query for a planned request. fields: the prompt's fields. row: seed of choices."""
    return _Writer(fields, row).write()


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Draw:
    def __init__(self, *salt: str) -> None:
        self._salt = salt

    def choose(self, what: str, options: Sequence[Any]) -> Any:
        return min(options, key=lambda option: make_id(*self._salt, what, str(option)))

    def decide(self, what: str, chance: float = 0.5) -> bool:
        return int(make_id(*self._salt, what), 16) / 2**64 < chance


class _Writer:
    """Writes a valid query of a kind about a subject."""

    def __init__(self, fields: Mapping[str, Any], row: str) -> None:
        self._draw = _Draw("good", row)
        self._kind = fields["kind"]
        self._tables = [table["name"] for table in fields["tables"]]
        self._columns: list[Column] = [column for table in fields["tables"] for column in table["columns"]]
        about = fields["subject"].column
        self._about = next((column for column in self._columns if column.id == about), None)

    def write(self) -> str:
        asked = [column for column in self._columns if column.descriptive] or self._columns
        about = self._about or self._draw.choose("about", asked)
        others = [request for request in asked if request != about] or asked
        other = self._draw.choose("other", others)
        flip = self._kind != "ranking" and self._draw.decide("flip")
        wanted, given = (other, about) if flip else (about, other)
        if wanted.id == given.id and len(asked) == 1:
            given = next((column for column in self._columns if column != wanted), given)
        elif wanted.id == given.id:
            wanted = next(request for request in asked if request.id != given.id)
        return getattr(self, f"_write_{self._kind}")(wanted, given)

    def _name(self, column: Column, alias: str = "") -> str:
        return f"{alias or quote(column.table)}.{quote(column.name)}"

    def _from(self) -> str:
        """Return a FROM clause that joins the tables along the shown keys, starting with the first table."""
        joined, text = [self._tables[0]], quote(self._tables[0])
        keys = [column for column in self._columns if column.references]
        way = self._draw.choose("way", ["JOIN", "JOIN", "LEFT JOIN"])
        for table in self._tables[1:]:
            for key in keys:
                target = key.references.partition(".")[0]
                ends = {key.table, target}
                if table in ends and (ends - {table}) & set(joined):
                    side = next(column for column in self._columns if column.id == key.references)
                    text += f" {way} {quote(table)} ON {self._name(key)} = {self._name(side)}"
                    joined.append(table)
                    break
        return text

    def _condition(self, given: Column, what: str = "condition") -> str:
        name, mark = self._name(given), f"'[{given.id}]'"
        if given.type in ("integer", "real", "date") and has_order(given):
            return self._draw.choose(
                what, [f"{name} = {mark}", f"{name} >= {mark}", f"{name} < {mark}", f"{name} <> {mark}"]
            )
        return self._draw.choose(
            what,
            [
                f"{name} = {mark}",
                f"{name} IN ({mark}, '[{given.id}#2]')",
                f"{name} LIKE {mark} || '%'",
                f"{name} <> {mark}",
                f"({name} = {mark} OR {name} = '[{given.id}#2]')",
            ],
        )

    def _further(self, used: Sequence[Column]) -> str:
        spare = [column for column in self._columns if column.descriptive and column not in used]
        if not spare or not self._draw.decide("further", 0.4):
            return ""
        return f" AND {self._name(self._draw.choose('spare', spare))} IS NOT NULL"

    def _where(self, wanted: Column, given: Column) -> str:
        return f" WHERE {self._condition(given)}{self._further([wanted, given])}"

    def _number(self) -> tuple[str, str]:
        """Return a random computed expression as SQL, and as SQL over an alias `b`."""
        numbers = [
            column for column in self._columns if column.type in ("integer", "real") and column.descriptive
        ]
        if not numbers or self._draw.decide("rows"):
            return "COUNT(*)", "COUNT(*)"
        column = self._draw.choose("number", numbers)
        function = self._draw.choose("function", ["AVG", "SUM", "MAX", "MIN"])
        return f"{function}({self._name(column)})", f"{function}(b.{quote(column.name)})"

    def _write_lookup(self, wanted: Column, given: Column) -> str:
        distinct = "DISTINCT " if self._draw.decide("distinct") else ""
        return f"SELECT {distinct}{self._name(wanted)} FROM {self._from()}{self._where(wanted, given)}"

    def _write_list(self, wanted: Column, given: Column) -> str:
        name = self._name(wanted)
        order = self._draw.choose("order", ["", " DESC"])
        where = self._where(wanted, given)
        return f"SELECT DISTINCT {name} FROM {self._from()}{where} ORDER BY {name}{order}"

    def _write_count(self, wanted: Column, given: Column) -> str:
        counted = self._draw.choose("counted", ["COUNT(*)", f"COUNT(DISTINCT {self._name(wanted)})"])
        if counted == "COUNT(*)":
            return (
                f"SELECT COUNT(*) FROM {self._from()}{self._where(wanted, given)} "
                f"AND {self._name(wanted)} IS NOT NULL"
            )
        return f"SELECT {counted} FROM {self._from()}{self._where(wanted, given)}"

    def _write_group(self, wanted: Column, given: Column) -> str:
        number, _ = self._number()
        name = self._name(wanted)
        order = self._draw.choose("order", ["", f" ORDER BY {number} DESC, {name}", f" ORDER BY {name}"])
        where = f"{self._where(wanted, given)} AND {name} IS NOT NULL"
        return f"SELECT {name}, {number} FROM {self._from()}{where} GROUP BY {name}{order}"

    def _write_having(self, wanted: Column, given: Column) -> str:
        name = self._name(wanted)
        least = self._draw.choose("least", [">= 2", "> 2", "< 10", "= 1"])
        where = f"{self._where(wanted, given)} AND {name} IS NOT NULL"
        return f"SELECT {name} FROM {self._from()}{where} GROUP BY {name} HAVING COUNT(*) {least}"

    def _write_nested(self, wanted: Column, given: Column) -> str:
        table, name = quote(given.table), self._name(wanted)
        key = next(
            (column for column in self._columns if column.table == given.table and column.primary_key), given
        )
        inner = f"SELECT {quote(key.name)} FROM {table} WHERE {quote(given.name)} = '[{given.id}]'"
        held = self._draw.choose("held", ["IN", "NOT IN"])
        ways = [
            f"SELECT DISTINCT {name} FROM {self._from()} WHERE {name} <> '' AND "
            f"{self._name(key)} {held} ({inner})",
            f"SELECT COUNT(DISTINCT {name}) FROM {self._from()} WHERE {self._name(key)} {held} ({inner})",
        ]
        numbers = [column for column in self._columns if column.table == given.table and has_order(column)]
        if not wanted.descriptive:
            del ways[0]  # keys are counted, not listed
        if numbers:
            number = quote(self._draw.choose("mean", numbers).name)
            ways.append(
                f"SELECT COUNT(DISTINCT {name}) FROM {self._from()} WHERE {table}.{number} > "
                f"(SELECT AVG({number}) FROM {table} WHERE {quote(given.name)} <> '[{given.id}]')"
            )
        return str(self._draw.choose("nested", ways))

    def _write_set_operation(self, wanted: Column, given: Column) -> str:
        operation = self._draw.choose("operation", ["UNION", "INTERSECT", "EXCEPT"])
        start = f"SELECT {self._name(wanted)} FROM {self._from()} WHERE {self._name(wanted)} <> '' AND "
        one = self._condition(given)
        other = f"{self._name(given)} = '[{given.id}#3]'"
        return f"{start}{one} {operation} {start}{other}"

    def _write_ranking(self, wanted: Column, given: Column) -> str:
        ranks = [column for column in self._columns if has_order(column) and column != wanted] or [wanted]
        rank = self._name(self._draw.choose("rank", ranks))
        count = self._draw.choose("rows", [1, 1, 3, 5])
        order = self._draw.choose("order", ["DESC", "ASC"])
        where = f"{self._where(wanted, given)} AND {rank} IS NOT NULL"
        if self._draw.decide("grouped", 0.3):
            name = self._name(wanted)
            return (
                f"SELECT {name} FROM {self._from()}{where} GROUP BY {name} ORDER BY COUNT(*) {order}, {name} "
                f"LIMIT {count}"
            )
        return (
            f"SELECT {self._name(wanted)} FROM {self._from()}{where} ORDER BY {rank} {order}, "
            f"{self._name(wanted)} LIMIT {count}"
        )

    def _write_comparison(self, wanted: Column, given: Column) -> str:
        bounded = [column for column in self._columns if has_order(column)]
        bound = self._about if self._about in bounded else self._draw.choose("bound", bounded)
        if wanted == bound:
            wanted = given
        name, mark = self._name(bound), bound.id
        condition = self._draw.choose(
            "bounds",
            [
                f"{name} > '[{mark}]'",
                f"{name} <= '[{mark}]'",
                f"{name} BETWEEN '[{mark}]' AND '[{mark}#2]'",
                f"NOT {name} < '[{mark}]'",
            ],
        )
        computed = self._draw.choose(
            "computed",
            [
                f"COUNT(DISTINCT {self._name(wanted)})",
                f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)",
                f"AVG({name})",
            ],
        )
        plain = f" WHERE {self._name(wanted)} IS NOT NULL"
        where = plain if "CASE" in computed else f"{plain} AND {condition}"
        return f"SELECT {computed} FROM {self._from()}{where}"

    def _write_date(self, wanted: Column, given: Column) -> str:
        dates = [column for column in self._columns if column.type == "date" or "year" in column.name.lower()]
        day = self._about if self._about in dates else self._draw.choose("day", dates)
        if wanted == day:
            wanted = given
        name, mark = self._name(day), f"'[{day.id}]'"
        condition = self._draw.choose(
            "dated",
            [
                f"{name} = {mark}",
                f"{name} > {mark}",
                f"STRFTIME('%Y', {name}) = STRFTIME('%Y', {mark})",
                f"SUBSTR({name}, 1, 7) = SUBSTR({mark}, 1, 7)",
            ],
        )
        where = f" WHERE {condition}{self._further([wanted, day])}"
        return f"SELECT COUNT(DISTINCT {self._name(wanted)}) FROM {self._from()}{where}"
