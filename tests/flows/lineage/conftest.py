"""The sample, replayed, for all that walk it."""

import hashlib
import subprocess

import pytest
import yaml

from tests.flows.sample import ROOT, make_sample


def is_replayed(root):
    """Whether a project holds the very artifacts that its dvc.lock records, reports and code included."""
    try:
        stages = yaml.safe_load((root / "dvc.lock").read_text())["stages"].values()
        files = {
            record["path"]: record["md5"] for stage in stages for record in (*stage["outs"], *stage["deps"])
        }
        return all(
            hashlib.md5((root / path).read_bytes()).hexdigest() == md5
            for path, md5 in files.items()
            if not md5.endswith(".dir")
        )
    except OSError:
        return False


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """The project where its sample has been replayed, else a copy that is replayed and committed here."""
    if is_replayed(ROOT):
        return ROOT
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    sample.run()
    for words in (
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "the sample"],
    ):
        subprocess.run(["git", "-C", str(sample.root), *words], check=True)
    return sample.root
