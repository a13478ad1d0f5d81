"""Fixtures that score a list of rows through a file, like the command."""

import json

import pytest

from tasks.scoring.registry import make_metric
from tasks.scoring.running import score_file


@pytest.fixture
def score(tmp_path):
    """Return a function: rows -> report; further arguments are options of the metric."""

    def run(name, rows, *, rule=None, intervals=None, items=None, **options):
        path = tmp_path / "items.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        metric = make_metric(name, options)
        return score_file(metric, str(path), rule=rule, intervals=intervals, items=items)

    return run


@pytest.fixture
def score_items(score, tmp_path):
    """Return a function: rows -> lines of `--items`."""

    def run(name, rows, **options):
        path = tmp_path / "scored.jsonl"
        score(name, rows, items=path, **options)
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    return run
