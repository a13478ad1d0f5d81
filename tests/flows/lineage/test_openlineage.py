import json
import re
import subprocess
import threading
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from flows.commands.lineage import trace_target
from flows.commands.run import tell_lineage
from flows.lineage.facets import FacetMaker
from flows.lineage.lock import read_graph
from flows.lineage.openlineage import RUNS_FILE, NotSent, clean, emit_events, make_events, order_stages
from flows.run.node import Node
from tasks.artifacts.contracts import ContractFinding
from tasks.artifacts.parquet import count_rows, write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.errors import BadInput
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.result import LineageResult
from tasks.lineage.walk import Lineage
from tasks.models.calls import Call
from tests.flows.lineage.standard import validate
from tests.flows.nights.night_project import commit
from tests.flows.sample import ROOT, make_sample
from tests.longform.test_page import make_call

MAKE = StageRecord(
    "make", "benchloom stage make /home/me/private/thing",
    (FileRecord("/home/me/private/own.sqlite", "aa"), FileRecord("tasks/make.py", "cc")),
    (FileRecord("data/made.parquet", "bb"),),
    {
        "databases.own": {
            "url": "postgresql://me:hunter2@host/db",
            "password": "hunter3",
            "password_env": "PW",
        },
        "make": {"path": "/home/me/private/x.csv", "list": ["/home/me/private/y.csv"], "seed": 7},
    },
)  # fmt: skip
USE = StageRecord("use", "x", (FileRecord("data/made.parquet", "bb"),), (FileRecord("data/used", "dd.dir"),))
GRAPH = Graph((USE, MAKE), commit="f00d", dirty=True, recorded_in="beef")


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    """Enable OpenLineage events, which are disabled in all other tests."""
    monkeypatch.delenv("OPENLINEAGE_DISABLED", raising=False)


@pytest.fixture
def lineage(tmp_path):
    (tmp_path / "params.yaml").write_text("run: {}\n")
    node = Lineage(tmp_path, GRAPH).trace_file("data/used")
    return LineageResult("data/used", (node,), (), GRAPH)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_stage_is_an_event_with_its_files_hashes_and_commit(lineage, tmp_path):
    emit_events(lineage, tmp_path, tmp_path / "out" / "events.jsonl")

    made, used = read(tmp_path / "out" / "events.jsonl")
    assert (made["job"]["name"], used["job"]["name"]) == ("make", "use")
    assert (made["eventType"], made["job"]["namespace"]) == ("COMPLETE", "benchloom")
    assert made["outputs"][0]["name"] == used["inputs"][0]["name"] == "data/made.parquet"
    assert used["inputs"][0]["facets"]["version"]["datasetVersion"] == "md5:bb"
    told = {
        parameter["key"]: parameter["value"]
        for parameter in made["run"]["facets"]["executionParameters"]["parameters"]
    }
    assert told["params.make.seed"] == "7"
    assert told["code.tasks/make.py"] == "md5:cc"
    assert (told["git.commit"], told["git.uncommitted_changes"]) == ("f00d", "true")


def test_events_hold_no_secret_and_no_absolute_path(lineage, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "hunter4")
    emit_events(lineage, tmp_path, tmp_path / "events.jsonl")

    text = (tmp_path / "events.jsonl").read_text()
    for word in ("hunter", "/home", "private", str(tmp_path)):
        assert word not in text
    assert "outside/own.sqlite" in text
    assert '"value": "PW"' in text


def test_the_same_record_gives_the_same_run_and_the_file_is_written_anew(lineage, tmp_path):
    runs = []
    for _ in range(2):
        emit_events(lineage, tmp_path, tmp_path / "events.jsonl")
        runs.append([event["run"]["runId"] for event in read(tmp_path / "events.jsonl")])

    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 2


def test_a_run_with_the_record_of_an_earlier_one_has_an_id_of_its_own(lineage, tmp_path):
    (tmp_path / "params.yaml").write_text("{}")
    maker = FacetMaker(tmp_path, lineage.graph, "films", {})
    moments = [datetime(2031, 7, 9, 3, minute, tzinfo=UTC) for minute in range(3)]
    runs = [list(make_events(lineage.graph.stages, lineage.graph, maker, moment)) for moment in moments]
    ids = {event.run.runId for events in runs for event in events}
    assert len(ids) == 3 * len(lineage.graph.stages)
    for same in zip(*runs, strict=True):
        told = [
            {
                parameter.key: parameter.value
                for parameter in event.run.facets["executionParameters"].parameters
            }["record"]
            for event in same
        ]
        assert len(set(told)) == 1


