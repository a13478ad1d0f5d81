"""Tests that rows in any order are written sorted by id, with the same bytes as `write_rows`."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.artifacts import sorted_tables
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import schema_of
from tasks.artifacts.sorted_tables import SortedWriter, make_table

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Leaf:
    text: str
    number: float | None
    whole: int | None


@dataclass(frozen=True)
class Tree:
    id: str
    sure: bool
    leaf: Leaf
    leaves: tuple[Leaf, ...]
    words: tuple[str, ...]


LETTERS = st.text(st.characters(exclude_categories=("Cs",)))
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.builds(Leaf, LETTERS, NUMBERS, st.none() | st.integers(-(2**63), 2**63 - 1))
TREES = st.builds(
    Tree, LETTERS, st.booleans(), LEAVES, st.lists(LEAVES, max_size=3).map(tuple), st.tuples(LETTERS)
)


def as_record(tree):
    leaves = [vars(leaf) for leaf in tree.leaves]
    return {**vars(tree), "leaf": vars(tree.leaf), "leaves": leaves, "words": list(tree.words)}


@given(st.lists(TREES, min_size=1, max_size=5))
def test_a_table_holds_what_its_rows_do(trees):
    schema = schema_of(Tree)
    expected = pa.Table.from_pylist([as_record(tree) for tree in trees], schema=schema)
    assert make_table(trees, schema) == expected
    assert make_table(trees, schema).schema == schema


def make_tree(number):
    leaf = Leaf(f"ä\0{number}", number / 3, None)
    return Tree(f"{number * 7919 % 1000:04d}", number % 2 == 0, leaf, (leaf,) * (number % 3), ())


@pytest.mark.parametrize("count", [0, 1, 10, 11, 300])
def test_runs_that_are_merged_have_the_bytes_of_one_writing(tmp_path, monkeypatch, count):
    monkeypatch.setattr(sorted_tables, "RUN", 10)
    monkeypatch.setattr(sorted_tables, "MERGED", 3)
    trees = [make_tree(number) for number in range(count)]
    with SortedWriter(Tree, tmp_path) as writer:
        for tree in trees:
            writer.add(tree)
        writer.finish(tmp_path / "runs.parquet")
    monkeypatch.setattr("tasks.artifacts.parquet.ROW_GROUP", 10)
    write_rows(tmp_path / "once.parquet", Tree, trees)
    assert (tmp_path / "runs.parquet").read_bytes() == (tmp_path / "once.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["once.parquet", "runs.parquet"]


@pytest.mark.parametrize("count", [2, 25])
def test_one_id_twice_is_refused(tmp_path, monkeypatch, count):
    monkeypatch.setattr(sorted_tables, "RUN", 10)
    with SortedWriter(Tree, tmp_path) as writer:
        for number in (*range(count), 0):
            writer.add(make_tree(number))
        with pytest.raises(ValueError, match=r"two rows have the same id"):
            writer.finish(tmp_path / "runs.parquet")


def test_a_process_that_reads_a_dump_does_not_import_pandas(tmp_path):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from flows.importing import bring_in\n"
        "from tasks.sources.importers.wikidata import Wikidata\n"
        "from tests.sources.wikidata.scenes import entity, item, statement, write_dump\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "made = [entity(f'Q{n}', statement(item('P31', 'Q5'), 0, f'Q{n}')) for n in range(1, 9)]\n"
        "paths = [write_dump(folder / f'{n}.json', *made[n::2]) for n in range(2)]\n"
        "bring_in(folder, Wikidata(places=list(map(str, paths))))\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
