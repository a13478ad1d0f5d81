"""Tests of the README's steps for a new user: a new database, questions, documents, three systems.

The model is scripted (`endpoint.py`). The system under test is a real RAG (`system.py`): without faults, with
a bad answerer, and with a bad retriever.
"""

import json
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.benchloom.scenes import ROOT, call
from tests.flows.sample import find_port
from tests.newcomer.boatyard import make_boatyard
from tests.newcomer.system import BAD_ANSWERER, BAD_RETRIEVER, GOOD

DATABASE = """\
databases:
  shop:
    file: yard.sqlite
    title: Our boatyard
    licence: proprietary
    glossary:
      tblWrkr: worker
      tblWrkr.dt_start: hire date
      lkpShed.cap: capacity
      tbl_Vessel.LOA_m: length in metres
      tbl_Vessel.Hull Mat.: hull material
      Owners.mbr_since: year of joining
      Job Orders: repair job
      Job Orders.dt_in: start date
      Job Orders.dt_out: end date
      Job Orders.EstCost: estimated cost in pounds
      Parts.descr: description
      Parts.stk: stock
      Parts.UnitPrice: price in pounds
      Suppliers.Lead Days: lead time
    leave_out: [Owners.tel, zz_import_2019, tbl_Vessel.typ, Parts.group, Job Orders.order, JobParts.Qty-2]
    kinds: [lookup, joined, narrowed, listed]
"""
SYSTEM = """\
  {name}:
    kind: http
    version: "1"
    answer: {{path: /{name}/answer, body: {{query: "{{question}}"}}, text: reply.text,
      passages: sources, contexts: text, ids: id}}
"""
ODD = re.compile(r"\b(?:tbl|lkp|wrkr|dt|yr|stk|loa|mbr|qty|ref)\b", re.IGNORECASE)
UNCLEAR = ["tblWrkr.nm", "tbl_Vessel.Yr_Built"]
NAMED = {GOOD: "none shown", BAD_ANSWERER: "model", BAD_RETRIEVER: "retrieval"}


@contextmanager
def serve(module: str, *words: str):
    """Serve a module of this folder on a free port; yield its URL."""
    port = find_port()
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.newcomer.{module}", *words, str(port)], cwd=ROOT
    )
    try:
        for _ in range(600):
            assert process.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def put(path: Path, *changes: tuple[str, str]) -> None:
    """Replace texts in a file; each text must exist."""
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def succeed(folder: Path, *words: str) -> str:
    done = call(folder, *words)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.mark.drill
@pytest.mark.timeout(3600)
def test_a_newcomer_learns_which_module_is_at_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    succeed(tmp_path, "init", "shop")
    shop = tmp_path / "shop"
    make_boatyard(shop / "yard.sqlite")
    with serve("endpoint") as model:
        put(
            shop / "params.yaml",
            ("databases: {}\n", DATABASE),
            ("model: qwen25-coder-1b5", "model: scripted"),
            ("  endpoints:\n", f"  endpoints:\n    scripted: {{kind: openai, url: '{model}/v1'}}\n"),
        )
        succeed(shop, "plan", "grammar-dataset@shop")
        said = succeed(shop, "run", "--plain", "grammar-dataset@shop")
        # No one has named these two columns; their abbreviations are expanded.
        unclear = pq.read_table(shop / "data/grammar/shop/glossary.dropped.parquet").to_pylist()
        assert sorted(drop["detail"].partition(":")[0] for drop in unclear) == UNCLEAR
        assert {drop["reason"] for drop in unclear} == {"unclear_name"}
        questions = pq.read_table(shop / "data/grammar/shop/balanced.parquet").to_pylist()
        assert len({question["sql_template"] for question in questions}) >= 12
        assert len(questions) >= 400
        assert [q["question"] for q in questions if ODD.search(q["question"])] == []
        assert "model calls: paid in this run" in said

        assess = "".join(
            f"  shop-{name}: {{database: shop, system: {name}, llm_only: shop-{name}, baselines: false}}\n"
            for name in NAMED
        )
        systems = "".join(SYSTEM.format(name=name) for name in NAMED)
        put(
            shop / "params.yaml",
            ("assessments: {}\n", f"assessments:\n{assess}"),
            ("\nsystems:\n", f"\nsystems:\n{systems}"),
        )
        succeed(shop, "run", "--plain", "grammar-documents@shop")
        with serve("system", str(shop / "data/grammar/shop/documents.parquet")) as system:
            text = (shop / "params.yaml").read_text()
            own = "".join(f"    {name}: {{url: '{system}'}}\n" for name in NAMED)
            before, _, after = text.rpartition("  systems: {}")
            (shop / "params.yaml").write_text(f"{before}  systems:\n{own}{after.partition(chr(10))[2]}")
            succeed(shop, "run", "--plain", *(f"grammar-assessment-report@shop-{name}" for name in NAMED))
    found = {
        name: json.loads((shop / f"data/reports/grammar/shop-{name}/report.json").read_text())
        for name in NAMED
    }
    assert {name: record["losses"]["module"] for name, record in found.items()} == NAMED
    for name, record in found.items():
        assert record["finding"].startswith(f"Module at fault: {NAMED[name]} ")
    losses = found[GOOD]["losses"]
    assert losses["wrong"]["value"] < losses["n"]["value"] / 4
