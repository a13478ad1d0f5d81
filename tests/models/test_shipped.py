import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.shipped import read_shipped, write_shipped

ENTRIES = st.lists(
    st.builds(
        LedgerEntry,
        key=st.text(min_size=1),
        text=st.text(),
        finish_reason=st.sampled_from(["stop", "length"]),
        prompt_tokens=st.integers(0, 9_999),
        completion_tokens=st.integers(0, 9_999),
        estimated=st.booleans(),
        extra=st.dictionaries(st.text(), st.lists(st.integers(-(2**63), 2**63 - 1))),
    ),
    unique_by=lambda entry: entry.key,
)


@given(ENTRIES)
def test_what_is_written_is_read_in_any_order_to_the_same_bytes(tmp_path_factory, entries):
    folder = tmp_path_factory.mktemp("shipped")
    write_shipped(folder / "a.jsonl.gz", entries)
    write_shipped(folder / "b.jsonl.gz", reversed(entries))
    assert read_shipped(folder / "a.jsonl.gz") == {entry.key: entry for entry in entries}
    assert (folder / "a.jsonl.gz").read_bytes() == (folder / "b.jsonl.gz").read_bytes()


def test_no_clock_or_machine_fact_is_shipped(tmp_path):
    write_shipped(tmp_path / "a.gz", [LedgerEntry("k", "t", "stop", 1, 1, latency_s=2.0, attempts=3, at=4.0)])
    write_shipped(tmp_path / "b.gz", [LedgerEntry("k", "t", "stop", 1, 1)])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


GOOD = '{"completion_tokens":1,"finish_reason":"stop","key":"k","prompt_tokens":1,"text":"t"}'


def test_a_corrupt_line_is_named(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(f"{GOOD}\n{{".encode()))
    with pytest.raises(BadInput, match=r"s\.jsonl\.gz, line 2: is not a ledger entry"):
        read_shipped(path)


def test_a_line_of_an_earlier_version_has_no_checksum_to_show(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(f"{GOOD}\n".encode()))
    assert read_shipped(path)["k"].text == "t"


def test_a_changed_answer_does_not_have_its_checksum(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    write_shipped(path, [LedgerEntry("k", "Verdict: Correct", "stop", 1, 1)])
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"Correct", b"Korrect")))
    with pytest.raises(
        BadInput, match=r"s\.jsonl\.gz, line 1: .*call 'k' does not match its recorded checksum"
    ):
        read_shipped(path)
