"""Tests that contracts detect and name planted errors in a closed variant."""

import pytest

from tasks.artifacts.contracts import read_findings
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import ContractBroken
from tasks.grammar.closed.closed_contracts import closed_contracts
from tasks.grammar.closed.closed_documents import closed_documents
from tasks.grammar.closed.closed_entry import Renaming
from tasks.models.calls import Call
from tasks.systems.contract import Document
from tests.grammar.sample import make_call

CALL = make_call("closed_names", "row", "text")
NAMES = {"Delta": "Quorin", "Old Oak Co": "Vostel Oak", "Envoy": "Pexo"}
TEXT = "Delta bought Old Oak Co, and DELTA was glad. An envoy came."


def make_renamings(**changes: str) -> list[Renaming]:
    return [
        Renaming(make_id("renaming", old), "brands", "brand", "company", old, changes.get(old, new), False,
                 (Origin("call", CALL.id),))
        for old, new in NAMES.items()
    ]  # fmt: skip


def check(folder, renamings, documents=None):
    """Run the stage; return its findings, or the violated contracts with their problems."""
    told = (
        documents or closed_documents([Document("d1", "Delta", TEXT, (Origin("row", "x"),))], renamings).rows
    )
    names, texts = folder / "closed_names.parquet", folder / "documents.parquet"
    write_rows(names, Renaming, renamings)
    write_rows(texts, Document, told)
    write_rows(folder / "closed_names.calls.parquet", Call, [CALL])
    try:
        closed_contracts(names, texts, folder / "contracts")
    except ContractBroken:
        found = [result for result in read_findings(folder / "contracts") if result.state == "broken"]
        return {result.id: result.details for result in found}
    assert {result.state for result in read_findings(folder / "contracts")} == {"held"}
    return {}


def test_what_the_stages_write_holds(tmp_path):
    assert check(tmp_path, make_renamings()) == {}


@pytest.mark.parametrize("new", ["Envoy", "ENVOY", "Envoy Sky", "old oak co"])
def test_a_successor_that_is_or_holds_a_name_is_named(tmp_path, new):
    broken = check(tmp_path, make_renamings(Delta=new))
    (detail,) = broken["closed_names.new_name"]
    assert detail.startswith(f"{new} contains ")


def test_two_names_of_one_successor_are_named(tmp_path):
    broken = check(tmp_path, make_renamings(Envoy="QUORIN"))
    assert broken == {
        "closed_names.one_successor": (
            "Quorin is paired with Delta, Envoy",
            "QUORIN is paired with Delta, Envoy",
        )
    }


@pytest.mark.parametrize("text", ["He flew with Delta.", "He flew with DELTA.", "He bought the old oak co."])
def test_a_document_that_still_says_a_name_is_named(tmp_path, text):
    documents = [Document("d1", "A page", text, (Origin("row", "documents#d1"),))]
    broken = check(tmp_path, make_renamings(), documents)
    (detail,) = broken["documents.closed"]
    assert detail.startswith("still contains ")


def test_a_word_that_only_looks_like_a_name_is_none(tmp_path):
    documents = [
        Document("d1", "A page", "The envoy saw deltas and a delta.", (Origin("row", "documents#d1"),))
    ]
    assert check(tmp_path, make_renamings(), documents) == {}
