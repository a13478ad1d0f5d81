"""A user's project with one small database, whose dataset a person's templates make, without a model."""

import json
from pathlib import Path

from benchloom.yaml_files import load_yaml, write_yaml
from tests.benchloom.scenes import call
from tests.grammar.construct.test_own_templates import LINES
from tests.grammar.scripted import make_database


def make_shop(folder: Path, *targets: str, **entry: str) -> Path:
    """Make the project below a folder and run targets in it. entry: more of the database's in params.yaml."""
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
