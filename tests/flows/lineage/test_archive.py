import hashlib
import json
import os
import subprocess

import pytest

from flows.lineage.archive import Archive, hash_path
from flows.lineage.git import Git
from flows.lineage.lock import read_graph
from flows.nights.worktree import describe_left_out, run_git
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.rendering import render_json
from tasks.lineage.result import LineageResult


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def git(root, *words):
    settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(root), *settings, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x", "--allow-empty")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path):
    """A project in a subfolder of its repository, to distinguish the two kinds of relative paths."""
    git(tmp_path, "init", "-q")
    root = tmp_path / "below"
    root.mkdir()
    return root


def open_archive(root, *facts):
    found = Git(root)
    stage = StageRecord("s", "c", facts)
    return Archive(root, Graph((stage,), found.find_head(), False, found.list_changed()))


def test_a_file_as_recorded_is_in_the_last_commit_that_touched_it(project):
    first = commit(project, tasks__a="one", tasks__b="x")
    commit(project, tasks__b="y")
    fact = FileRecord("tasks/a", md5("one"))

    archive = open_archive(project, fact)

    assert (archive.check(fact), archive.find_commit(fact)) == ("same", first)


def test_a_file_that_was_changed_since_is_found_in_its_history(project):
    first = commit(project, tasks__a="one")
    commit(project, tasks__a="two")
    (project / "tasks/a").write_text("three")
    old, lost = FileRecord("tasks/a", md5("one")), FileRecord("tasks/a", md5("never"))

    archive = open_archive(project, old, lost)

    assert (archive.check(old), archive.find_commit(old)) == ("changed", first)
    assert archive.find_commit(lost) is None


def test_a_folder_has_dvcs_hash_and_a_history_too(project):
    first = commit(project, tasks__prompts__a="one", tasks__prompts__sub__b="two")
    listing = [{"md5": md5("one"), "relpath": "a"}, {"md5": md5("two"), "relpath": "sub/b"}]
    fact = FileRecord("tasks/prompts", md5(json.dumps(listing)) + ".dir")
    assert (open_archive(project, fact).check(fact), open_archive(project, fact).find_commit(fact)) == (
        "same",
        first,
    )

    commit(project, tasks__prompts__a="three")

    assert (open_archive(project, fact).check(fact), open_archive(project, fact).find_commit(fact)) == (
        "changed",
        first,
    )


def test_a_file_that_two_branches_changed_is_in_their_merge(project):
    commit(project, tasks__a="1\n2\n3\n4\n5\n")
    git(project, "checkout", "-qb", "side")
    side = commit(project, tasks__a="1\n2\n3\n4\nfive\n")
    git(project, "checkout", "-q", "-")
    commit(project, tasks__a="one\n2\n3\n4\n5\n")
    git(project, "merge", "-q", "--no-edit", "side")
    merged = FileRecord("tasks/a", md5("one\n2\n3\n4\nfive\n"))
    on_the_side = FileRecord("tasks/a", md5("1\n2\n3\n4\nfive\n"))

    archive = open_archive(project, merged)

    assert archive.find_commit(merged) == git(project, "rev-parse", "HEAD")
    assert archive.find_commit(on_the_side) == side


def test_what_is_not_committed_has_no_commit(project):
    commit(project, tasks__a="one")
    (project / "tasks/a").write_text("two")
    (project / "tasks/b").write_text("new")
    facts = FileRecord("tasks/a", md5("two")), FileRecord("tasks/b", md5("new"))

    archive = open_archive(project, *facts)

    assert [(archive.check(fact), archive.find_commit(fact)) for fact in facts] == [("same", None)] * 2
    assert Git(project).list_changed() == ("tasks/a",)


def test_missing_and_unrecorded_files_are_told_apart(project):
    commit(project, tasks__a="one")
    archive = open_archive(project)

    assert archive.check(FileRecord("tasks/gone", "aa")) == "missing"
    assert archive.check(FileRecord("tasks/a")) == "unchecked"
    assert archive.check(FileRecord("tasks/a", md5("one"), 99)) == "changed"


