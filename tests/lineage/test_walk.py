import hashlib
import json

import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.errors import BadInput
from tasks.grammar.construct.pairs import Question
from tasks.lineage.nodes import TracedSource, walk_nodes
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.rendering import render_json, render_text
from tasks.lineage.result import LineageResult
from tasks.lineage.walk import Lineage
from tests.grammar.sample import STEMS, write_sample

FOLDER = "data/grammar/films"
PROMPT = "# user\nWrite it."
ASKING = ("sql_templates", "text_templates", "back_check")
READS = {
    "schema": (),
    "sql_templates": ("schema",),
    "text_templates": ("sql_templates",),
    "back_check": ("text_templates", "sql_templates"),
    "fill_in": ("sql_templates",),
    "second_reading": ("back_check",),
    "unbalanced": ("second_reading", "fill_in"),
    "balanced": ("second_reading", "fill_in"),
}


def stage_of(stem):
    outs = [f"{FOLDER}/{stem}{kind}.parquet" for kind in ("", ".dropped", ".calls")]
    return StageRecord(
        f"grammar-{stem}@films",
        f"benchloom stage grammar.{stem} films",
        (
            *(FileRecord(f"{FOLDER}/{read}.parquet", f"m{read}") for read in READS[stem]),
            *([FileRecord("data/films.sqlite", "bb")] if stem in ("schema", "fill_in") else []),
            FileRecord(f"tasks/grammar/{stem}.py", "cc"),
            *([FileRecord(f"tasks/grammar/prompts/{stem}_prompt.md", "pp")] if stem in ASKING else []),
        ),
        tuple(FileRecord(out, f"m{stem}" if out.count(".") == 1 else "mm") for out in outs),
        {
            f"grammar.{stem}": {"seed": 0},
            "roles.generator": {"model": "small"},
            "roles.reader": {"model": "s"},
        },
    )


SOURCE = StageRecord(
    "sources-films", "benchloom stage sources.films",
    (FileRecord("data/raw/movies.db", "aa"), FileRecord("tasks/films.py", "cc")),
    (FileRecord("data/films.sqlite", "bb", 9),), {"films": 400},
)  # fmt: skip
GRAPH = Graph((SOURCE, *(stage_of(stem) for stem in STEMS)), commit="f00d", recorded_in="beef")


class Trusting:
    """An archive in which all files match their records."""

    def check(self, fact):
        return "same"

    def find_commit(self, fact):
        return "c0de"


@pytest.fixture
def sample(tmp_path):
    made = write_sample(tmp_path)
    folder = tmp_path / "tasks" / "grammar" / "prompts"
    folder.mkdir(parents=True)
    for stem in ASKING:
        (folder / f"{stem}_prompt.md").write_text(PROMPT)
    return made


def open_lineage(tmp_path, **options):
    options = {"graph": GRAPH, "history": Trusting(), **options}
    return Lineage(tmp_path, **options)


def finish(lineage, node):
    return LineageResult(node.reference, (node,), tuple(lineage.gaps), lineage.graph)


def plant(sample, *origins, stem="planted"):
    write_rows(sample.folder / f"{stem}.parquet", Dropped, [Dropped("1", "planted", "", origins)])


def test_every_question_walks_back_to_calls_prompts_stages_and_the_raw_file(sample, tmp_path):
    lineage = open_lineage(tmp_path)
    for question in sample.questions:
        nodes = list(walk_nodes(lineage.trace_row(f"{FOLDER}/balanced.parquet", question.id)))

        stems = {node.reference.partition("#")[0] for node in nodes if node.kind == "row"}
        wanted = (
            "balanced",
            "second_reading",
            "back_check",
            "text_templates",
            "fill_in",
            "sql_templates",
            "schema",
        )
        assert stems == {f"{FOLDER}/{stem}.parquet" for stem in wanted}
        assert {node.summary["stage"] for node in nodes if node.kind == "call"} == {
            "grammar.sql_templates", "grammar.text_templates", "grammar.back_check",
        }  # fmt: skip
        assert sum(node.kind == "prompt" for node in nodes) == 3
        assert {"data/films.sqlite", "data/raw/movies.db"} < {
            node.reference for node in nodes if node.kind == "file"
        }
        assert {node.reference for node in nodes if node.kind == "stage"} == {
            "sources-films", *(f"grammar-{stem}@films" for stem in wanted)
        }  # fmt: skip


