"""Tests that verdicts of `score execution` equal the engines', for types with several texts per value.

The expected verdict of a pair comes from the server, over a plain connection of its driver: two results are
equal if `(gold EXCEPT ALL prediction) UNION ALL (prediction EXCEPT ALL gold)` has no row.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import URL

from tasks.scoring.execution import Execution
from tasks.scoring.running import score_file
from tasks.scoring.sql_cells import make_comparable
from tests.databases.servers import open_place

FOLDER = Path(__file__).parent / "verdicts"
DIFFERENCES = (
    "SELECT EXISTS ((SELECT * FROM ({gold}) a EXCEPT {all} SELECT * FROM ({prediction}) b)"
    " UNION ALL (SELECT * FROM ({prediction}) c EXCEPT {all} SELECT * FROM ({gold}) d))"
)
LENIENT = {"SELECT 0.1::float8", "SELECT 1.33333333333333333333"}
"""Predictions that only the engine calls different: we compare decimals and short floats as doubles."""
FEWEST = 60


@dataclass
class Server:
    """A database with the tables of `verdicts`: its URL for the metric, and a plain connection to it."""

    kind: str
    url: URL
    ask: Callable[[str], Any]

    def are_equal(self, gold: str, prediction: str, *, as_bags: bool) -> bool:
        """Return the engine's verdict on two queries."""
        sql = DIFFERENCES.format(gold=gold, prediction=prediction, all="ALL" if as_bags else "")
        return not self.ask(sql)[0][0]


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with open_place(request.param) as place:
        tables = (FOLDER / f"{place.kind}.sql").read_text(encoding="utf-8")
        place.run(*[part for part in tables.split(";\n") if part.strip()])
        url = place.owner.url
        with closing(connect(place.kind, url)) as connection:

            def ask(sql: str) -> Any:
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                    return cursor.fetchall()

            yield Server(place.kind, url, ask)


def connect(kind: str, url: URL) -> Any:
    where: dict[str, Any] = {
        "host": url.host,
        "port": url.port or (5432 if kind == "postgresql" else 3306),
        "user": url.username,
    }
    if kind == "postgresql":
        import psycopg

        options = "-c TimeZone=UTC"
        return psycopg.connect(dbname=url.database, autocommit=True, options=options, **where)
    import pymysql

    zone = "SET time_zone = '+00:00'"
    return pymysql.connect(database=url.database, autocommit=True, init_command=zone, **where)


def read_pairs(kind: str) -> list[tuple[str, str]]:
    with (FOLDER / f"{kind}.tsv").open(encoding="utf-8") as stream:
        return [
            (gold, prediction) for gold, prediction in list(csv.reader(stream, "excel-tab", quoting=3))[1:]
        ]


def test_every_verdict_is_the_engines(server: Server, tmp_path: Path) -> None:
    pairs = read_pairs(server.kind)
    file, out = tmp_path / "items.jsonl", tmp_path / "out.jsonl"
    records = [
        {"id": number, "db_id": server.url.database, "gold": gold, "prediction": prediction}
        for number, (gold, prediction) in enumerate(pairs)
    ]
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    url = server.url.render_as_string(hide_password=False)
    score_file(Execution(url=url), str(file), rule="all", items=out)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    given, expected = [], []
    for (gold, prediction), line in zip(pairs, lines, strict=True):
        given.append((gold, prediction, *[line[rule]["outcome"] for rule in Execution.rules]))
        as_sets = prediction in LENIENT or server.are_equal(gold, prediction, as_bags=False)
        as_bags = prediction in LENIENT or server.are_equal(gold, prediction, as_bags=True)
        verdicts = [as_sets, as_sets, as_bags]
        expected.append((gold, prediction, *["correct" if equal else "wrong" for equal in verdicts]))
    assert given == expected


def test_there_are_pairs_enough_and_verdicts_of_both_kinds(server: Server) -> None:
    assert len(read_pairs("postgresql")) + len(read_pairs("mariadb")) >= FEWEST
    verdicts = [server.are_equal(*pair, as_bags=True) for pair in read_pairs(server.kind)]
    assert min(verdicts.count(True), verdicts.count(False)) >= 8


Intervals = st.builds(
    "{} mons {} days {} seconds".format,
    st.integers(-3, 3),
    st.sampled_from([-31, -30, -1, 0, 1, 29, 30, 60]),
    st.sampled_from([-86_400, -86_399.5, 0, 0.5, 43_200, 86_400, 2_592_000]),
)
Moments = st.builds(
    "{}{}".format,
    st.sampled_from(["2001-02-03", "0044-03-15", "2004-02-28"]),
    st.sampled_from(["", " 00:00", " 00:00:00.5", " 12:30", " 00:00 BC", " BC"]),
)
Numbers = st.sampled_from(["1", "1.0", "1.00", "1e0", "2", "0.1", "-0", "0", "10", "1E1"])
Documents = st.recursive(
    st.one_of(Numbers, st.sampled_from(["true", "null", '"1"', '"a"', '"true"'])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda parts: f"[{','.join(parts)}]"),
        st.lists(st.tuples(st.sampled_from("ab"), inner), max_size=2).map(
            lambda parts: "{" + ",".join(f'"{key}":{value}' for key, value in parts) + "}"
        ),
    ),
    max_leaves=4,
)
Ranges = st.builds(
    "[{},{})".format, st.sampled_from(["1", "1.0", "", "0.10"]), st.sampled_from(["2", "2.00", ""])
)
KINDS = {
    "interval": (Intervals, ("interval", "interval")),
    "date": (Moments, ("date", "timestamp")),
    "timestamp": (Moments, ("timestamp", "timestamptz")),
    "jsonb": (Documents, ("jsonb", "jsonb")),
    "numrange": (Ranges, ("numrange", "numrange")),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cells_are_equal_where_postgresql_says_so(server: Server, kind: str, data: st.DataObject) -> None:
    if server.kind != "postgresql":
        pytest.skip("types of PostgreSQL")
    texts, types = KINDS[kind]
    first, second = data.draw(texts), data.draw(texts)
    casts = [f"'{text}'::{name}" for text, name in zip((first, second), types, strict=True)]
    [(equal, *cells)] = server.ask(f"SELECT {casts[0]} = {casts[1]}, {casts[0]}::text, {casts[1]}::text")
    if kind == "numrange":  # the driver writes a space after the comma
        cells = [cell.replace(",", ", ") for cell in cells]
    gold, predicted = make_comparable(([(cells[0],)], [types[0]]), ([(cells[1],)], [types[1]]))
    assert (set(gold) == set(predicted)) == equal
    assert make_comparable(([(None,)], [types[0]]), ([(None,)], [types[1]])) == ([(None,)], [(None,)])


def test_a_date_equals_its_text_and_bytes_never_do() -> None:
    day = [("2001-02-03",)]
    assert make_comparable((day, ["date"]), (day, ["text"])) == (day, day)
    gold, predicted = make_comparable(([("61",)], ["bytea"]), ([("61",)], ["text"]))
    assert gold != predicted
    gold, predicted = make_comparable(([("nan",)], ["float8"]), ([("nan",)], ["text"]))
    assert gold != predicted
