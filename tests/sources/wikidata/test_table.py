import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.films import Films, films
from tasks.sources.wikidata.entities import EntityClaim, EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.table import PropertyColumn, TableSource, is_database, read_cell, read_column
from tasks.sources.wikidata.values import ItemValue, NoValue, Precision, Quantity, Text, Time


def make(path: Path, *rows: tuple, columns: str = "qid, title, released, runtime, director, note") -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE aliases (film INTEGER)")
        connection.execute(f"CREATE TABLE films ({columns})")
        marks = ", ".join("?" * len(columns.split(",")))
        connection.executemany(f"INSERT INTO films VALUES ({marks})", rows)
    return path


def read(source, **selected):
    report = ReadingReport()
    found = list(source.read(EntitySelection(**selected), report))
    report.finish()
    return found, report


COLUMNS = [read_column(text) for text in ("released=P577", "runtime=P2047:Q7727", "director=P57")]


def test_rows_are_entities_and_columns_are_properties(tmp_path):
    path = make(
        tmp_path / "films.sqlite",
        ("Q2", "Alien", "1979-05-25", 117, "Q56005", "x"),
        ("Q1", "Ides", "-0044-03", 1.5, None, "y"),
        ("Q3", None, "1979-02-29", "long", "nobody", None),
    )
    assert is_database(path)
    found, report = read(TableSource(path, COLUMNS))
    assert [(each.id, each.labels) for each in found] == [
        ("Q1", (Text("Ides", "en"),)),
        ("Q2", (Text("Alien", "en"),)),
        ("Q3", ()),
    ]
    assert found[1].claims == (
        EntityClaim("Q2$P2047-runtime", "P2047", 0, "normal", Quantity(Decimal(117), "Q7727")),
        EntityClaim("Q2$P57-director", "P57", 0, "normal", ItemValue("Q56005")),
        EntityClaim("Q2$P577-released", "P577", 0, "normal", Time(1979, 5, 25, Precision.DAY)),
    )
    assert [claim.value for claim in found[0].claims] == [
        Quantity(Decimal("1.5"), "Q7727"),
        Time(-44, 3, None, Precision.MONTH),
    ]
    # What looks like no item is a text, where the column is not said to hold items.
    assert [claim.value for claim in found[2].claims] == [Text("nobody", "en")]
    assert report.counts == {"broken cell": 2, "column without a property": 1}


def test_a_small_number_is_exact():
    assert read_cell(1e-7, "", "en") == Quantity(Decimal("0.0000001"))
    for cell in (float("inf"), 1e300, b"x"):
        with pytest.raises(NoValue):
            read_cell(cell, "", "en")


def test_ids_that_are_none_or_come_twice_are_skipped(tmp_path):
    rows = [(name, "a", None, None, None, None) for name in (None, "42", "Q1", "Q1", 7, "Q2")]
    found, report = read(TableSource(make(tmp_path / "films.sqlite", *rows), []), entities=frozenset({"Q1"}))
    assert [each.id for each in found] == ["Q1"]
    assert (report.counts["no item id"], report.counts["entity twice"], report.not_asked) == (3, 1, 1)


def test_rows_that_lie_in_a_log_are_read(tmp_path):
    path = make(tmp_path / "films.sqlite", ("Q1", "Alien", None, None, None, None))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        with writer:
            writer.execute("INSERT INTO films (qid, title) VALUES ('Q2', 'Ides')")
        assert [each.id for each in read(TableSource(path, []))[0]] == ["Q1", "Q2"]


def test_a_column_may_have_any_name(tmp_path):
    path = make(tmp_path / "films.sqlite", ("Q1", "Q9", "Q5"), columns="qid, entity_id, other")
    found, report = read(TableSource(path, [PropertyColumn("entity_id", "P57")]))
    assert [(each.id, [claim.value for claim in each.claims]) for each in found] == [
        ("Q1", [ItemValue("Q9")])
    ]
    assert report.counts == {"column without a property": 1}


def test_columns_of_one_property_have_their_places(tmp_path):
    columns = [read_column(text) for text in ("second=P57", "first=P57", "x=P1")]
    path = make(
        tmp_path / "films.sqlite",
        ("Q1", "Q8", "Q9", 1),
        ("Q2", "Q8", None, 2),
        columns="qid, first, second, x",
    )
    found, _ = read(TableSource(path, columns))
    assert [[(claim.id, claim.position) for claim in each.claims] for each in found] == [
        [("Q1$P1-x", 0), ("Q1$P57-second", 0), ("Q1$P57-first", 1)],
        [("Q2$P1-x", 0), ("Q2$P57-first", 0)],
    ]
    assert [claim.value for claim in found[0].claims[1:]] == [ItemValue("Q9"), ItemValue("Q8")]
    twice = TableSource(path, [PropertyColumn("first", "P57"), PropertyColumn("first", "P57", "item")])
    with pytest.raises(BadInput, match="--column: first=P57 is said twice"):
        read(twice)
    # One column may be two properties.
    found, _ = read(TableSource(path, [PropertyColumn("first", "P57"), PropertyColumn("first", "P58")]))
    assert [claim.property for claim in found[0].claims] == ["P57", "P58"]


def test_what_is_not_there_is_one_clear_line(tmp_path):
    path = make(tmp_path / "films.sqlite")
    for source, said in (
        (TableSource(path, [PropertyColumn("year", "P577")]), "films has no column 'year'"),
        (TableSource(path, [], id_column="item"), "has no table with a column 'item'"),
        (TableSource(path, [], table="x"), "has no table 'x'"),
        (TableSource(tmp_path / "none", []), "cannot be read"),
    ):
        with pytest.raises(BadInput, match=said):
            read(source)
    with pytest.raises(BadInput, match="knows no classes"):
        read(TableSource(path, []), classes=frozenset({"Q5"}))
    (tmp_path / "broken").write_bytes(b"SQLite format 3\0 and no more")
    with pytest.raises(BadInput, match="cannot be read"):
        read(TableSource(tmp_path / "broken", []))
    for text in ("runtime", "=P1", "runtime=Q1", "runtime=P1:minutes"):
        with pytest.raises(BadInput, match="is no column with its property"):
            read_column(text)


def test_the_sample_database_of_films_is_a_source(packages, tmp_path):
    films(packages / "movies.db", Films(years=(1979, 1979)), tmp_path / "films.sqlite")
    columns = ("release_date=P577", "runtime_minutes=P2047:Q7727", "box_office_usd=P2142:Q4917")
    found, report = read(TableSource(tmp_path / "films.sqlite", [read_column(text) for text in columns]))
    alien = next(each for each in found if each.labels == (Text("Alien", "en"),))
    assert alien.id == "Q103569"
    assert {claim.property: claim.value for claim in alien.claims}["P2047"] == Quantity(Decimal(117), "Q7727")
    assert set(report.counts) == {"column without a property"}
