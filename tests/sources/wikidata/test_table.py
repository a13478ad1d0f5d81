import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.sources.films import Films, films
from tasks.sources.wikidata.cells import choose_kind, read_cell
from tasks.sources.wikidata.entities import EntityClaim, EntitySelection
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.snaks import KeptOut
from tasks.sources.wikidata.table import PropertyColumn, TableSource, is_database, read_column
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
    assert [(result.id, result.labels) for result in found] == [
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
    # A director is an item: other values are reported, and do not become texts.
    assert found[2].claims == ()
    assert report.counts == {"broken cell": 3, "column without a property": 1, "no label": 1}


def test_a_small_number_is_exact():
    assert read_cell(1e-7, "quantity") == Quantity(Decimal("0.0000001"))
    for cell in (float("inf"), 1e300, b"x"):
        with pytest.raises(NoValue):
            read_cell(cell, "quantity")


def test_rows_without_an_id_are_skipped(tmp_path):
    rows = [(name, "a", None, None, None, None) for name in (None, "42", "Q1", "Q1", 7, "Q2")]
    found, report = read(TableSource(make(tmp_path / "films.sqlite", *rows), []), entities=frozenset({"Q1"}))
    assert [result.id for result in found] == ["Q1"]
    assert (report.counts, report.not_asked) == ({"no item id": 3, "column without a property": 4}, 1)


def test_a_row_without_an_id_tells_its_statements(tmp_path):
    rows = [
        ("Alien", "x", "Q501", "2001-02-03"),
        (None, "Ides", "Q502", ""),
        (None, None, "nobody", None),
        ("Q1", "Ides", "Q503", None),
        ("Q2", "Twin", "Q504", None),
    ]
    path = make(tmp_path / "films.sqlite", *rows, columns="qid, title, director, released")
    lines: list[dict] = []
    report = ReadingReport(lambda line: lines.append(json.loads(line)))
    columns = [PropertyColumn("director", "P57"), PropertyColumn("released", "P577")]
    list(TableSource(path, columns).read(EntitySelection(), report))
    told = [line["statements"] for line in lines if line["reason"] == "no item id"]
    assert sorted(told) == [
        [["P57", ""], ["P31", ""]],
        [["P57", "Q501"], ["P577", ""], ["P31", ""]],
        [["P57", "Q502"], ["P31", ""]],
    ]
    # The row named Ides may belong to Q1, which has this label.
    like = [line for line in lines if line["reason"] == "row without an id of the same label"]
    assert [(line["entity"], line["property"], line["value"]) for line in like] == [("Q1", "P57", "Q502")]


def test_rows_that_lie_in_a_log_are_read(tmp_path):
    path = make(tmp_path / "films.sqlite", ("Q1", "Alien", None, None, None, None))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        with writer:
            writer.execute("INSERT INTO films (qid, title) VALUES ('Q2', 'Ides')")
        assert [entity.id for entity in read(TableSource(path, []))[0]] == ["Q1", "Q2"]


def test_a_column_may_have_any_name(tmp_path):
    path = make(tmp_path / "films.sqlite", ("Q1", "Q9", "Q5"), columns="qid, entity_id, other")
    found, report = read(TableSource(path, [PropertyColumn("entity_id", "P57")]))
    assert [(result.id, [claim.value for claim in result.claims]) for result in found] == [
        ("Q1", [ItemValue("Q9")])
    ]
    assert report.counts == {"column without a property": 1, "no label": 1}


def test_columns_of_one_property_have_their_places(tmp_path):
    columns = [read_column(text) for text in ("second=P57", "first=P57", "x=P1")]
    path = make(
        tmp_path / "films.sqlite",
        ("Q1", "Q8", "Q9", 1),
        ("Q2", "Q8", None, 2),
        columns="qid, first, second, x",
    )
    found, _ = read(TableSource(path, columns))
    assert [[(claim.id, claim.position) for claim in result.claims] for result in found] == [
        [("Q1$P1-x", 0), ("Q1$P57-second", 0), ("Q1$P57-first", 1)],
        [("Q2$P1-x", 0), ("Q2$P57-first", 0)],
    ]
    assert [claim.value for claim in found[0].claims[1:]] == [ItemValue("Q9"), ItemValue("Q8")]
    twice = TableSource(path, [PropertyColumn("first", "P57"), PropertyColumn("first", "P57", "item")])
    with pytest.raises(BadInput, match="--column: first=P57 is given twice"):
        read(twice)
    # One column may contain two properties.
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
    with pytest.raises(BadInput, match="so --class cannot be used"):
        read(TableSource(path, []), classes=frozenset({"Q5"}))
    (tmp_path / "broken").write_bytes(b"SQLite format 3\0 and no more")
    with pytest.raises(BadInput, match="cannot be read"):
        read(TableSource(tmp_path / "broken", []))
    for text in ("runtime", "=P1", "runtime=Q1", "runtime=P1:minutes"):
        with pytest.raises(BadInput, match="does not assign a property to a column"):
            read_column(text)


def test_the_sample_database_of_films_is_a_source(packages, tmp_path):
    films(packages / "movies.db", Films(years=(1979, 1979)), tmp_path / "films.sqlite")
    columns = ("release_date=P577", "runtime_minutes=P2047:Q7727", "box_office_usd=P2142:Q4917")
    found, report = read(TableSource(tmp_path / "films.sqlite", [read_column(text) for text in columns]))
    alien = next(result for result in found if result.labels == (Text("Alien", "en"),))
    assert alien.id == "Q103569"
    assert {claim.property: claim.value for claim in alien.claims}["P2047"] == Quantity(Decimal(117), "Q7727")
    assert set(report.counts) == {"column without a property"}


WIKIDATA = "http://www.wikidata.org/entity/"


def test_a_result_of_the_query_service_is_read_as_it_is_meant(tmp_path):
    path = make(
        tmp_path / "films.sqlite",
        (WIKIDATA + "Q401", "One", WIKIDATA + "Q501", "2004-10-01T00:00:00Z", ""),
        ("Q402", "Two", WIKIDATA + "Q502", "-0043-03-15T00:00:00Z", "10/1/2004"),
        ("Q403", "Q403", "http://www.wikidata.org/.well-known/genid/7a", "0000-01-01T00:00:00Z", "2004"),
        # One row per combination of values, with another form of the address.
        ("Q401", "One", "<" + WIKIDATA + "Q503>", "2004-10-01T00:00:00Z", None),
        columns="item, itemLabel, director, released, made",
    )
    columns = [read_column(text) for text in ("director=P57", "released=P577", "made=P571")]
    found, report = read(TableSource(path, columns))
    assert {result.id: [(claim.property, claim.value) for claim in result.claims] for result in found} == {
        "Q401": [
            ("P57", ItemValue("Q501")),
            ("P57", ItemValue("Q503")),
            ("P577", Time(2004, 10, 1, Precision.DAY)),
        ],
        "Q402": [("P57", ItemValue("Q502")), ("P577", Time(-44, 3, 15, Precision.DAY))],
        "Q403": [("P571", Time(2004, None, None, Precision.YEAR)), ("P577", Time(-1, 1, 1, Precision.DAY))],
    }
    assert len({claim.id for result in found for claim in result.claims}) == 7
    # The service shows an item without a label by its id.
    assert [result.labels for result in found] == [(Text("One", "en"),), (Text("Two", "en"),), ()]
    assert report.counts == {"broken cell": 1, "unknown value": 1, "no label": 1}


def test_labels_fall_back_to_the_columns_of_other_languages(tmp_path):
    rows = [("Q1", "a", "b", "c"), ("Q2", "", "b", "c"), ("Q3", None, " ", "c"), ("Q4", "", "", "")]
    path = make(tmp_path / "films.sqlite", *rows, columns="qid, label, label_mul, label_de")
    for languages, expected in (
        ({"en"}, ["a en", "b mul", None, None]),
        ({"de"}, ["c de", "c de", "c de", None]),
        ({"de-at"}, ["a de-at", "c de", "c de", None]),
    ):
        found, report = read(TableSource(path, []), languages=frozenset(languages))
        labels = [
            f"{label.text} {label.language}" for result in found for label in result.labels or [Text("", "")]
        ]
        assert [label.strip() or None for label in labels] == expected
        assert report.counts["no label"] == expected.count(None)
    other = make(tmp_path / "other.sqlite", ("Q1", "a"), ("Q1", "b"), columns="qid, label")
    found, report = read(TableSource(other, []))
    assert (found[0].labels, report.counts) == ((Text("a", "en"),), {"another label": 1})


@pytest.mark.parametrize(
    ("cell", "kind", "value"),
    [
        (WIKIDATA + "Q5", "item", ItemValue("Q5")),
        ("https://www.wikidata.org/wiki/Q5", "item", ItemValue("Q5")),
        ("wd:Q5", "item", ItemValue("Q5")),
        (" Q5 ", "item", ItemValue("Q5")),
        (WIKIDATA + "P57", "item", ItemValue("P57")),
        (WIKIDATA + "Q5-1", "item", None),
        (WIKIDATA + "statement/Q5-ABC", "item", None),
        ("https://example.org/entity/Q5", "item", None),
        ("Q05", "item", None),
        (5, "item", None),
        ("-0001-12-31T00:00:00Z", "time", Time(-2, 12, 31, Precision.DAY)),
        ("-0001-12-31", "time", Time(-1, 12, 31, Precision.DAY)),
        ('"2004-02-29T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', "time",
         Time(2004, 2, 29, Precision.DAY)),
        ("2004-02-29 13:45:00", "time", Time(2004, 2, 29, Precision.DAY)),
        ("+2004-02-00T00:00:00Z", "time", Time(2004, 2, None, Precision.MONTH)),
        ("2004-01-01T00:00:00Z", "year", Time(2004, None, None, Precision.YEAR)),
        ("2004-03-01T00:00:00Z", "month", Time(2004, 3, None, Precision.MONTH)),
        (2004, "time", Time(2004, None, None, Precision.YEAR)),
        (1096588800, "time", None),
        ("20041001", "time", None),
        ("2003-02-29T00:00:00Z", "time", None),
        ("0000-01-01", "time", None),
        ("2004-10-01T00:00:00+02:00", "time", None),
        ("1,500", "quantity", None),
        ("1.50", "quantity", Quantity(Decimal("1.50"))),
        ('"Le Nom"@fr', "text", Text("Le Nom", "fr")),
        ("1984", "text", Text("1984", "en")),
        (1984, "text", None),
        (WIKIDATA + "Q5", "text", None),
        ("2004-10-01T00:00:00Z", "text", None),
    ],
)  # fmt: skip
def test_a_cell_is_read_by_the_kind_of_its_column_or_named(cell, kind, value):
    if value is None:
        with pytest.raises(NoValue):
            read_cell(cell, kind)
    else:
        assert read_cell(cell, kind) == value


@pytest.mark.parametrize(
    ("cells", "name", "kind"),
    [
        (["10/1/2004", "2004"], "P571", "time"),
        (["10/1/2004", "spring"], "P571", "text"),
        (["nobody", "Q5"], "P57", "item"),
        (["Ada", "Ben"], "P57", "text"),
        ([1979, "long"], "P2047", "quantity"),
        (["Q1", "Q2", "x"], "P9999", "item"),
        (["Q1", "x"], "P9999", "text"),
        (["2004-01-01", "2005-01-01", "?"], "P9999", "time"),
        (["2004", "2005"], "P9999", "text"),
        ([1, 2.5, "?"], "P9999", "quantity"),
        ([], "P9999", "text"),
    ],
)
def test_a_column_has_the_kind_of_its_property_or_of_most_cells(cells, name, kind):
    assert choose_kind(cells, name) == kind


def write_rdf(value):
    """Format a value like the query service, by independent code: years are astronomical."""
    if isinstance(value, ItemValue):
        return f"{WIKIDATA}{value.id}"
    if isinstance(value, Time):
        year = value.year if value.year > 0 else value.year + 1
        return f"{'-' if year < 0 else ''}{abs(year):04d}-{value.month:02d}-{value.day:02d}T00:00:00Z"
    if isinstance(value, Quantity):
        return format(value.amount, "f")
    return f'"{value.text}"@{value.language}'


VALUES = {
    "item": st.integers(1, 10**9).map(lambda number: ItemValue(f"Q{number}")),
    "time": st.builds(
        Time,
        st.integers(-5_000, 9_999).filter(bool),
        st.integers(1, 12),
        st.integers(1, 28),
        st.just(Precision.DAY),
    ),
    "quantity": st.builds(Quantity, st.decimals(-(10**9), 10**9, places=3)),
    "text": st.builds(
        Text, st.from_regex(r"[A-Za-z][a-z \"]{0,20}[a-z]", fullmatch=True), st.sampled_from(("en", "de"))
    ),
}


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(VALUES)), data=st.data())
def test_what_the_query_service_writes_comes_through(kind, data):
    value = data.draw(VALUES[kind])
    assert read_cell(write_rdf(value), kind) == value


@settings(max_examples=100, deadline=None)
@given(
    cell=st.one_of(st.text(), st.integers(), st.floats(), st.binary()), kind=st.sampled_from(sorted(VALUES))
)
def test_any_cell_is_read_or_named(cell, kind):
    try:
        value = read_cell(cell, kind)
    except (NoValue, KeptOut):
        return
    assert type(value) is {"item": ItemValue, "time": Time, "quantity": Quantity, "text": Text}[kind]
