"""Serialize values of an untrusted program as JSON: `pack` in its process, `unpack` in the verdict process.

A node is a JSON scalar, or a list of the node's kind and its parts: `["tuple", 1, 2]`, `["array", "<i8", [2],
"..."]`. Only values whose type is exactly one of the types below can be serialized, because an instance of a
subclass may behave arbitrarily. Neither pickles nor code is transferred. `unpack` checks each part, and never
allocates memory for data that a node declares but does not contain.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import fractions
import importlib
import math
import re
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

from tasks.scoring.sandboxed.process import BadMessage

UNSHOWN = "unshown"
"""The kind of a node that replaces an unserializable value, and contains only the reason."""
MAX_DEPTH = 60
MAX_VALUES = 1_000_000
MAX_DIMENSIONS = 32
"""Limits for untrusted values.

`MAX_DEPTH`: maximum nesting depth. `MAX_VALUES`: maximum number of values. `MAX_DIMENSIONS`: maximum number
of dimensions of an array.
"""
DTYPE = re.compile(
    r"[<>|=](?:b1|[iu][1248]|f(?:2|4|8|16)|c(?:8|16|32)|[SU]\d{1,6}|[mM]8(?:\[\w{1,9}\])?)", re.A
)
"""Matches the numpy type codes that can be serialized, such as `<f8`."""
ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}(?::\d\d)?", re.A)
"""Matches names of time zones."""
EXTENSIONS = re.compile(r"U?Int(?:8|16|32|64)|Float(?:32|64)|boolean|string|str", re.A)
"""Matches the names of pandas extension types that can be serialized."""
SPARSE = {
    f"{name}_{kind}"
    for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("matrix", "array")
}
SEQUENCES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque,
}  # fmt: skip
MAPPINGS: dict[str, Callable[[Iterable[Any]], Any]] = {
    "dict": dict,
    "OrderedDict": OrderedDict,
    "Counter": lambda pairs: Counter(dict(pairs)),
}
NUMPY_COLUMNS = {"PandasArray", "NumpyExtensionArray"}
CLOSED = {"left", "right", "both", "neither"}


class CannotCross(Exception):
    """Raised for a value that cannot be serialized."""


def load(name: str) -> Any:
    """Import a library from the test programs' environment, and return the module."""
    return importlib.import_module(name)


def pack(value: object, depth: int = 0) -> Any:
    """Serialize a value as a node. Raises CannotCross if the value cannot be serialized."""
    kind = type(value)
    if depth > MAX_DEPTH:
        raise CannotCross("a value that is nested too deeply")
    if value is None or kind in {bool, int, float, str}:
        return value
    for types, packer in (_PLAIN, _NUMPY, _PANDAS, _OTHER):
        found = packer(value, kind.__name__, depth) if kind.__module__.partition(".")[0] in types else None
        if found is not None:
            return found
    raise CannotCross(f"a value of type {kind.__name__}")


def unpack(node: Any) -> Any:
    """Return the value of a node. Raises BadMessage for any node that is not valid."""
    try:
        return _Reader().read(node)
    except Exception as error:  # noqa: BLE001 (a hostile node may make numpy or pandas raise anything)
        raise BadMessage(f"a node that cannot be read ({type(error).__name__})") from None


def _pack_plain(value: Any, name: str, depth: int) -> Any:
    kind = type(value)
    if kind in SEQUENCES.values():
        return [name, *(pack(item, depth + 1) for item in value)]
    if kind in {dict, OrderedDict, Counter}:
        return [name, *(pack(part, depth + 1) for pair in value.items() for part in pair)]
    if kind is complex:
        return ["complex", value.real, value.imag]
    if kind is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if kind in {range, slice}:
        return [name, *(pack(part, depth + 1) for part in (value.start, value.stop, value.step))]
    if kind is decimal.Decimal:
        return ["decimal", str(value)]
    if kind is fractions.Fraction:
        return ["fraction", value.numerator, value.denominator]
    if kind is dt.timedelta:
        return ["timedelta", value.days, value.seconds, value.microseconds]
    if kind in {dt.date, dt.datetime, dt.time} and getattr(value, "tzinfo", None) is None:
        return [name, value.isoformat()]
    return None


