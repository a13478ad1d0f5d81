"""Tests of reading files that may be compressed, truncated or hostile."""

import bz2
import gzip
import json
import os
from collections import deque
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, DEEPEST, Nesting, TooLong, is_packed, open_packed, read_line

PACKED = {"a.json": bytes, "a.gz": gzip.compress, "a.bz2": bz2.compress}
LINES = [os.urandom(5_000).hex().encode() + b"\n" for _ in range(300)]


@pytest.mark.parametrize("name", PACKED)
def test_a_file_is_opened_by_what_it_begins_with(tmp_path, name):
    content = b"".join(map(PACKED[name], (b"".join(LINES[:100]), b"".join(LINES[100:]))))
    (tmp_path / "no-ending").write_bytes(content)
    with open_packed(tmp_path / "no-ending") as stream:
        assert is_packed(stream) == (name != "a.json")
        assert stream.readlines() == LINES


@pytest.mark.parametrize("name", ["a.gz", "a.bz2"])
@pytest.mark.parametrize("by_line", [True, False])
def test_what_came_before_a_cut_is_not_lost(tmp_path, name, by_line):
    # The first stream is complete; of the second's 2.9 MB, 1.9 MB remain: two complete blocks of bzip2.
    first = b"".join(LINES[:10])
    content = PACKED[name](first) + PACKED[name](b"".join(LINES[10:]))
    (tmp_path / name).write_bytes(content[: len(content) * 2 // 3])
    read = b""
    with open_packed(tmp_path / name) as stream, suppress(*BROKEN):
        while piece := read_line(stream, 2**20) if by_line else stream.read1(2**18):
            read += piece
        pytest.fail("the cut was not said")
    assert b"".join(LINES).startswith(read)
    assert len(read) >= len(first) + 1_790_000 - len(LINES[0])


def test_a_line_that_is_too_long_is_passed_over(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"a" * 9 + b"\n" + b"b" * 3_000_000 + b"\nc\n" + b"d" * 11)
    with open_packed(path) as stream:
        assert read_line(stream, 10) == b"a" * 9 + b"\n"
        with pytest.raises(TooLong, match="has 3,000,001 bytes"):
            read_line(stream, 10)
        assert read_line(stream, 10) == b"c\n"
        with pytest.raises(TooLong, match="has 11 bytes"):
            read_line(stream, 10)
        assert read_line(stream, 10) == b""


def test_what_cannot_be_opened_is_said(tmp_path):
    for path, said in ((tmp_path / "none", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(BadInput, match=said), open_packed(path):
            pass


def measure_depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict | list) + max(map(measure_depth, inner), default=0)


TEXTS = st.text('"\\[]{}a\u00e9', max_size=5)
VALUES = st.recursive(
    TEXTS | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20
)


@given(VALUES, st.integers(0, 120), st.integers(1, 7))
def test_the_depth_of_json_is_known_whatever_pieces_it_comes_in(value, around, size):
    for _ in range(around):
        value = [value]
    text, nesting = json.dumps(value).encode(), Nesting()
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    if measure_depth(value) > DEEPEST:
        with pytest.raises(TooLong, match="nested more than 100 levels deep"):
            list(map(nesting.look, pieces))
    else:
        list(map(nesting.look, pieces))


def test_an_archive_that_holds_far_more_than_its_size_ends_early(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(600_000_000), 1))
    with open_packed(path) as stream, pytest.raises(EOFError, match="more than 100 times its size"):
        deque(iter(lambda: stream.read1(1 << 20), b""), maxlen=0)