def test_without_git_nothing_is_known(tmp_path):
    (tmp_path / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n")
    (tmp_path / "a").write_text("one")
    fact = FileRecord("a", md5("one"))

    graph = read_graph(tmp_path)

    if Git(tmp_path).find_head() is None:  # the temporary folder may be in a repository
        assert (graph.commit, graph.dirty, graph.recorded_in) == (None, False, None)
    assert Archive(tmp_path, Graph(())).find_commit(fact) is None


def test_the_graph_says_where_its_record_was_committed(project):
    first = commit(project, **{"dvc.lock": "schema: '2.0'\nstages: {}\n"})
    head = commit(project, other="x")
    assert (lambda graph: (graph.commit, graph.recorded_in, graph.dirty))(read_graph(project)) == (
        head,
        first,
        False,
    )

    (project / "other").write_text("y")

    assert (lambda graph: (graph.dirty, graph.uncommitted))(read_graph(project)) == (True, ("other",))


ODD_NAMES = [
    b"caf\xe9.txt", b"\xff", b"two\nlines", b"\nbegins", b"tab\t", b' "quoted" ', b"\x01" + b"a" * 40, b"-n",
    b"[a]*?", "naïve 数".encode(), b":(exclude)x", b"back\\slash", b"\xed\xb3\xbf",
]  # fmt: skip


@pytest.fixture
def odd(project):
    """A project with committed files whose names are not valid text, in a folder that a stage reads."""
    commit(project, tasks__odd__a="one")
    for name in ODD_NAMES:
        path = project / "tasks/odd" / os.fsdecode(name)
        path.write_text("one")
    return project


def test_names_that_are_no_text_are_read_as_they_are(odd):
    last = commit(odd, tasks__b="x")
    names = {f"tasks/odd/{os.fsdecode(name)}" for name in ODD_NAMES}
    assert Git(odd).list_uncommitted() == ()
    found = Git(odd).find_last([*names, "tasks/odd"])
    assert found == dict.fromkeys([*names, "tasks/odd"], last)
    for name in names:
        (odd / name).write_text("two")
    (odd / os.fsdecode(b"new\xff")).write_text("new")
    assert set(Git(odd).list_changed()) == names
    assert set(Git(odd).list_uncommitted()) == {*names, os.fsdecode(b"new\xff")}


def test_a_folder_with_names_that_are_no_text_is_found_in_its_commit(odd):
    second = commit(odd, tasks__odd__b="x")
    fact = FileRecord("tasks/odd", hash_path(odd / "tasks/odd"))
    assert open_archive(odd, fact).find_commit(fact) == second
    commit(odd, tasks__odd__b="y")
    assert open_archive(odd, fact).find_commit(fact) == second, "in its history"
    (_, contents), *_ = Git(odd).list_versions("tasks/odd", 2)
    assert {os.fsdecode(name) for name in ODD_NAMES} < contents.keys()


def test_commits_without_files_come_between(project):
    first = commit(project, tasks__a="one")
    git(project, "commit", "-q", "--allow-empty", "-m", "nothing")
    second = commit(project, tasks__b="two")
    assert Git(project).find_last(["tasks/a", "tasks/b", "tasks/c"]) == {"tasks/a": first, "tasks/b": second}


def test_a_branch_of_any_name_is_listed(project):
    commit(project, tasks__a="one")
    names = ["nightly/caf\udce9", "nightly/a\u00a0b", "nightly/c"]
    for name in names:
        git(project, "branch", name)
    assert set(Git(project).list_branches("nightly/")) == set(names)


def test_a_night_names_uncommitted_files_whose_names_are_no_text(odd):
    (odd / "params.yaml").write_text("{}")
    commit(odd)
    assert describe_left_out(odd) == ""
    (odd / os.fsdecode(b"caf\xe9\n")).write_text("new")
    line = describe_left_out(odd)
    assert line.endswith(r": caf\udce9\n"), line
    assert run_git(odd, "ls-files", "-z").count("\0") == len(ODD_NAMES) + 2


def test_a_lineage_over_such_names_is_written(odd):
    commit(odd)
    for name in ODD_NAMES:
        (odd / "tasks/odd" / os.fsdecode(name)).write_text("two")
    (odd / "dvc.lock").write_text("schema: '2.0'\nstages: {}\n")
    graph = read_graph(odd)
    shown = json.loads(render_json(LineageResult("x", (), graph=graph)).encode())
    assert r"tasks/odd/caf\udce9.txt" in shown["uncommitted"]