def test_a_call_names_its_prompts_file_its_parameters_and_what_was_said(sample, tmp_path):
    lineage = open_lineage(tmp_path)
    node = lineage.trace_row(f"{FOLDER}/balanced.parquet", sample.questions[0].id)

    call = next(found for found in walk_nodes(node) if found.kind == "call")
    prompt = next(parent for parent in call.parents if parent.kind == "prompt")
    assert call.summary["messages"][0]["role"] == "user"
    assert call.summary["decoding"] == {"temperature": 1.0}
    assert list(call.summary["params"].values()) == [{"model": "small"}] or call.summary["role"] == "judge"
    assert prompt.reference.startswith("tasks/grammar/prompts/")
    assert prompt.summary["recorded"]["md5"] == "pp"
    assert prompt.summary["commit"] == "c0de"


def test_a_prompt_that_is_neither_here_nor_committed_is_a_gap(sample, tmp_path):
    class Forgetful(Trusting):
        def find_commit(self, fact):
            return None

    lineage = open_lineage(tmp_path, history=Forgetful())
    lineage.trace_row(f"{FOLDER}/sql_templates.parquet", sample.questions[0].sql_template)
    digest = hashlib.sha256(PROMPT.encode()).hexdigest()

    assert digest != "cd" * 32
    assert [gap.what for gap in lineage.gaps] == [
        "its prompt had the digest cdcdcdcdcdcd, but tasks/grammar/prompts/sql_templates_prompt.md has a "
        "different digest"
    ]


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        (Origin("call", "deadbeef"), "the call deadbeef"),
        (Origin("row", "fill_in#gone"), "fill_in#gone"),
        (Origin("row", "lost#1"), "lost.parquet"),
        (Origin("row", "../../../etc/passwd#1"), "passwd.parquet"),
        (Origin("file", "data/gone.csv"), "data/gone.csv"),
        (Origin("file", "/etc/passwd"), "/etc/passwd"),
        (Origin("rumour", "x"), "rumour"),
    ],
)
def test_an_origin_that_leads_nowhere_is_a_named_gap(sample, tmp_path, origin, named):
    plant(sample, origin)
    lineage = open_lineage(tmp_path, graph=None)

    node = lineage.trace_row(f"{FOLDER}/planted.parquet", "1")

    assert [parent.kind for parent in node.parents] == ["gap"]
    assert len(lineage.gaps) == 1
    assert lineage.gaps[0].at == f"{FOLDER}/planted.parquet#1"
    assert named in lineage.gaps[0].what
    assert json.loads(render_json(finish(lineage, node)))["gaps"][0]["what"] == lineage.gaps[0].what
    assert f"gap: {lineage.gaps[0]}" in render_text(finish(lineage, node))


def test_evidence_is_a_row_where_it_names_one_and_else_a_source(sample, tmp_path):
    question = sample.questions[0]
    plant(sample, Origin("evidence", f"fill_in#{question.group}"), Origin("evidence", "page 7, line 3"))

    node = open_lineage(tmp_path, graph=None).trace_row(f"{FOLDER}/planted.parquet", "1")

    assert [parent.kind for parent in node.parents] == ["row", "evidence"]


def test_rows_may_stand_on_rows_of_another_folder(sample, tmp_path):
    question = sample.questions[0]
    other = tmp_path / "data" / "other"
    other.mkdir()
    origins = (Origin("row", f"{FOLDER}/balanced#{question.id}"), Origin("row", f"balanced#{question.id}"))
    write_rows(other / "judged.parquet", Dropped, [Dropped("1", "", "", origins)])
    judge = StageRecord(
        "judge", "x", (FileRecord(f"{FOLDER}/balanced.parquet", "mbalanced"),),
        (FileRecord("data/other/judged.parquet", "jj"),),
    )  # fmt: skip
    lineage = open_lineage(tmp_path, graph=Graph((*GRAPH.stages, judge)))

    node = lineage.trace_row("data/other/judged.parquet", "1")

    assert [parent.reference for parent in node.parents[:2]] == [
        f"{FOLDER}/balanced.parquet#{question.id}"
    ] * 2
    assert lineage.gaps == []


