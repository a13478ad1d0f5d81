import subprocess
from pathlib import Path

import pytest
import yaml

from flows.nights.once import place_ledger, run_night
from flows.nights.worktree import WHOLE, NightTree, require_commit
from tasks.errors import BadInput


def test_a_night_finds_the_ledger_that_params_name(tmp_path, monkeypatch):
    def name_ledger(address):
        (tmp_path / "params.yaml").write_text(yaml.safe_dump({"run": {"ledger": address}}))
        return place_ledger(tmp_path)

    monkeypatch.delenv("BENCHLOOM_LEDGER", raising=False)
    assert name_ledger("own/l.sqlite") == {"BENCHLOOM_LEDGER": str(tmp_path / "own/l.sqlite")}
    assert name_ledger("~/l.sqlite") == {"BENCHLOOM_LEDGER": str(Path.home() / "l.sqlite")}
    assert name_ledger("postgresql://team@server/ledger") == {}  # read unchanged from params.yaml
    assert name_ledger(None) == {}
    monkeypatch.setenv("BENCHLOOM_LEDGER", "/elsewhere/l.sqlite")
    assert name_ledger("own/l.sqlite") == {}


def test_a_night_in_a_submodule_is_refused_before_anything_is_made(tmp_path):
    def git(folder, *words):
        settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always")
        subprocess.run(["git", "-C", folder, *settings, *words], check=True, capture_output=True)

    lake, above = tmp_path / "lake", tmp_path / "above"
    for folder in (lake, above):
        folder.mkdir()
        git(folder, "init", "-q")
        (folder / "params.yaml").write_text("{}")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "Begin")
    git(above, "submodule", "add", str(lake), "lake")
    with pytest.raises(BadInput, match=r"is a submodule of \S+above, and DVC cannot read a worktree"):
        run_night(above / "lake", "2031-07-09", (), print)
    assert not (above / "lake/.benchloom/nightly/tree").exists()
    branches = subprocess.run(["git", "-C", above / "lake", "branch"], capture_output=True, check=True)
    assert b"nightly" not in branches.stdout
    assert require_commit(lake)


def test_a_worktree_that_a_kill_left_half_made_is_made_anew_and_a_whole_one_is_gone_on_in(tmp_path):
    def git(*words):
        settings = ("-c", "user.name=t", "-c", "user.email=t@t")
        subprocess.run(["git", "-C", tmp_path, *settings, *words], check=True, capture_output=True)

    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "Begin")
    tree = NightTree(tmp_path, "one")
    tree.open(replace=True)
    (tree.root / "made.txt").write_text("by the night")
    tree.open(replace=False)
    assert (tree.root / "made.txt").read_text() == "by the night"

    # Simulate a kill within `git worktree add`: the branch exists, with only some of its files.
    (tmp_path / WHOLE).unlink()
    (tree.root / "b.txt").unlink()
    tree.open(replace=False)
    assert (tree.root / "b.txt").read_text() == "b"
    assert not (tree.root / "made.txt").exists()
