"""Tests of data contracts for an artifact of a new flow."""

from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.contracts import (
    Contract,
    Expectation,
    RowRule,
    expect_keyed,
    expect_match,
    raise_if_broken,
    read_findings,
)
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin, schema_of
from tasks.artifacts.validation import Check, check_rows, describe_type, run_checks, validate
from tasks.errors import BadInput, ContractBroken, StageFailed


@dataclass(frozen=True)
class Reply:
    id: str
    text: str
    words: int
    score: float | None
    origin: tuple[Origin, ...] = ()


REPLIES = [Reply("a", "Yes.", 1, 0.5), Reply("b", "No it is not", 4, None), Reply("c", "Who knows.", 3, 1.0)]


def declare(path):
    counted = RowRule(
        "counted",
        "It has as many words as it says.",
        ("text", "words"),
        lambda row: "" if len(row["text"].split()) == row["words"] else f"has not {row['words']} words",
    )
    scored = RowRule(
        "scored", "Its score is at most 1.", ("score",), lambda row: "" if row["score"] <= 1 else "more"
    )
    stop = expect_match("ends", "It ends in a full stop.", "text", r"\.$")
    likely = Expectation(
        "words",
        "It has 1 to 3 words.",
        "ExpectColumnValuesToBeBetween",
        {"column": "words", "min_value": 1, "max_value": 3},
    )
    return [Contract(path, (*expect_keyed(Reply), stop, likely, counted, scored))]


def test_ours_and_great_expectations_own_name_their_rows_alike(tmp_path):
    path = tmp_path / "replies.parquet"
    write_rows(path, Reply, REPLIES)
    out = tmp_path / "contracts"
    found = {finding.contract: finding for finding in validate({path: Reply}, lambda: declare(path), out)}

    assert {name: (finding.checked, finding.broken, finding.ids) for name, finding in found.items()} == {
        "columns": (5, 0, ()),
        "unique_ids": (3, 0, ()),
        "no_nulls": (3, 0, ()),
        "ends": (3, 1, ("b",)),
        "words": (3, 1, ("b",)),
        "counted": (3, 1, ("c",)),  # "Who knows." has two
        "scored": (2, 0, ()),  # a score may be NULL and is then not checked
    }
    assert found["ends"].details == ("text is No it is not",)
    assert found["counted"].details == ("has not 3 words",)
    assert read_findings(out) == sorted(found.values(), key=lambda finding: finding.id)
    with pytest.raises(ContractBroken) as caught:
        raise_if_broken(found.values(), out)
    assert str(caught.value) == (
        f"{tmp_path}: replies.parquet breaks ends in 1 of 3 rows: b (text is No it is not); "
        "replies.parquet breaks words in 1 of 3 rows: b (words is 4); "
        "replies.parquet breaks counted in 1 of 3 rows: c (has not 3 words); "
        "contracts/index.html lists all findings"
    )


def test_an_artifact_without_rows_holds(tmp_path):
    path = tmp_path / "replies.parquet"
    write_rows(path, Reply, [])
    found = validate({path: Reply}, lambda: declare(path), tmp_path / "contracts")
    assert {(finding.state, finding.broken) for finding in found} == {("held", 0)}
    raise_if_broken(found, tmp_path / "contracts")


def test_columns_in_another_order_are_named(tmp_path):
    path = tmp_path / "replies.parquet"
    names = ["id", "words", "text", "score", "origin"]
    pq.write_table(schema_of(Reply).empty_table().select(names), path)
    found = validate({path: Reply}, lambda: pytest.fail("rows are not read"), tmp_path / "contracts")
    columns = next(finding for finding in found if finding.contract == "columns")
    assert columns.ids == ("text", "words")
    assert columns.details[0] == "found: column 3, string; expected: column 2, string"


def test_a_file_that_is_no_parquet_is_bad_input(tmp_path):
    path = tmp_path / "replies.parquet"
    path.write_text("nothing of the kind")
    with pytest.raises(BadInput, match=r"replies\.parquet: cannot be read as Parquet"):
        validate({path: Reply}, list, tmp_path / "contracts")


def test_an_expectation_that_cannot_be_computed_does_not_hold():
    absent = Expectation("absent", "It is there.", "ExpectColumnValuesToNotBeNull", {"column": "absent"})
    check = Check("replies", ("replies",), ["replies"], pd.DataFrame({"id": ["a"], "place": [0]}), [absent])
    with pytest.raises(StageFailed, match=r"ExpectColumnValuesToNotBeNull gave no result.*absent"):
        run_checks([check])


def test_types_are_named_by_what_they_hold():
    item = pa.struct([("kind", pa.string()), ("place", pa.int64())])
    assert describe_type(pa.list_(pa.field("element", item))) == "list of {kind: string, place: int64}"
    assert describe_type(pa.list_(pa.field("item", item))) == "list of {kind: string, place: int64}"


def test_a_rule_of_the_name_of_a_column_is_refused_before_it_hides_the_column(tmp_path):
    path = tmp_path / "replies.parquet"
    write_rows(path, Reply, REPLIES)
    rule = RowRule("id", "", ("text",), lambda _: "")
    with pytest.raises(ValueError, match="the rule id has the same name as a column"):
        check_rows(Contract(path, (*expect_keyed(Reply), rule)))
