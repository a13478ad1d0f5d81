"""Tests of upgrading a project to the next version without losing the user's changes."""

import re
import shutil

import pytest
import yaml

from benchloom import making, upgrading
from benchloom.making import init_command
from benchloom.tree import list_tree
from benchloom.upgrading import upgrade_command
from tasks.errors import BadInput
from tests.benchloom.scenes import ROOT, git

SCHEMA = "tasks/grammar/construct/schema.py"


class Template:
    """A version of the tree that can be edited."""

    def __init__(self, root, version):
        self.root = root
        for path in [*list_tree(ROOT), *map(ROOT.__class__, ["LICENSE"])]:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, root / path)
        self.edit("pyproject.toml", r'(?m)^version = ".*"', f'version = "{version}"')

    def edit(self, path, pattern, text):
        before = (self.root / path).read_text()
        after = re.sub(pattern, lambda _: text, before, count=1)
        assert after != before
        (self.root / path).write_text(after)


@pytest.fixture
def version(tmp_path, monkeypatch):
    """Install a version whose template `init` and `--upgrade` use."""

    def install(name):
        template = Template(tmp_path / f"template-{name}", name)
        for module in (making, upgrading):
            monkeypatch.setattr(module, "find_template", lambda: template.root)
        return template

    return install


@pytest.fixture
def shop(version, tmp_path):
    version("1.0")
    init_command(tmp_path / "shop")
    return tmp_path / "shop"


def commit_edit(shop, path, text):
    (shop / path).parent.mkdir(parents=True, exist_ok=True)
    (shop / path).write_text(text)
    git(shop, "add", "-f", path)
    git(shop, "commit", "-q", "-m", f"Edit {path}")


def append(shop, path, text):
    commit_edit(shop, path, (shop / path).read_text() + text)


@pytest.mark.drill
def test_what_the_version_changed_comes_and_what_the_user_did_stays(shop, version, capsys):
    append(shop, SCHEMA, "\n\nMINE = 1\n")
    commit_edit(shop, "tasks/grammar/construct/mine.py", "MINE = 2\n")
    append(shop, "README.md", "Ours.\n")
    graph = yaml.safe_load((shop / "dvc.yaml").read_text())
    append(shop, "dvc.yaml", "\n  mine:\n    cmd: echo hello > data/mine.txt\n    outs: [data/mine.txt]\n")
    new = version("1.1")
    new.edit(SCHEMA, r'"""', '"""In new words: ')
    (new.root / "tasks/grammar/construct/fresh.py").write_text("NEW = 1\n")
    (new.root / "tasks/ragcheck/unrated.csv").unlink()
    assert upgrade_command(shop / "tasks") == 0
    assert "schema.py" in capsys.readouterr().out
    assert (shop / SCHEMA).read_text().startswith('"""In new words: ')
    assert (shop / SCHEMA).read_text().endswith("\n\nMINE = 1\n")
    assert (shop / "tasks/grammar/construct/mine.py").read_text() == "MINE = 2\n"
    assert (shop / "tasks/grammar/construct/fresh.py").exists()
    assert not (shop / "tasks/ragcheck/unrated.csv").exists()
    assert (shop / "README.md").read_text().endswith("Ours.\n")
    assert yaml.safe_load((shop / "dvc.yaml").read_text())["stages"].keys() == {*graph["stages"], "mine"}
    assert 'version = "1.1"' in (shop / "pyproject.toml").read_text()
    assert "benchloom[project]==1.1" in (shop / "pyproject.toml").read_text()
    git(shop, "commit", "-q", "-m", "Upgrade")
    assert git(shop, "status", "--porcelain") == ""
    assert upgrade_command(shop) == 0
    assert "already" in capsys.readouterr().err


def test_an_edit_of_the_same_lines_is_a_conflict_and_can_be_undone(shop, version, capsys):
    mine = (shop / SCHEMA).read_text().replace('"""', '"""Mine: ', 1)
    commit_edit(shop, SCHEMA, mine)
    head = git(shop, "rev-parse", "HEAD")
    new = version("1.1")
    new.edit(SCHEMA, r'"""', '"""Theirs: ')
    assert upgrade_command(shop) == 1
    assert SCHEMA in capsys.readouterr().err
    merged = (shop / SCHEMA).read_text()
    assert "Mine: " in merged
    assert "Theirs: " in merged
    assert "<<<<<<<" in merged
    git(shop, "merge", "--abort")
    assert (shop / SCHEMA).read_text() == mine
    assert "benchloom[project]==1.0" in (shop / "pyproject.toml").read_text()
    assert git(shop, "status", "--porcelain") == ""
    assert git(shop, "rev-parse", "HEAD") == head


