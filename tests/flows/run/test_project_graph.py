"""Tests that stages, edges and staleness of the graph equal DVC's."""

import os
import random
import shutil

import pytest
from dvc.repo import Repo

from flows.run.record.project_graph import ProjectGraph
from flows.run.record.recorder import Recorder
from flows.run.record.staleness import NEVER
from tasks.errors import BadInput

MANY = """\
stages:
  base:
    cmd: mkdir -p made/parts && cp raw.txt made/parts/a && cp note.md made/parts/b
    deps: [raw.txt, note.md]
    params: [shout, {other.yaml: [deep.value]}]
    outs: [made/parts]
  each:
    foreach: ${places}
    do:
      cmd: cat made/parts/a ${item.file} > made/${key}.txt
      deps: [made/parts, "${item.file}", ./folder/]
      params: ["places.${key}"]
      outs: ["made/${key}.txt"]
  all:
    cmd: cat made/north.txt made/south.txt > all.txt
    deps: [made/north.txt, made/south.txt, made/parts/b]
    outs: [all.txt]
  odd:
    cmd: wc -c < all.txt > count.txt
    deps: [all.txt]
    outs: [{count.txt: {cache: false}}]
    frozen: false
  lonely:
    cmd: date > now.txt
    outs: [now.txt]
"""

TAIL = "{cmd: cp ../all.txt t, deps: [../all.txt], outs: [t]}"


@pytest.fixture
def many(project):
    project.write("dvc.yaml", MANY)
    project.write("params.yaml", "shout: hey\nplaces:\n  north: {file: n.txt}\n  south: {file: s.txt}\n")
    project.write("other.yaml", "deep: {value: [1, 2.5, null]}\n")
    for name in ("n.txt", "s.txt"):
        project.write(name, name)
    (project.root / "folder/deep").mkdir(parents=True)
    project.write("folder/deep/x", "x")
    project.write("folder/y", "y")
    (project.root / "sub").mkdir()
    project.write("sub/dvc.yaml", f"stages:\n  tail: {TAIL}\n")
    return project


def test_stages_and_edges_are_those_of_dvcs_index(many):
    graph = ProjectGraph(many.root)
    theirs = Repo(str(many.root)).index
    edges = {
        stage.addressing: {up.addressing for up in theirs.graph.successors(stage)} for stage in theirs.stages
    }
    assert {name: set(node.upstream) for name, node in graph.nodes.items()} == edges
    assert graph.plain == {"base", "each@north", "each@south", "all"}
    for stage in theirs.stages:
        node = graph.nodes[stage.addressing]
        assert [str(many.root / path) for path in node.outs] == [out.fs_path for out in stage.outs]
        files = [dep for dep in stage.deps if dep not in stage.params]
        assert [str(many.root / path) for path in node.deps] == [dep.fs_path for dep in files]
        assert {str(many.root / path): list(names) for path, names in node.settings.items()} == {
            dep.fs_path: dep.params for dep in stage.params
        }
        assert node.command == stage.cmd


