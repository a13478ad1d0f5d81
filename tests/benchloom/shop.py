"""A user's project with one small database and hand-written templates, so that no model is needed."""

import json
from pathlib import Path

from benchloom.yaml_files import load_yaml, write_yaml
from tests.benchloom.scenes import call
from tests.grammar.construct.test_own_templates import LINES
from tests.grammar.scripted import make_database


def make_shop(folder: Path, *targets: str, **entry: str) -> Path:
    """Create the project below a folder and run targets. entry: additional fields of the database's entry."""
    assert call(folder, "init", "shop").returncode == 0
    root = folder / "shop"
    make_database(root / "data/shop.sqlite")
    params = load_yaml(root / "params.yaml")
    own = {"file": "data/shop.sqlite", "title": "Shop", "licence": "CC0-1.0"}
    params["databases"] = {"shop": {**own, **entry}}
    write_yaml(root / "params.yaml", params)
    lines = folder / "lines.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    for words in (
        ("import", "templates", str(lines), "--database", "shop", "--instead"),
        ("run", "--plain", "--set", "grammar.documents.written_by=plain", *targets),
    ):
        done = call(root, *words)
        assert done.returncode == 0, done.stderr
    return root
