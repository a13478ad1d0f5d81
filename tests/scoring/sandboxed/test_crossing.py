from __future__ import annotations

import base64
import datetime as dt
import decimal
import fractions
import json
from collections import Counter, OrderedDict, deque
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tasks.scoring.sandboxed import crossing
from tasks.scoring.sandboxed.process import BadMessage

DAYS = pd.date_range("2020-01-01", periods=3, freq="D")
FRAMES = {
    "plain": pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, float("nan")]}),
    "empty": pd.DataFrame(),
    "no rows": pd.DataFrame({"a": pd.Series([], dtype="int8")}),
    "repeated columns": pd.DataFrame([[1, "a"]], columns=["x", "x"]),
    "two levels": pd.DataFrame({"a": [1, 1], "b": [2, 3], "c": [4, 5]})
    .groupby(["a", "b"])
    .agg({"c": ["min", "max"]}),
    "days": pd.DataFrame({"a": [1, 2, 3]}, index=DAYS),
    "zones": pd.DataFrame({"a": DAYS.tz_localize("America/Chicago"), "b": DAYS.tz_localize("+05:30")}),
    "categories": pd.DataFrame({"a": pd.Categorical(["x", "y", None], ["y", "x"], ordered=True)}),
    "cut": pd.DataFrame({"a": pd.cut([1, 2, 5], [0, 1, 5])}),
    "periods": pd.DataFrame({"a": DAYS.to_period("M"), "b": DAYS - DAYS[0]}),
    "nullable": pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}),
    "lists": pd.DataFrame({"a": [[1, 2], (3,)], "b": [{"x": 1}, {2}]}),
}
VALUES: dict[str, Any] = {
    "nothing": None,
    "scalars": [True, 1, -(2**70), 0.1, float("inf"), "a\ud800", 1j, b"\xff"],
    "nested": (1, [2, {"a": {3, 4}, 5: frozenset([6])}], deque([7])),
    "mappings": [OrderedDict([("b", 1), ("a", 2)]), Counter("aab")],
    "ranges": [range(1, 9, 2), slice(None, 3)],
    "exact numbers": [decimal.Decimal("1.10"), fractions.Fraction(1, 3)],
    "times": [
        dt.date(2020, 1, 2),
        dt.datetime.fromisoformat("2020-01-02 03:00"),
        dt.time(4, 5),
        dt.timedelta(6, 7, 8),
    ],
    "moments": [
        DAYS[0],
        DAYS[0].tz_localize("Asia/Tokyo"),
        DAYS[1] - DAYS[0],
        pd.Period("2020-01"),
        pd.Interval(0, 1),
    ],
    "numpy scalars": [np.float32(0.1), np.bool_(True), np.str_("a"), np.datetime64("2020-01-01"), np.int8(3)],
}
ARRAYS = {
    "numbers": np.arange(12.0).reshape(3, 4).T,
    "one": np.array(5),
    "none": np.zeros((0, 3), "i2"),
    "texts": np.array([["a", "bcd"]]),
    "objects": np.array(["a", None, 1.5], dtype=object),
    "dates": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "truth": np.array([True, False]),
}


def cross(value: object) -> Any:
    return crossing.unpack(json.loads(json.dumps(crossing.pack(value))))