def _pack_numpy(value: Any, name: str, depth: int) -> Any:
    np = load("numpy")
    if type(value) is np.matrix:
        return ["matrix", _pack_array(np.asarray(value), depth)]
    if type(value) is np.ndarray:
        return _pack_array(value, depth)
    if type(value) is getattr(np, "dtype", None) or isinstance(value, np.dtype):
        return ["dtype", value.str] if DTYPE.fullmatch(value.str) else None
    if isinstance(value, np.generic) and type(value) is value.dtype.type and value.dtype != object:
        return ["scalar", _pack_array(np.asarray(value), depth)]
    return None


def _pack_array(value: Any, depth: int) -> Any:
    if value.dtype == object:
        return ["objects", list(value.shape), *(pack(item, depth + 1) for item in value.ravel())]
    if not DTYPE.fullmatch(value.dtype.str):
        raise CannotCross(f"an array of {value.dtype}"[:80])
    return ["array", value.dtype.str, list(value.shape), base64.b64encode(value.tobytes()).decode()]


def _pack_pandas(value: Any, name: str, depth: int) -> Any:
    pd = load("pandas")
    down = depth + 1
    if value is pd.NaT or value is pd.NA:
        return ["missing", str(value)]
    if type(value) in {pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval}:
        return ["element", _pack_column(pd.Series([value]).array, down)]
    if type(value) is pd.Series:
        return ["series", _pack_column(value.array, down), pack(value.index, down), pack(value.name, down)]
    if type(value) is pd.DataFrame:
        columns = [_pack_column(value.iloc[:, place].array, down) for place in range(value.shape[1])]
        return ["frame", pack(value.columns, down), pack(value.index, down), *columns]
    if type(value) is pd.MultiIndex:
        levels = [pack(value.get_level_values(place), down) for place in range(value.nlevels)]
        return ["multi_index", [pack(name, down) for name in value.names], *levels]
    if type(value) is pd.RangeIndex:
        return ["range_index", value.start, value.stop, value.step, pack(value.name, down)]
    if isinstance(value, pd.Index):
        return [
            "index",
            _pack_column(value.array, down),
            pack(value.name, down),
            getattr(value, "freqstr", None),
        ]
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return ["column", _pack_column(value, down)]
    return None


