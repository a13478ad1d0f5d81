"""Tests that execute all cells of the notebooks in docs/notebooks, in a separate folder."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
BOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.drill
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_what_it_asserts_holds(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.delenv("PYTHONPATH", raising=False)  # a user's kernel has no checkout on its path
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    NotebookClient(
        book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert len(code) > 5
    assert all(cell.execution_count for cell in code)


def test_a_notebook_is_committed_without_what_it_printed():
    assert len(BOOKS) == 2
    for path in BOOKS:
        book = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells), path
