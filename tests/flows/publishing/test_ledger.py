"""Tests that the ledger of a published dataset contains exactly the calls of its rows."""

import pytest

from benchloom import calls
from flows.publishing.choice import Choice
from flows.publishing.folder import LEDGER, find_entries, write_folder
from flows.run.node import Node
from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput
from tasks.models.ask import Prompt
from tasks.models.calls import Call, make_call
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.shipped import read_shipped
from tasks.streambench.build.sequence import SequencePlace
from tests.models.scenes import make_entry, make_request

PROMPT = Prompt("ask", "digest", ())


@pytest.fixture
def asked(tmp_path):
    """An artifact of two calls, and a ledger of three."""
    requests = [make_request(number) for number in range(3)]
    entries = [make_entry(request, f"answer {number}", at=1.0) for number, request in enumerate(requests)]
    made = [
        make_call("grammar-ask@films", "row", "role", PROMPT, request, entry, None)
        for request, entry in zip(requests, entries, strict=True)
    ]
    write_rows(tmp_path / "data/x/ask.parquet", SequencePlace, [])
    write_rows(tmp_path / "data/x/ask.calls.parquet", Call, made[:2])
    node = Node("grammar-ask@x", "grammar.ask", "x", (), ("data/x/ask.parquet",), ())
    return Choice("databases.x", node, (node,), {}), entries


def test_the_calls_of_the_rows_go_with_them(asked, tmp_path):
    choice, entries = asked
    with Ledger(tmp_path / "live.sqlite") as ledger:
        ledger.put_many(entries)
        found = find_entries(tmp_path, choice, ledger)
    assert write_folder(tmp_path / "out", tmp_path, choice, found, {"README.md": "x"}) == 6
    shipped = read_shipped(tmp_path / "out" / LEDGER)
    assert {key: entry.text for key, entry in shipped.items()} == {
        entry.key: entry.text for entry in entries[:2]
    }
    assert set(calls(tmp_path / "out").id) == shipped.keys()


def test_a_call_that_no_ledger_holds_is_refused(asked, tmp_path):
    choice, entries = asked
    with Ledger(tmp_path / "live.sqlite") as ledger:
        ledger.put_many(entries[1:])
        with pytest.raises(
            BadInput, match=f"1 of 2 calls are not in any ledger, for example {entries[0].key[:12]}"
        ):
            find_entries(tmp_path, choice, ledger)
