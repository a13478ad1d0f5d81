"""Drill: enable a company and a closed variant in params.yaml, and run the real commands.

An endpoint on loopback writes any text that the grammars allow, so the drill tests the graph, not the texts.
"""

import shutil
import subprocess

import pytest
import yaml

from tasks.artifacts.contracts import read_findings
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.grammar.closed.closed_entry import Renaming
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.projects import CompanyProject
from tasks.grammar.construct.fill_in import Group
from tasks.systems.contract import Document
from tests.flows.sample import Sample, make_sample
from tests.grammar.writing import write_reply
from tests.models.scenes import answering

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1200)]
COMPANY = {"seed": 3, "departments": 2, "employees": 7, "clients": 3, "projects": 3, "services": 2}
CLOSED = {
    "file": "data/companies/trial/database/company.sqlite",
    "documents": "data/companies/trial/documents.parquet",
    "columns": {"clients.client_name": "company", "employees.full_name": "person"},
}


def switch_on(sample: Sample, url: str) -> None:
    path = sample.root / "params.yaml"
    params = yaml.safe_load(path.read_text())
    params["companies"] = {"trial": COMPANY}
    params["closed"] = {"trial": CLOSED}
    params["databases"]["trial"] = {"file": CLOSED["file"], "title": "A company"}
    params["databases"]["trial_closed"] = {"file": "data/closed/trial/database.sqlite", "title": "Closed"}
    params["run"]["endpoints"]["qwen25-coder-1b5"] = {"url": url, "in_flight": 8}
    path.write_text(yaml.safe_dump(params, sort_keys=False))


def run(sample: Sample, *words: str) -> str:
    done = subprocess.run(
        sample.command("flows.cli", "run", "--plain", *words),
        cwd=sample.root, env=sample.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_switched_on_they_are_made_and_asked_about_and_replayed(tmp_path):
    sample = make_sample(tmp_path / "project")
    targets = ("grammar.closed_contracts", "grammar-fill-in@trial", "grammar-fill-in@trial_closed",
               "grammar.company.contracts")  # fmt: skip
    with answering(write_reply) as url:
        switch_on(sample, url)
        run(sample, *targets)
    data = sample.root / "data"
    people = read_rows(data / "companies/trial/employees.parquet", Employee)
    assert len(people) == 7
    assert len(read_rows(data / "companies/trial/projects.parquet", CompanyProject)) == 3
    for folder in ("companies", "closed"):
        assert {finding.state for finding in read_findings(data / folder / "trial/contracts")} == {"held"}
    documents = read_rows(data / "companies/trial/documents.parquet", Document)
    dropped = read_rows(data / "companies/trial/documents.dropped.parquet", Dropped)
    assert len(documents) == 3 + 1 + 3, dropped
    for name in ("trial", "trial_closed"):
        assert read_rows(data / f"grammar/{name}/fill_in.parquet", Group)
    renamings = read_rows(data / "closed/trial/closed_names.parquet", Renaming)
    assert {renaming.old for renaming in renamings} >= {person.name for person in people}
    closed = " ".join(row.text for row in read_rows(data / "closed/trial/documents.parquet", Document))
    assert not [renaming.old for renaming in renamings if renaming.old in closed]
    assert [renaming.new for renaming in renamings if renaming.new in closed]

    # Repeat with the ledger alone, without an endpoint.
    before = sample.artifacts()
    lock = sample.lock()
    for name in ("companies", "closed"):
        for path in sorted((data / name).rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    (sample.root / "dvc.lock").unlink()
    shutil.rmtree(sample.root / ".dvc/cache")
    run(sample, "--replay", *targets)
    assert sample.artifacts() == before
    after = sample.lock()["stages"]
    assert len(after) > 15
    assert after == {name: lock["stages"][name] for name in after}
