"""Tests that items give the same figures as JSON Lines, CSV, TSV and Parquet, and of errors in tables."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.scoring.registry import make_metric
from tasks.scoring.running import score_file
from tests.scoring.test_properties import some

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_csv(rows, delimiter=","):
    """Write rows like a user: a list as JSON, null as an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
                for name, value in row.items()
            }
        )
    return text.getvalue().encode()


def score(path, metric, report=None, **options):
    said = []
    found = score_file(make_metric(metric, options), str(path), rule="all", report=said.append)
    return (found, [(line.number, line.why) for line in said])


@pytest.mark.parametrize("metric", some)
@quick
@given(data=st.data())
def test_a_table_scores_as_json_lines_do(tmp_path, metric, data):
    drawn = data.draw(st.lists(some[metric], min_size=1, max_size=6))
    # In a CSV, an empty cell is null, and a group is text.
    rows = [
        {
            "id": f"i{number}",
            **{
                name: (value.replace("\0", "") or None) if isinstance(value, str) else value
                for name, value in row.items()
            },
        }
        for number, row in enumerate(drawn)
    ]
    for row in rows:
        row |= {name: f"{row[name]}" for name in ("group",) if name in row}
    lines = tmp_path / "items.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    try:
        expected = score(lines, metric)
    except BadInput as error:
        expected = str(error).partition(": ")[2]
    files = {
        "items.csv": write_csv(rows),
        "items.TSV": write_csv(rows, "\t"),
        "items.csv.gz": gzip.compress(write_csv(rows)),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    if metric not in ("rms", "grammar"):  # a column cannot hold lists of several types
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "items.parquet")
    for name in ("items.parquet", *files):
        if (tmp_path / name).exists():
            try:
                found = score(tmp_path / name, metric)
            except BadInput as error:
                found = str(error).partition(": ")[2]
            assert _forget_places(found) == _forget_places(expected), name


def _forget_places(found):
    """Remove row numbers, which differ if cells contain line ends."""
    return found if isinstance(found, str) else (found[0], [why for _, why in found[1]])


HEAD = b"id,gold,prediction\n"


@pytest.mark.parametrize(
    ("content", "said", "n"),
    [
        (HEAD + b"1,a,a\n2,b\n3,c,c\n", [(3, "has 2 cells, but the header has 3")], 2),
        (HEAD + b"1,a,a\n1,b,b\n", [(3, "repeats the id of line 2")], 1),
        (HEAD + b"1,a,a\n,b,b\n", [(3, "has no id")], 1),
        (HEAD + b"1,a,a\n2,\xff\xfe,b\n3,c,c", [(3, "is not valid UTF-8")], 2),
        (HEAD + b'1,a,a\n2,"two\nlines",b\n3,,c\n', [(5, "gold is null; expected text")], 2),
        (
            HEAD + b'1,a,a\n2,"b"x,b\n3,c,c\n',
            [(3, "this row and all later rows cannot be read (',' expected after '\"')")],
            1,
        ),
        (b"\xef\xbb\xbf" + HEAD + b"\n1,a,42\n", [], 1),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_its_line(tmp_path, content, said, n):
    path = tmp_path / "items.csv"
    path.write_bytes(content)
    found, complaints = score(path, "hotpotqa")
    assert (found["n"], found["n_unreadable"], complaints) == (n, len(said), said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id,answer,predictions\n1,a,b\n", "has no column gold; it has id, answer, predictions"),
        (
            b"id,gold,predictions\n1,a,b\n",
            "has no column prediction; it has id, gold, predictions (did you mean predictions? ",
        ),
        (b"id,gold,prediction,gold\n1,a,b,c\n", "has two columns named gold"),
        (b"", "has no column id; it has none (the metric needs id, gold, prediction)"),
        (HEAD, "has no readable line (it is empty)"),
        (b"id,gold\0", "is binary"),
        (b'id,"gold', "the header cannot be read (unexpected end of data)"),
    ],
)
def test_a_table_without_its_columns_is_refused_with_what_is_needed(tmp_path, content, said):
    path = tmp_path / "items.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        score(path, "hotpotqa")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_cell_that_is_no_finite_number_is_text(tmp_path):
    path = tmp_path / "items.csv"
    deep = "[" * 5_000
    path.write_text(f"id,human,judge\n1,1,1\n2,2,2\n3,3,1e999\n4,4,NaN\n5,{deep},1\n")
    found, said = score(path, "correlation")
    assert (found["n"], [number for number, _ in said]) == (2, [4, 5, 6])
    assert said[0][1] == "judge is text; expected a number"


def test_parquet_that_is_none_lacks_a_column_or_breaks_off_is_named(tmp_path):
    path = tmp_path / "items.parquet"
    with pytest.raises(BadInput, match="no such file or folder"):
        score(path, "hotpotqa")
    path.write_bytes(b"no Parquet")
    with pytest.raises(BadInput, match="has no readable line"):
        score(path, "hotpotqa")
    pq.write_table(pa.table({"id": [1], "gold": ["a"]}), path)
    with pytest.raises(BadInput, match="has no column prediction"):
        score(path, "hotpotqa")


def test_values_that_json_has_not_are_unreadable_or_written_as_text(tmp_path):
    path = tmp_path / "items.parquet"
    columns = {"id": [1, 2, 3], "human": [1.0, float("nan"), 3.0], "judge": [2, 2, 3]}
    pq.write_table(pa.table(columns), path)
    found, said = score(path, "correlation")
    assert (found["n"], said) == (2, [(2, "contains NaN or Infinity, which JSON cannot represent")])
    pq.write_table(pa.table({"id": [1], "gold": ["a"], "prediction": [b"a"]}), path)
    with pytest.raises(BadInput, match="unreadable lines: 1"):
        score(path, "hotpotqa")


def test_numbers_and_truth_values_of_a_csv_are_read_where_the_metric_needs_them(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('id,gold,prediction\n1,7,7.\n2,3,"I say 3."\n3,x,3\n')
    found, said = score(path, "ddxplus")
    assert (found["n_scored"], found["accuracy"]) == (2, 1)
    assert said == [(4, "gold is 'x'; expected a label from 0 to 48")]
    path.write_text(
        "id,api,arguments,predicted_api,predicted_arguments,well_formed,judged\n"
        '1,weather,"{""city"": ""Rome""}",weather,"{""city"": ""Rome""}",true,\n'
    )
    found, said = score(path, "toolbench")
    assert (found["n_scored"] + found["n_failed"], said) == (1, [])


def test_the_limit_of_a_cell_is_restored(tmp_path):
    before = csv.field_size_limit()
    path = tmp_path / "items.csv"
    path.write_text("id,gold,prediction\n1,a,a\n")
    score(path, "hotpotqa")
    assert csv.field_size_limit() == before