def test_stages_are_told_behind_those_they_stand_on():
    assert [stage.name for stage in order_stages([USE, MAKE])] == ["make", "use"]


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((self.path, self.headers["Authorization"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), Server) as opened:
        opened.heard, opened.status = [], 201
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        yield opened
        opened.shutdown()


def configure(tmp_path, text):
    (tmp_path / "params.yaml").write_text(f"run:\n  openlineage: {text}\n")


def test_a_server_gets_the_events_and_the_key_from_the_environment(lineage, tmp_path, server, monkeypatch):
    monkeypatch.setenv("LINEAGE_KEY", "hunter5")
    configure(tmp_path, f"{{url: 'http://127.0.0.1:{server.server_port}', key_env: LINEAGE_KEY}}")

    said = emit_events(lineage, tmp_path, tmp_path / "events.jsonl")

    assert said.startswith("2 events: sent to")
    assert [path for path, _, _ in server.heard] == ["/api/v1/lineage"] * 2
    assert {key for _, key, _ in server.heard} == {"Bearer hunter5"}
    assert [event["job"]["name"] for _, _, event in server.heard] == ["make", "use"]
    assert "hunter5" not in json.dumps([event for _, _, event in server.heard])
    assert not (tmp_path / "events.jsonl").exists()


def test_a_server_that_refuses_is_one_line_without_the_key(lineage, tmp_path, server, monkeypatch):
    monkeypatch.setenv("LINEAGE_KEY", "hunter6")
    server.status = 400
    configure(tmp_path, f"{{url: 'http://127.0.0.1:{server.server_port}', key_env: LINEAGE_KEY}}")

    with pytest.raises(NotSent) as caught:
        emit_events(lineage, tmp_path, tmp_path / "events.jsonl")

    assert "hunter6" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{url: 'http://me:hunter7@host'}", "or contains a password"),
        ("{url: 'ftp://host'}", "HTTP"),
        ("{adress: 'http://host'}", "adress"),
        ("{url: 'http://127.0.0.1:9', key_env: NOT_THERE}", "NOT_THERE"),
    ],
)
def test_a_wrong_destination_is_named_and_not_repeated(lineage, tmp_path, text, named):
    configure(tmp_path, text)

    with pytest.raises(BadInput, match=named) as caught:
        emit_events(lineage, tmp_path, tmp_path / "events.jsonl")

    assert "hunter7" not in str(caught.value)


def test_no_secret_of_a_url_is_sent():
    url = "postgresql://ann:one@host/shop?sslmode=require&sslpassword=two&passfile=x&api_token=three"
    assert clean(url) == "postgresql://host/shop?sslmode=require&sslpassword=***&passfile=x&api_token=***"


@pytest.fixture
def questions(tmp_path):
    """Artifacts of questions and answers with one call, and the contracts' findings on the questions."""
    (tmp_path / "params.yaml").write_text(
        "run: {prices: {m: {input_usd_per_million: 1000000, output_usd_per_million: 2}}}\n"
    )
    folder = tmp_path / "data"
    folder.mkdir()
    drops = [Dropped(f"q{n}", "same", f"text {n}") for n in range(2)]
    write_rows(folder / "questions.parquet", Dropped, drops)
    answers = [Dropped(f"a{n}", f"q{n}", f"text {n}", (Origin("row", f"questions#q{n}"),)) for n in range(2)]
    write_rows(folder / "answers.parquet", Dropped, answers)
    write_rows(folder / "answers.calls.parquet", Call, [replace(make_call("c1"), model="m")])
    finding = ContractFinding(
        "questions.unique_id", "questions", "unique_id", "No id twice.", "held", 2, 0, (), ()
    )
    write_rows(folder / "contracts/results.parquet", ContractFinding, [finding])
    asked, outs = FileRecord("data/questions.parquet", "aa", 9), ("answers", "answers.calls")
    stages = (
        StageRecord(
            "answers", "benchloom stage t.answers x", (asked, FileRecord("tasks/t/answers.py", "cc")),
            tuple(FileRecord(f"data/{name}.parquet", "bb", 9) for name in outs),
        ),
        StageRecord(
            "contracts", "benchloom stage t.contracts x", (asked,), (FileRecord("data/contracts", "dd.dir"),)
        ),
    )  # fmt: skip
    graph = Graph(stages, commit="f00d")
    node = Lineage(tmp_path, graph).trace_file("data/answers.parquet")
    return LineageResult("data/answers.parquet", (node,), (), graph)