def test_rows_that_come_from_each_other_are_an_error(sample, tmp_path):
    rows = [
        Dropped("1", "", "", (Origin("row", "ring#2"),)),
        Dropped("2", "", "", (Origin("row", "ring#1"),)),
    ]
    write_rows(sample.folder / "ring.parquet", Dropped, rows)

    with pytest.raises(BadInput, match="among its own sources"):
        Lineage(tmp_path).trace_row(f"{FOLDER}/ring.parquet", "1")


def test_the_beginning_of_an_id_is_enough(sample, tmp_path):
    question = sample.questions[0]

    node = Lineage(tmp_path).trace_row(f"{FOLDER}/balanced.parquet", question.id[:10])

    assert node.reference == f"{FOLDER}/balanced.parquet#{question.id}"
    assert node.summary["question"] == question.question


def test_too_short_a_beginning_is_said_to_be_that(sample, tmp_path):
    with pytest.raises(BadInput, match=r"is too short: the prefix of an id needs at least 6 characters"):
        Lineage(tmp_path).trace_row(f"{FOLDER}/balanced.parquet", sample.questions[0].id[:4])


def test_an_unknown_row_says_what_there_is(sample, tmp_path):
    with pytest.raises(BadInput, match="no row whose id begins with 'nonesuch'") as caught:
        Lineage(tmp_path).trace_row(f"{FOLDER}/balanced.parquet", "nonesuch")

    assert read_rows(sample.folder / "balanced.parquet", Question)[0].id in str(caught.value)


def test_an_unknown_artifact_says_what_there_is(sample, tmp_path):
    with pytest.raises(BadInput, match=r"balanced\.parquet"):
        Lineage(tmp_path).trace_row(f"{FOLDER}/balance.parquet", "1")


def test_a_dropped_row_has_a_lineage_too(sample, tmp_path):
    drop = pq.read_table(sample.folder / "back_check.dropped.parquet").to_pylist()[0]

    node = Lineage(tmp_path).trace_row(f"{FOLDER}/back_check.dropped.parquet", drop["id"])

    assert any("/text_templates.parquet#" in node.reference for node in walk_nodes(node))


def test_a_row_of_a_calls_artifact_is_that_call(sample, tmp_path):
    key = pq.read_table(sample.folder / "back_check.calls.parquet")["id"][0].as_py()

    node = open_lineage(tmp_path).trace_row(f"{FOLDER}/back_check.calls.parquet", key)

    assert (node.kind, node.reference) == ("call", key)


def test_an_artifact_not_in_the_lock_is_a_gap(sample, tmp_path):
    lineage = open_lineage(tmp_path, graph=Graph(()))
    lineage.trace_row(f"{FOLDER}/schema.parquet", "film.title")

    assert "not listed in dvc.lock" in lineage.gaps[0].what


def test_a_stage_that_read_an_older_version_is_a_gap(sample, tmp_path):
    older = StageRecord(
        "late", "x", (FileRecord("data/films.sqlite", "old"),), (FileRecord("data/late", "zz"),)
    )
    lineage = open_lineage(tmp_path, graph=Graph((SOURCE, older)))

    lineage.trace_file("data/late")

    assert [gap.what for gap in lineage.gaps] == [
        "it read data/films.sqlite (md5 old), which has been written again since then (md5 bb)"
    ]


def test_what_is_no_longer_as_recorded_is_a_gap(sample, tmp_path):
    class Changed(Trusting):
        def check(self, fact):
            return "changed"

        def find_commit(self, fact):
            return None

    lineage = open_lineage(tmp_path, history=Changed())
    lineage.trace_file("data/films.sqlite")

    assert {gap.at for gap in lineage.gaps} == {
        "data/films.sqlite",
        "data/raw/movies.db",
        "stage sources-films",
    }
    assert any("tasks/films.py (md5 cc)" in gap.what for gap in lineage.gaps)


