import json

import pyarrow.parquet as pq
import pytest

from tasks.artifacts.graph import FileFact, Graph, StageFact
from tasks.artifacts.lineage import Lineage, trace_file, walk_nodes
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.artifacts.trees import render_json, render_text
from tasks.errors import BadInput
from tasks.grammar.rows import Question
from tests.grammar.sample import write_sample

GRAPH = Graph(
    (
        StageFact(
            "sources-films", "make films",
            (FileFact("data/raw/movies.db", "aa"), FileFact("tasks/films.py", "cc")),
            (FileFact("data/films.sqlite", "bb", 9),), {"films": 400},
        ),
        StageFact(
            "grammar-schema@films", "make schema", (FileFact("data/films.sqlite", "bb"),),
            (FileFact("data/grammar/films/schema.parquet", "dd"),),
        ),
    ),
    commit="f00d",
)  # fmt: skip


@pytest.fixture
def sample(tmp_path):
    return write_sample(tmp_path)


def test_every_question_walks_back_to_calls_prompts_and_the_raw_file(sample, tmp_path):
    lineage = Lineage(sample.folder, GRAPH, tmp_path)
    for question in sample.questions:
        nodes = list(walk_nodes(lineage.trace("balanced", question.id)))

        stems = {each.reference.partition("#")[0] for each in nodes if each.kind == "row"}
        assert stems == {"balanced", "back_check", "text_templates", "fill_in", "sql_templates", "schema"}
        assert {each.summary["stage"] for each in nodes if each.kind == "call"} == {
            "grammar.sql_templates", "grammar.text_templates", "grammar.back_check",
        }  # fmt: skip
        assert sum(each.kind == "prompt" for each in nodes) == 3
        assert {each.reference for each in nodes if each.kind == "file"} == {
            "data/films.sqlite",
            "data/raw/movies.db",
        }


def test_leaves_are_prompts_and_files_only(sample, tmp_path):
    node = Lineage(sample.folder, GRAPH, tmp_path).trace("balanced", sample.questions[0].id)

    assert {each.kind for each in walk_nodes(node) if not each.parents} == {"prompt", "file"}


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        (Origin("call", "deadbeef"), "the call deadbeef"),
        (Origin("row", "fill_in#gone"), "fill_in#gone"),
        (Origin("row", "lost#1"), "lost.parquet"),
        (Origin("file", "data/gone.csv"), "data/gone.csv"),
        (Origin("rumour", "x"), "rumour"),
    ],
)
def test_an_origin_that_leads_nowhere_is_named(sample, tmp_path, origin, named):
    row = Dropped("1", "planted", "", (origin,))
    write_rows(sample.folder / "planted.parquet", Dropped, [row])

    with pytest.raises(BadInput, match=r"gap.*planted#1") as caught:
        Lineage(sample.folder, GRAPH, tmp_path).trace("planted", "1")

    assert named in str(caught.value)


def test_rows_that_come_from_each_other_are_an_error(sample):
    rows = [
        Dropped("1", "", "", (Origin("row", "ring#2"),)),
        Dropped("2", "", "", (Origin("row", "ring#1"),)),
    ]
    write_rows(sample.folder / "ring.parquet", Dropped, rows)

    with pytest.raises(BadInput, match="origin of itself"):
        Lineage(sample.folder).trace("ring", "1")


def test_the_beginning_of_an_id_is_enough(sample):
    question = sample.questions[0]

    node = Lineage(sample.folder).trace("balanced", question.id[:10])

    assert node.reference == f"balanced#{question.id}"
    assert node.summary["question"] == question.question


def test_an_unknown_row_says_what_there_is(sample):
    with pytest.raises(BadInput, match="no row 'nonesuch'") as caught:
        Lineage(sample.folder).trace("balanced", "nonesuch")

    some = read_rows(sample.folder / "balanced.parquet", Question)[0].id
    assert some in str(caught.value)


def test_an_unknown_artifact_says_what_there_is(sample):
    with pytest.raises(BadInput, match=r"balanced\.parquet"):
        Lineage(sample.folder).trace("balance", "1")


def test_a_dropped_row_has_a_lineage_too(sample):
    drop = pq.read_table(sample.folder / "back_check.dropped.parquet").to_pylist()[0]

    node = Lineage(sample.folder).trace("back_check.dropped", drop["id"])

    assert any(each.reference.startswith("text_templates#") for each in walk_nodes(node))


def test_an_artifact_not_yet_in_the_lock_is_no_source(sample, tmp_path):
    with pytest.raises(BadInput, match=r"not in dvc\.lock"):
        Lineage(sample.folder, Graph(()), tmp_path).trace("schema", "film.title")


def test_a_file_walks_back_through_its_stages():
    node = trace_file(FileFact("data/grammar/films/schema.parquet", "dd"), GRAPH)

    database = node.parents[0]
    assert (database.reference, database.summary["params"]) == ("data/films.sqlite", {"films": 400})
    assert database.summary["code"] == {"tasks/films.py": "cc"}
    assert [each.reference for each in database.parents] == ["data/raw/movies.db"]


def test_data_may_lie_anywhere_and_code_is_known_by_its_folder():
    deps = [FileFact(path) for path in ("/elsewhere/own.sqlite", "tasks/grammar/schema.py", "pyproject.toml")]

    stage = StageFact("s", "c", tuple(deps))

    assert (stage.data, stage.code) == (tuple(deps[:1]), tuple(deps[1:]))


def test_a_file_in_a_folder_that_a_stage_wrote_is_that_folder():
    graph = Graph((StageFact("s", "c", outs=(FileFact("data/site", "aa.dir"),)),))

    assert graph.find_file("data/site/index.html") == FileFact("data/site", "aa.dir")
    assert graph.find_file("data/sites") is None


def test_text_names_shared_sources_once_and_no_escape_sequence(sample, tmp_path):
    write_rows(sample.folder / "odd.parquet", Dropped, [Dropped("1", "planted", "\x1b[31mred\nnext", ())])
    plain = render_text(Lineage(sample.folder).trace("odd", "1"))
    assert "\x1b" not in plain
    assert "\n" not in plain

    text = render_text(
        Lineage(sample.folder, GRAPH, tmp_path).trace("balanced", sample.questions[0].id), GRAPH
    )
    assert text.count("call ") == 3
    assert "(as above)" in text
    assert text.endswith("commit f00d")


def test_json_names_every_parent_among_its_nodes(sample, tmp_path):
    node = Lineage(sample.folder, GRAPH, tmp_path).trace("balanced", sample.questions[0].id)

    whole = json.loads(render_json(node, GRAPH))

    known = {(each["kind"], each["reference"]) for each in whole["nodes"]}
    named = {(up["kind"], up["reference"]) for each in whole["nodes"] for up in each["parents"]}
    assert named < known
    assert len(known) == len(whole["nodes"])
    assert (whole["target"], whole["commit"]) == (node.reference, "f00d")