@pytest.mark.parametrize("name", VALUES)
def test_values_arrive_as_they_left(name: str) -> None:
    arrived = cross(VALUES[name])
    assert arrived == VALUES[name]
    assert repr(arrived) == repr(VALUES[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_arrive_as_they_left(name: str) -> None:
    arrived = cross(ARRAYS[name])
    assert (arrived.dtype, arrived.shape) == (ARRAYS[name].dtype, ARRAYS[name].shape)
    np.testing.assert_array_equal(arrived, ARRAYS[name])


@pytest.mark.parametrize("name", FRAMES)
def test_tables_arrive_as_they_left(name: str) -> None:
    pd.testing.assert_frame_equal(cross(FRAMES[name]), FRAMES[name])
    for column in range(FRAMES[name].shape[1]):
        series = FRAMES[name].iloc[:, column]
        pd.testing.assert_series_equal(cross(series), series)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_tables_arrive_as_they_left(form: str) -> None:
    table = getattr(scipy.sparse, f"{form}_matrix")(np.diag([1.0, 0.0, 2.0]))
    arrived = cross(table)
    assert type(arrived) is type(table)
    assert (arrived != table).nnz == 0


def test_a_matrix_a_dtype_and_what_is_missing_arrive() -> None:
    assert type(cross(np.matrix([[1, 2]]))) is np.matrix
    assert cross(np.dtype("<f4")) == np.dtype("<f4")
    assert cross(pd.NA) is pd.NA
    assert cross(pd.NaT) is pd.NaT


class Flattering(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Frame(pd.DataFrame):
    pass


class Array(np.ndarray[Any, Any]):
    pass


class Number(int):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Flattering("a"),
        [{"a": Number(1)}],
        Frame({"a": [1]}),
        np.zeros(2).view(Array),
        np.ma.masked_array([1, 2], [True, False]),
        np.zeros(2, [("a", "i4")]),
        pd.DataFrame({"a": pd.Series([Flattering("a")], dtype=object)}),
        pd.Series(pd.arrays.SparseArray([0, 1])),
        np.array([Number(3)], dtype=object),
        len,
        object(),
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_may_answer_as_it_likes_does_not_cross(value: object) -> None:
    with pytest.raises(crossing.CannotCross):
        crossing.pack(value)


def test_what_has_no_bottom_does_not_cross() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(crossing.CannotCross, match="nested too deeply"):
        crossing.pack(endless)


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


DEEP: Any = 1
for _ in range(crossing.MAX_DEPTH + 1):
    DEEP = ["list", DEEP]


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"list": []},
        [],
        [[]],
        [None],
        ["nothing"],
        ["__init__"],
        ["read", 1],
        DEEP,
        ["dict", 1],
        ["set", ["list"]],
        ["dict", ["list"], 1],
        ["bytes", "%"],
        ["bytes", 5],
        ["complex", "x", 0],
        ["range", 0, 1, 0],
        ["range", 0.5],
        ["decimal", ["list"]],
        ["decimal", "x"],
        ["fraction", 1, 0],
        ["timedelta", 10**30],
        ["date", "never"],
        ["array", "|O", [1], encode(bytes(8))],
        ["array", "<i8,<i8", [1], encode(bytes(16))],
        ["array", "<V8", [1], encode(bytes(8))],
        ["array", "<i8", [10**12], encode(bytes(8))],
        ["array", "<i8", [-1], ""],
        ["array", "<i8", [True], encode(bytes(8))],
        ["array", "<i8", [2**70, 0], ""],
        ["array", "<i8", [1] * 33, encode(bytes(8))],
        ["array", "<i8", 1, encode(bytes(8))],
        ["array", "|b1", [1], encode(b"\x02")],
        ["array", "<U1", [1], encode(b"\xff\xff\xff\xff")],
        ["array", "<m8[lots]", [1], encode(bytes(8))],
        ["objects", [10**9]],
        ["objects", [2], 1],
        ["scalar", ["array", "<i8", [1], encode(bytes(8))]],
        ["scalar", 5],
        ["missing", "None"],
        ["categorical", ["array", "<i8", [1], encode(bytes([9] * 8))], ["range_index", 0, 2, 1, None], True],
        ["categorical", ["list"], ["list"], True],
        ["moments", ["array", "<M8[ns]", [1], encode(bytes(8))], "../../etc/passwd"],
        ["periods", ["array", "<i8", [1], encode(bytes(8))], "never"],
        ["intervals", ["range_index", 0, 2, 1, None], ["range_index", 0, 3, 1, None], "left"],
        ["extension", "object", 1],
        ["extension", "Int64", "x"],
        ["series", 1, 2, 3],
        ["series", ["array", "<i8", [1], encode(bytes(8))], ["range_index", 0, 2, 1, None], None],
        ["series", ["array", "<i8", [0], ""], ["range_index", 0, 0, 1, None], ["list"]],
        ["range_index", 0, 2**70, 1, None],
        ["range_index", 0, 1, 0, None],
        ["frame", ["range_index", 0, 2, 1, None], ["range_index", 0, 1, 1, None]],
        ["multi_index", [None]],
        ["index", ["list", 1], None, None],
        ["sparse", "__class__", [1, 1], 1, 1, 1],
        ["sparse", "csr_matrix", [1], 1, 1, 1],
        ["tensor", "torch", ["array", "<i8", [1], encode(bytes(8))]],
        ["unshown", "x"],
    ],
    ids=lambda node: str(node)[:40],
)
def test_what_no_honest_process_sends_is_unreadable(node: object) -> None:
    with pytest.raises(BadMessage):
        crossing.unpack(node)


PLAIN = {"builtins", "collections", "datetime", "decimal", "fractions", "numpy", "pandas", "scipy"}
KINDS = sorted([*crossing._Reader().kinds, *crossing.SEQUENCES, *crossing.MAPPINGS])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NODES = st.recursive(
    LEAVES | st.dictionaries(st.text(), st.none(), max_size=1),
    lambda nodes: (
        st.lists(nodes, max_size=4)
        | st.builds(lambda kind, parts: [kind, *parts], st.sampled_from(KINDS), st.lists(nodes, max_size=4))
    ),
)


@given(NODES)
def test_any_node_is_read_as_plain_data_or_not_at_all(node: Any) -> None:
    try:
        value = crossing.unpack(node)
    except BadMessage:
        return
    assert type(value).__module__.partition(".")[0] in PLAIN