def test_a_tracer_adds_what_is_beyond_the_artifacts(sample, tmp_path):
    raw = TracedSource("raw", "data/raw/movies.db#7", {}, files=("data/raw/movies.db",))
    found = TracedSource(
        "source", "data/films.sqlite#film?id=7", {"table": "film"}, (raw,), ("data/films.sqlite",)
    )
    lineage = open_lineage(tmp_path, tracers={"grammar.fill_in": lambda stage, record: [found]})

    nodes = list(walk_nodes(lineage.trace_row(f"{FOLDER}/balanced.parquet", sample.questions[0].id)))

    assert [node.reference for node in nodes if node.kind in ("source", "raw")] == [
        "data/films.sqlite#film?id=7", "data/raw/movies.db#7",
    ]  # fmt: skip


def test_a_tracer_that_fails_is_a_gap(sample, tmp_path):
    def fail(stage, record):
        raise BadInput("films", "the server does not answer")

    lineage = open_lineage(tmp_path, tracers={"grammar.fill_in": fail})
    lineage.trace_row(f"{FOLDER}/fill_in.parquet", sample.questions[0].group)

    assert "the server does not answer" in lineage.gaps[0].what


def test_a_file_walks_back_through_its_stages(sample, tmp_path):
    node = open_lineage(tmp_path).trace_file(f"{FOLDER}/schema.parquet")

    schema = node.parents[0]
    database = schema.parents[0]
    assert (schema.kind, database.reference) == ("stage", "data/films.sqlite")
    assert database.parents[0].summary["params"] == {"films": 400}
    assert database.parents[0].summary["code"] == [
        {"path": "tasks/films.py", "md5": "cc", "now": "same", "commit": "c0de"}
    ]
    assert [parent.reference for parent in database.parents[0].parents] == ["data/raw/movies.db"]


def test_data_may_lie_anywhere_and_code_is_known_by_its_folder():
    paths = ("/elsewhere/own.sqlite", "tasks/grammar/construct/schema.py", "pyproject.toml")
    deps = [FileRecord(path) for path in paths]

    stage = StageRecord("s", "benchloom stage grammar.schema films", tuple(deps))

    assert (stage.data, stage.code) == (tuple(deps[:1]), tuple(deps[1:]))
    assert (stage.function, stage.key) == ("grammar.schema", "films")
    assert (StageRecord("s", "make it").function, StageRecord("s", "make it").key) == ("", "")


def test_a_file_in_a_folder_that_a_stage_wrote_is_that_folder():
    graph = Graph((StageRecord("s", "c", outs=(FileRecord("data/site", "aa.dir"),)),))

    assert graph.find_file("data/site/index.html") == FileRecord("data/site", "aa.dir")
    assert graph.find_file("data/sites") is None


def test_text_names_shared_sources_once_and_no_escape_sequence(sample, tmp_path):
    write_rows(sample.folder / "odd.parquet", Dropped, [Dropped("1", "planted", "\x1b[31mred\nnext", ())])
    plain = Lineage(tmp_path)
    assert "\x1b" not in render_text(finish(plain, plain.trace_row(f"{FOLDER}/odd.parquet", "1")))

    lineage = open_lineage(tmp_path)
    text = render_text(
        finish(lineage, lineage.trace_row(f"{FOLDER}/balanced.parquet", sample.questions[0].id))
    )
    assert text.count(" call ") == 3
    assert "(as above)" in text
    assert "commit f00d\ndvc.lock was last committed in beef\nno uncommitted changes\n" in text
    assert text.endswith("; no gap")


def test_a_project_without_git_says_so(sample, tmp_path):
    lineage = open_lineage(tmp_path, graph=Graph(GRAPH.stages))

    text = render_text(finish(lineage, lineage.trace_file("data/films.sqlite")))

    assert "no commit: this project is not in a git repository" in text


def test_json_names_every_parent_among_its_nodes(sample, tmp_path):
    lineage = open_lineage(tmp_path)
    node = lineage.trace_row(f"{FOLDER}/balanced.parquet", sample.questions[0].id)

    whole = json.loads(render_json(finish(lineage, node)))

    known = {(entry["kind"], entry["reference"]) for entry in whole["nodes"]}
    named = {(up["kind"], up["reference"]) for entry in whole["nodes"] for up in entry["parents"]}
    assert named < known
    assert len(known) == len(whole["nodes"])
    assert (whole["version"], whole["target"], whole["commit"]) == (1, node.reference, "f00d")
    assert (whole["dirty"], whole["recorded_in"], whole["gaps"]) == (False, "beef", [])