def spoil(root, chance):
    """Change a random file, like a person or another program."""
    files = sorted(
        path for path in root.rglob("*") if path.is_file() and not {".git", ".dvc"} & {*path.parts}
    )
    some = chance.choice(
        [path for path in files if path.name not in ("dvc.yaml", ".dvcignore", ".gitignore")]
    )
    what = chance.choice(["write", "remove", "touch", "params", "other", "cache", "add", "command"])
    if what == "write":
        some.unlink()
        some.write_text(f"value: {chance.random()}\n" if some.suffix == ".yaml" else str(chance.random()))
    elif what == "remove" and some.name not in ("params.yaml", "dvc.lock"):
        some.unlink()
    elif what == "touch":
        os.utime(some)
    elif what == "params":
        places = "{north: {file: n.txt}, south: {file: s.txt, x: 1}}"
        (root / "params.yaml").write_text(f"shout: {chance.choice('ab')}\nplaces: {places}\n")
    elif what == "other":
        (root / "other.yaml").write_text(
            chance.choice(["deep: {value: 2}\n", "deep: {}\n", "deep: {value: [1]}\n"])
        )
    elif what == "cache":
        kept = sorted(path for path in (root / ".dvc/cache/files").rglob("*") if path.is_file())
        chance.choice(kept).unlink()
    elif what == "add":
        (root / "folder" / f"more{chance.randrange(3)}").write_text("more")
        if (root / "made/parts").is_dir():
            (root / "made/parts/more").write_text("more")
    elif what == "command":
        (root / "dvc.yaml").write_text(
            MANY.replace("cat made/north", chance.choice(["cat  made/north", "cat made/north"]))
        )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_stale_and_why_is_what_dvc_says(many, seed):
    chance = random.Random(seed)
    if seed % 5:
        many.run()
    if seed % 3 == 0 and (many.root / "dvc.lock").exists():
        many.dvc("repro")
    for _ in range(chance.randrange(1, 4)):
        try:
            spoil(many.root, chance)
        except (IndexError, FileNotFoundError):
            continue
    recorder = Recorder(many.root)
    with recorder.repo.lock:
        theirs = {name: recorder._ask_dvc(name) for name in recorder.nodes}
    ours = {name: recorder.explain(name) for name in recorder.nodes}
    recorder.close()
    for name, reasons in ours.items():
        if reasons == [NEVER]:
            assert theirs[name], name
        else:
            assert sorted(reasons) == sorted(theirs[name]), name


def test_what_changes_within_one_process_is_seen(many):
    many.run()
    recorder = Recorder(many.root)
    assert recorder.explain("each@north") == []
    many.write("folder/y", "other")
    assert recorder.explain("each@north") == ["folder modified"]
    many.write("folder/y", "y")
    assert recorder.explain("each@north") == []
    shutil.rmtree(many.root / "folder")
    assert recorder.explain("each@north") == ["folder deleted"]
    recorder.close()


def test_after_our_run_neither_has_anything_to_do(many):
    assert set(many.states().values()) == {"ran"}
    assert "Data and pipelines are up to date." in many.dvc("status")
    assert set(many.states().values()) == {"fresh"}


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("  more: {cmd: x, deps: [raw.txt], outs: [all.txt]}\n", "all.txt"),
        ("  more: {cmd: x, deps: [raw.txt], outs: [made]}\n", "overlap"),
        ("  more: {cmd: x, deps: [all.txt], outs: [raw.txt]}\n", "both a dependency and an output"),
        ("  more: {cmd: 'x ${nothing}', deps: [raw.txt]}\n", "nothing"),
        ("  more: {comand: x}\n", "dvc.yaml"),
    ],
)
def test_a_graph_that_is_none_is_refused_in_dvcs_words(many, block, line):
    many.write("dvc.yaml", many.read("dvc.yaml") + block)
    with pytest.raises(BadInput, match=rf"(?s)dvc\.yaml.*{line}"):
        ProjectGraph(many.root)


def test_a_folder_without_stages_has_none(project):
    (project.root / "dvc.yaml").unlink()
    assert ProjectGraph(project.root).nodes == {}


def test_kept_blocks_are_those_of_the_files_as_they_are_now(many):
    """DVC resolves dvc.yaml and params.yaml only after an edit, or if the cache is damaged."""
    kept = many.root / ".benchloom/blocks.json"

    def read():
        graph = ProjectGraph(many.root)
        try:
            return dict(graph.nodes)
        finally:
            graph.repo.close()

    first = read()
    assert kept.is_file()
    before = kept.read_bytes()
    assert read() == first
    assert kept.read_bytes() == before

    many.write("params.yaml", many.read("params.yaml") + "  west: {file: s.txt}\n")
    assert read().keys() - first.keys() == {"each@west"}
    many.write("dvc.yaml", MANY.replace("made/${key}.txt", "made/${key}.text"))
    assert read()["each@north"].outs == ("made/north.text",)
    kept.write_text('{"of": 1, "blocks": []}')
    assert read()["each@north"].outs == ("made/north.text",)
    kept.write_text("no json")
    assert "each@west" in read()

    many.write("dvc.yaml", "vars:\n  - other.yaml\n" + MANY)  # no hash includes other.yaml
    kept.unlink()
    assert "each@west" in read()
    assert not kept.exists()