def _pack_column(values: Any, depth: int) -> Any:
    pd = load("pandas")
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = pack(values.categories, depth + 1)
        return ["categorical", _pack_array(values.codes, depth), categories, bool(values.ordered)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        naive = values.tz_convert("UTC").tz_localize(None).to_numpy()
        return ["moments", _pack_array(naive, depth), str(dtype.tz)]
    if isinstance(dtype, pd.PeriodDtype):
        return ["periods", _pack_array(values.asi8, depth), str(dtype)[len("period[") : -1]]
    if isinstance(dtype, pd.IntervalDtype):
        return ["intervals", pack(values.left, depth + 1), pack(values.right, depth + 1), values.closed]
    if EXTENSIONS.fullmatch(str(dtype)):
        return ["extension", str(dtype), *(pack(item, depth + 1) for item in values)]
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and type(values).__name__ not in NUMPY_COLUMNS:
        raise CannotCross(f"a column of {dtype}"[:80])
    return _pack_array(values.to_numpy(), depth)


def _pack_other(value: Any, name: str, depth: int) -> Any:
    if name in SPARSE:
        table = value.tocoo()
        parts = (table.row, table.col, table.data)
        return ["sparse", name, list(value.shape), *(_pack_array(part, depth) for part in parts)]
    if name == "Tensor" and type(value).__module__ == "torch":
        return ["tensor", "torch", _pack_array(value.detach().cpu().numpy(), depth)]
    if name == "EagerTensor":
        return ["tensor", "tensorflow", _pack_array(value.numpy(), depth)]
    return None


_PLAIN = ({"builtins", "collections", "datetime", "decimal", "fractions"}, _pack_plain)
_NUMPY = ({"numpy"}, _pack_numpy)
_PANDAS = ({"pandas"}, _pack_pandas)
_OTHER = ({"scipy", "torch", "tensorflow"}, _pack_other)


class _Reader:
    """Builds values from nodes; each `_read_` method handles one kind of node."""

    def __init__(self) -> None:
        self.values = 0
        self.kinds: dict[str, Callable[..., Any]] = {
            name.removeprefix("_read_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_read_")
        }

    def read(self, node: Any, depth: int = 0) -> Any:
        self.values += 1
        check(self.values <= MAX_VALUES and depth <= MAX_DEPTH)
        if not isinstance(node, list):
            check(node is None or isinstance(node, bool | int | float | str))
            return node
        kind, *parts = node
        check(isinstance(kind, str))
        if kind in SEQUENCES:
            return SEQUENCES[kind](self.read(part, depth + 1) for part in parts)
        if kind in MAPPINGS:
            values = [self.read(part, depth + 1) for part in parts]
            return MAPPINGS[kind](zip(values[::2], values[1::2], strict=True))
        return self.kinds[kind](depth + 1, *parts)

    def read_array(self, node: Any, depth: int) -> Any:
        np = load("numpy")
        array = self.read(node, depth)
        check(isinstance(array, np.ndarray) and not isinstance(array, np.matrix))
        return array

    def read_index(self, node: Any, depth: int) -> Any:
        pd = load("pandas")
        index = self.read(node, depth)
        check(isinstance(index, pd.Index))
        return index

    def _read_complex(self, depth: int, real: float, imaginary: float) -> complex:
        return complex(float(real), float(imaginary))

    def _read_bytes(self, depth: int, content: str) -> bytes:
        return base64.b64decode(content, validate=True)

    def _read_range(self, depth: int, *parts: int) -> range:
        return range(*parts)

    def _read_slice(self, depth: int, start: Any, stop: Any, step: Any) -> slice:
        return slice(*(self.read(part, depth) for part in (start, stop, step)))

    def _read_decimal(self, depth: int, text: str) -> decimal.Decimal:
        check(isinstance(text, str))
        return decimal.Decimal(text)

    def _read_fraction(self, depth: int, above: int, below: int) -> fractions.Fraction:
        return fractions.Fraction(above, below)

    def _read_timedelta(self, depth: int, *parts: int) -> dt.timedelta:
        return dt.timedelta(*parts)

    def _read_date(self, depth: int, text: str) -> dt.date:
        return dt.date.fromisoformat(text)

    def _read_datetime(self, depth: int, text: str) -> dt.datetime:
        return dt.datetime.fromisoformat(text)

    def _read_time(self, depth: int, text: str) -> dt.time:
        return dt.time.fromisoformat(text)

    def _read_array(self, depth: int, dtype: str, shape: list[int], content: str) -> Any:
        np = load("numpy")
        check(DTYPE.fullmatch(dtype) is not None and is_shape(shape))
        kind, data = np.dtype(dtype), self._read_bytes(depth, content)
        check(math.prod(shape) * kind.itemsize == len(data))
        if not data:
            return np.zeros(shape, kind)
        if kind.kind == "b":
            # numpy accepts other bytes unchecked, and a view of the array as integers then differs from True.
            check(max(data) <= 1)
        array = np.frombuffer(data, kind).reshape(shape).copy()
        if kind.kind == "U":
            check(
                int(np.frombuffer(data, np.dtype("u4").newbyteorder(kind.byteorder)).max()) <= sys.maxunicode
            )
        return array

    def _read_objects(self, depth: int, shape: list[int], *items: Any) -> Any:
        np = load("numpy")
        check(is_shape(shape) and math.prod(shape) == len(items))
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = self.read(item, depth)
        return array.reshape(shape)

    def _read_matrix(self, depth: int, array: Any) -> Any:
        np = load("numpy")
        return np.asmatrix(self.read_array(array, depth))

    def _read_scalar(self, depth: int, array: Any) -> Any:
        found = self.read_array(array, depth)
        check(found.shape == () and found.dtype != object)
        return found[()]

    def _read_dtype(self, depth: int, text: str) -> Any:
        np = load("numpy")
        check(DTYPE.fullmatch(text) is not None)
        return np.dtype(text)

    def _read_missing(self, depth: int, text: str) -> Any:
        pd = load("pandas")
        return {"NaT": pd.NaT, "<NA>": pd.NA}[text]

    def _read_element(self, depth: int, column: Any) -> Any:
        pd = load("pandas")
        (element,) = pd.Series(self.read(column, depth))
        return element

    def _read_column(self, depth: int, column: Any) -> Any:
        return self.read(column, depth)

    def _read_categorical(self, depth: int, codes: Any, categories: Any, ordered: bool) -> Any:
        pd = load("pandas")
        found = self.read_index(categories, depth)
        return pd.Categorical.from_codes(self.read_array(codes, depth), found, ordered=ordered is True)

    def _read_moments(self, depth: int, moments: Any, zone: str) -> Any:
        pd = load("pandas")
        check(ZONE.fullmatch(zone) is not None)
        return pd.Series(self.read_array(moments, depth)).dt.tz_localize("UTC").dt.tz_convert(zone).array

    def _read_periods(self, depth: int, ordinals: Any, frequency: str) -> Any:
        pd = load("pandas")
        found = self.read_array(ordinals, depth)
        check(found.dtype == "i8" and found.ndim == 1 and isinstance(frequency, str))
        return pd.arrays.PeriodArray(found, dtype=pd.PeriodDtype(frequency))

    def _read_intervals(self, depth: int, left: Any, right: Any, closed: str) -> Any:
        pd = load("pandas")
        check(closed in CLOSED)
        sides = (self.read_index(side, depth) for side in (left, right))
        return pd.arrays.IntervalArray.from_arrays(*sides, closed=closed)

    def _read_extension(self, depth: int, dtype: str, *items: Any) -> Any:
        pd = load("pandas")
        check(EXTENSIONS.fullmatch(dtype) is not None)
        return pd.array([self.read(item, depth) for item in items], dtype=dtype)

    def _read_series(self, depth: int, column: Any, index: Any, name: Any) -> Any:
        pd = load("pandas")
        return pd.Series(
            self.read(column, depth), index=self.read_index(index, depth), name=self.read(name, depth)
        )

    def _read_frame(self, depth: int, columns: Any, index: Any, *values: Any) -> Any:
        pd = load("pandas")
        names, rows = self.read_index(columns, depth), self.read_index(index, depth)
        check(len(names) == len(values))
        series = {place: pd.Series(self.read(value, depth), index=rows) for place, value in enumerate(values)}
        frame = pd.DataFrame(series, index=rows)
        frame.columns = names
        return frame

    def _read_multi_index(self, depth: int, names: list[Any], *levels: Any) -> Any:
        pd = load("pandas")
        check(isinstance(names, list))
        arrays = [self.read_index(level, depth) for level in levels]
        return pd.MultiIndex.from_arrays(arrays, names=[self.read(name, depth) for name in names])

    def _read_range_index(self, depth: int, start: int, stop: int, step: int, name: Any) -> Any:
        pd = load("pandas")
        # With this limit, stop - start fits into 64 bits.
        check(all(type(part) is int and abs(part) < 1 << 62 for part in (start, stop, step)))
        return pd.RangeIndex(start, stop, step, name=self.read(name, depth))

    def _read_index(self, depth: int, column: Any, name: Any, frequency: str | None) -> Any:
        pd = load("pandas")
        values = self.read(column, depth)
        index = pd.Index(values, dtype=values.dtype, name=self.read(name, depth))
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex) and isinstance(frequency, str):
            index.freq = frequency
        return index

    def _read_sparse(self, depth: int, name: str, shape: list[int], *parts: Any) -> Any:
        check(name in SPARSE and is_shape(shape) and len(shape) == 2)
        row, column, data = (self.read_array(part, depth) for part in parts)
        table = load("scipy.sparse").coo_matrix((data, (row, column)), shape=tuple(shape))
        return getattr(load("scipy.sparse"), name)(table)

    def _read_tensor(self, depth: int, library: str, array: Any) -> Any:
        values = self.read_array(array, depth)
        if library == "torch":
            return sys.modules["torch"].from_numpy(values)
        return sys.modules["tensorflow"].constant(values)


def check(holds: bool) -> None:
    """Raise ValueError if a condition does not hold."""
    if not holds:
        raise ValueError("is not a valid node")


def is_shape(shape: object) -> bool:
    """Return whether a value can be the shape of an array."""
    return (
        isinstance(shape, list)
        and len(shape) <= MAX_DIMENSIONS
        and all(type(size) is int and 0 <= size < 1 << 40 for size in shape)
    )