@pytest.mark.drill
def test_an_edit_follows_a_file_that_the_version_moved(shop, version):
    append(shop, SCHEMA, "\n\nMINE = 1\n")
    commit_edit(shop, "tasks/grammar/construct/mine.py", "MINE = 2\n")
    new = version("1.1")
    (new.root / "tasks/grammar/construct").rename(new.root / "tasks/grammar/built")
    assert upgrade_command(shop) == 0
    assert (shop / "tasks/grammar/built/schema.py").read_text().endswith("MINE = 1\n")
    assert (shop / "tasks/grammar/construct/mine.py").exists(), "the user's own files stay where they are"
    stages = yaml.safe_load((shop / "dvc.yaml").read_text())["stages"]
    assert "tasks/grammar/built/schema.py" in stages["grammar-schema"]["do"]["deps"]


@pytest.mark.drill
def test_a_second_upgrade_merges_by_the_first(shop, version):
    append(shop, SCHEMA, "\n\nMINE = 1\n")
    for name in ("1.1", "1.2"):
        new = version(name)
        new.edit(SCHEMA, r'"""', f'"""In the words of {name}: ')
        assert upgrade_command(shop) == 0
        git(shop, "commit", "-q", "-m", f"Upgrade to {name}")
    assert (shop / SCHEMA).read_text().startswith('"""In the words of 1.2: ')
    assert (shop / SCHEMA).read_text().endswith("MINE = 1\n")


def test_the_users_parameters_stay_and_get_what_is_new(shop, version):
    own = (shop / "params.yaml").read_text()
    own = own.replace("facts: 4 ", "facts: 7 ").replace(
        "databases: {}", "databases:\n  shop: {file: shop.sqlite}"
    )
    assert own.count("facts: 7 ") == 1
    assert "shop.sqlite" in own
    commit_edit(shop, "params.yaml", own)
    new = version("1.1")
    new.edit("params.yaml", r"facts: 4 ", "facts: 40\n    fresh: 5 ")
    new.edit("params.yaml", r"offered: 3", "offered: 9")
    assert upgrade_command(shop) == 0
    params = yaml.safe_load((shop / "params.yaml").read_text())
    assert params["grammar"]["documents"]["facts"] == 7
    assert params["grammar"]["documents"]["fresh"] == 5
    assert params["grammar"]["sql_templates"]["offered"] == 3
    assert list(params["databases"]) == ["shop"]
    before = yaml.safe_load(own)
    before["grammar"]["documents"]["fresh"] = 5
    assert params == before


def test_work_that_is_not_committed_is_not_touched(shop, version):
    (shop / SCHEMA).write_text("MINE = 1\n")
    version("1.1").edit(SCHEMA, r'"""', '"""New: ')
    with pytest.raises(BadInput, match=r"schema\.py is not committed"):
        upgrade_command(shop)
    git(shop, "checkout", SCHEMA)
    (shop / "tasks/fresh.py").write_text("MINE = 1\n")
    (version("1.2").root / "tasks/fresh.py").write_text("THEIRS = 1\n")
    with pytest.raises(BadInput, match=r"tasks/fresh\.py"):
        upgrade_command(shop)
    assert (shop / "tasks/fresh.py").read_text() == "MINE = 1\n"
    assert git(shop, "status", "--porcelain") == "?? tasks/fresh.py"


def test_a_history_that_lost_the_template_gives_conflicts_and_loses_nothing(shop, version, capsys):
    append(shop, SCHEMA, "\n\nMINE = 1\n")
    git(shop, "checkout", "-q", "--orphan", "squashed")
    git(shop, "commit", "-q", "-m", "Squash")
    new = version("1.1")
    new.edit(SCHEMA, r'"""', '"""New: ')
    assert upgrade_command(shop) == 1
    assert "every file that differs" in capsys.readouterr().err
    merged = (shop / SCHEMA).read_text()
    assert "MINE = 1" in merged
    assert "New: " in merged
    assert git(shop, "diff", "--name-only", "--diff-filter=U").splitlines() == ["pyproject.toml", SCHEMA]


def test_a_template_commit_that_holds_a_users_edits_is_not_taken_for_the_template(shop, version):
    """A squash or an amended first commit mixes both; as a merge base, it would undo the user's edit."""
    (shop / SCHEMA).write_text((shop / SCHEMA).read_text() + "\n\nMINE = 1\n")
    git(shop, "commit", "-q", "-a", "--amend", "--no-edit")
    version("1.1").edit(SCHEMA, r'"""', '"""New: ')
    assert upgrade_command(shop) == 1
    assert "MINE = 1" in (shop / SCHEMA).read_text()


def test_where_there_is_nothing_to_upgrade_it_says_so(tmp_path, shop):
    with pytest.raises(BadInput, match="is not in a Benchloom project"):
        upgrade_command(tmp_path)
    inner = tmp_path / "outer"
    inner.mkdir()
    git(inner, "init", "-q")
    shutil.rmtree(shop / ".git")
    shop.rename(inner / "shop")
    with pytest.raises(BadInput, match="is part of the Git repository"):
        upgrade_command(inner / "shop")