def test_an_event_tells_schema_columns_quality_commit_and_calls(questions, tmp_path):
    emit_events(questions, tmp_path, tmp_path / "events.jsonl")

    (event,) = read(tmp_path / "events.jsonl")
    (asked,), (answers, _) = event["inputs"], event["outputs"]
    assert [field["name"] for field in asked["facets"]["schema"]["fields"]] == [
        "id", "reason", "detail", "origin",
    ]  # fmt: skip
    (held,) = asked["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (held["assertion"], held["success"]) == ("unique_id", True)
    sources = {
        column: [(inputField["name"], inputField["field"]) for inputField in found["inputFields"]]
        for column, found in answers["facets"]["columnLineage"]["fields"].items()
    }
    # Both rows have the question's text; the reason contains the question's id; the id is new.
    assert sources == {
        "detail": [("data/questions.parquet", "detail")],
        "origin": [("data/questions.parquet", "id")],
        "reason": [("data/questions.parquet", "id")],
    }
    assert answers["outputFacets"]["outputStatistics"]["rowCount"] == 2
    located = event["job"]["facets"]["sourceCodeLocation"]
    assert (located["version"], located["path"]) == ("f00d", "tasks/t/answers.py")
    calls = event["run"]["facets"]["benchloom_calls"]
    # $1 per input token, 2 millionths of a dollar per output token
    tokens = calls["promptTokens"], calls["completionTokens"]
    assert (calls["calls"], calls["dollars"]) == (1, pytest.approx(tokens[0] + tokens[1] * 2e-6))
    schema = json.loads((Path(__file__).parents[3] / "docs/openlineage.calls.json").read_text())
    jsonschema.validate(calls, schema)
    assert calls.keys() <= schema["properties"].keys()
    assert calls["_schemaURL"] == schema["$id"]


def test_columns_of_what_a_stage_has_not_read_are_left_out(questions, tmp_path):
    own, other = questions.graph.stages
    graph = replace(questions.graph, stages=(replace(own, deps=own.code), other))
    node = Lineage(tmp_path, graph).trace_file("data/answers.parquet")

    emit_events(replace(questions, roots=(node,), graph=graph), tmp_path, tmp_path / "events.jsonl")

    (event,) = read(tmp_path / "events.jsonl")
    assert event["inputs"] == []
    assert event["outputs"]
    assert not any("columnLineage" in out["facets"] for out in event["outputs"])


STANDARD = {
    "columnLineage", "dataQualityAssertions", "executionParameters", "jobType", "outputStatistics", "schema",
    "sourceCode", "sourceCodeLocation", "version",
}  # fmt: skip
"""The standard's facets that an event may have; `benchloom_calls` is a custom facet."""


def test_events_hold_the_standards_schemas_and_a_wrong_one_does_not(questions, tmp_path):
    emit_events(questions, tmp_path, tmp_path / "events.jsonl")

    (event,) = read(tmp_path / "events.jsonl")
    assert set(validate(event)) == STANDARD
    for place, key, wrong in (
        (event, "eventTime", "yesterday"),
        (event, "eventType", "DONE"),
        (event["run"], "runId", "1"),
        (event["inputs"][0]["facets"]["schema"]["fields"][0], "name", None),
        (event["outputs"][0]["outputFacets"]["outputStatistics"], "size", "3"),
        (event["outputs"][0]["facets"]["columnLineage"]["fields"]["detail"], "inputFields", [{"name": "x"}]),
        (event["job"]["facets"]["jobType"], "_schemaURL", "none"),
    ):
        right = place[key]
        place[key] = wrong
        with pytest.raises(jsonschema.ValidationError):
            validate(event)
        place[key] = right
    event["job"]["facets"]["jobType"]["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        validate(event)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The sample's first stages, run by `benchloom run` with events enabled."""
    sample = make_sample(tmp_path_factory.mktemp("told"))
    del sample.environment["OPENLINEAGE_DISABLED"]
    commit(sample, "Begin")
    said = sample.run("grammar-sql-templates@films")
    return sample, re.findall(r"^(?:benchloom: )?(\S+@?\S*) +ran  ", said, re.MULTILINE)


@pytest.mark.drill
@pytest.mark.timeout(900)
def test_a_run_emits_valid_events_of_every_stage_that_ran(told):
    ran, stages = told
    events = read(ran.root / RUNS_FILE)
    assert "grammar-sql-templates@films" in stages
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"] * len(stages)
    assert {event["job"]["name"] for event in events} == set(stages)
    checked = {name for event in events for name in validate(event)}
    assert checked >= STANDARD - {"dataQualityAssertions"}, "of these stages none stands on a contract's"
    schema = json.loads((Path(__file__).parents[3] / "docs/openlineage.calls.json").read_text())
    told_calls = {
        event["job"]["name"]: event["run"]["facets"]["benchloom_calls"]
        for event in events
        if "benchloom_calls" in event["run"].get("facets", {})
    }
    for calls in told_calls.values():
        jsonschema.validate(calls, schema)
    counted = count_rows(ran.root / "data/grammar/films/sql_templates.calls.parquet")
    assert told_calls["grammar-sql-templates@films"]["calls"] == counted > 0
    for begun, done in zip(events[::2], events[1::2], strict=True):
        assert begun["run"]["runId"] == done["run"]["runId"]
        assert begun["eventTime"] <= done["eventTime"]
    made = {out["name"]: event["job"]["name"] for event in events for out in event["outputs"]}
    assert made["data/grammar/films/sql_templates.parquet"] == "grammar-sql-templates@films"

    before = len(events)
    ran.run("grammar-sql-templates@films")
    assert len(read(ran.root / RUNS_FILE)) == before, "nothing ran"
    ignored = subprocess.run(["git", "check-ignore", RUNS_FILE], cwd=ROOT, check=False)
    assert ignored.returncode == 0, "git's status stays clean"


def make_run(root, said):
    """Return a finished run: one stage ran, another was fresh."""
    (root / "dvc.lock").write_text(
        "schema: '2.0'\nstages:\n  use:\n    cmd: benchloom stage use\n  old:\n    cmd: x\n"
    )
    return SimpleNamespace(
        root=root, stopping=threading.Event(), say=said.append,
        outcomes={"use": SimpleNamespace(state="ran", seconds=90.0),
                  "old": SimpleNamespace(state="fresh", seconds=0.0)},
    )  # fmt: skip


def test_a_runs_events_go_behind_those_of_earlier_runs(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text("run: {}\n")
    run = make_run(tmp_path, said := [])
    tell_lineage(run)
    tell_lineage(run)
    events = read(tmp_path / RUNS_FILE)
    assert [(event["job"]["name"], event["eventType"]) for event in events] == [
        ("use", "START"), ("use", "COMPLETE"),
    ] * 2  # fmt: skip
    assert [set(validate(event)) for event in events[:2]] == [
        set(), {"executionParameters", "jobType", "sourceCode"},
    ]  # fmt: skip
    begun, ended = (datetime.fromisoformat(event["eventTime"]) for event in events[:2])
    assert (ended - begun).total_seconds() == 90
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    tell_lineage(run)
    assert (len(read(tmp_path / RUNS_FILE)), said) == (4, [])


def test_a_stage_that_failed_is_told_with_its_error_and_no_secret(tmp_path):
    (tmp_path / "params.yaml").write_text("run: {}\n")
    run = make_run(tmp_path, said := [])
    run.outcomes["made"] = SimpleNamespace(
        stage="made", state="failed", seconds=2.0,
        error=f"made: postgresql://me:pa55@host/db, /home/me/a.csv and {tmp_path}/data/b.csv cannot be read",
    )  # fmt: skip
    deps = ("data/a.parquet", "tasks/made.py", "pyproject.toml")
    run.recorder = SimpleNamespace(nodes={"made": Node("made", "", "", deps, (), (), "benchloom stage made")})
    tell_lineage(run)
    begun, failed = read(tmp_path / RUNS_FILE)[2:]
    assert (begun["eventType"], failed["eventType"], said) == ("START", "FAIL", [])
    assert begun["run"]["runId"] == failed["run"]["runId"]
    assert set(validate(failed)) == {"errorMessage", "jobType", "sourceCode"}
    assert failed["run"]["facets"]["errorMessage"]["message"] == (
        "made: postgresql://host/db, outside/a.csv and data/b.csv cannot be read"
    )
    assert ([listed_input["name"] for listed_input in failed["inputs"]], failed["outputs"]) == (
        ["data/a.parquet"],
        [],
    )
    took = datetime.fromisoformat(failed["eventTime"]) - datetime.fromisoformat(begun["eventTime"])
    assert took.total_seconds() == 2


def test_a_run_whose_server_is_down_says_so_and_is_done(tmp_path):
    configure(tmp_path, "{url: 'http://127.0.0.1:9', timeout_s: 1}")
    tell_lineage(make_run(tmp_path, said := []))
    assert said == ["OpenLineage: run.openlineage: the server did not accept the events: ConnectionError"]


@pytest.mark.drill
def test_every_event_of_the_whole_sample_holds_the_standards_schemas(root, tmp_path):
    emit_events(trace_target("dvc.lock", None, root), root, tmp_path / "events.jsonl")

    events = read(tmp_path / "events.jsonl")
    assert len(events) == len(read_graph(root).stages)
    assert {name for event in events for name in validate(event)} == STANDARD
    for event in events:
        read_by = {dataset["name"] for dataset in event["inputs"]}
        for out in event["outputs"]:
            fields = out["facets"].get("columnLineage", {"fields": {}})["fields"].values()
            assert {inputField["name"] for found in fields for inputField in found["inputFields"]} <= read_by


@pytest.mark.parametrize(("identity", "dollars"), [("", 3.0), ("big-2024", 3.0), ("ab" * 32, 0.0)])
def test_only_an_embedded_model_costs_nothing(tmp_path, identity, dollars):
    maker = FacetMaker(tmp_path, Graph(()), "", {"big": (1e6, 2e6)})
    call = {"model": "big", "identity": identity, "prompt_tokens": 1, "completion_tokens": 1}

    assert maker._price([call]) == dollars
