import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from openlineage.client import facet_v2
from openlineage.client.event_v2 import Job, Run, RunEvent

from flows.lineage.openlineage import NotSent, clean, emit_events, order_stages
from tasks.artifacts.contracts import ContractFinding
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.errors import BadInput
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.result import LineageResult
from tasks.lineage.walk import Lineage
from tasks.models.calls import Call
from tests.flows.lineage.standard import EVENT
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
        ("{url: 'http://me:hunter7@host'}", "without a password"),
        ("{url: 'ftp://host'}", "http"),
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
    """An answer that a question leads to, with one call, and what contracts found of the questions."""
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
        column: [(one["name"], one["field"]) for one in found["inputFields"]]
        for column, found in answers["facets"]["columnLineage"]["fields"].items()
    }
    # The text is the question's in both rows; the reason holds the question's id; the id is its own.
    assert sources == {
        "detail": [("data/questions.parquet", "detail")],
        "origin": [("data/questions.parquet", "id")],
        "reason": [("data/questions.parquet", "id")],
    }
    assert answers["outputFacets"]["outputStatistics"]["rowCount"] == 2
    located = event["job"]["facets"]["sourceCodeLocation"]
    assert (located["version"], located["path"]) == ("f00d", "tasks/t/answers.py")
    calls = event["run"]["facets"]["benchloom_calls"]
    # 1 dollar a token in, 2 millionths of one a token out
    tokens = calls["promptTokens"], calls["completionTokens"]
    assert (calls["calls"], calls["dollars"]) == (1, pytest.approx(tokens[0] + tokens[1] * 2e-6))
    schema = json.loads((Path(__file__).parents[3] / "docs/openlineage.calls.json").read_text())
    jsonschema.validate(calls, schema)
    assert calls.keys() <= schema["properties"].keys()
    assert calls["_schemaURL"] == schema["$id"]


def test_events_hold_the_standards_schema_and_a_wrong_one_does_not(questions, tmp_path):
    emit_events(questions, tmp_path, tmp_path / "events.jsonl")

    (event,) = read(tmp_path / "events.jsonl")
    jsonschema.validate(event, EVENT)
    for place, key, wrong in (
        (event, "eventTime", "yesterday"),
        (event["run"], "runId", "1"),
        (event["inputs"][0]["facets"]["schema"]["fields"][0], "name", None),
        (event["outputs"][0]["outputFacets"]["outputStatistics"], "size", "3"),
        (event["job"]["facets"]["jobType"], "_schemaURL", "none"),
    ):
        right = place[key]
        place[key] = wrong
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(event, EVENT)
        place[key] = right


def test_every_facet_is_of_a_class_of_the_standards_client(questions, tmp_path):
    """Each is built again by its class, which refuses other keys, and the lack of those it needs."""
    emit_events(questions, tmp_path, tmp_path / "events.jsonl")

    classes = {
        kind._get_schema(): kind
        for module in vars(facet_v2).values()
        if isinstance(module, ModuleType)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, facet_v2.BaseFacet)
    }
    checked = set()
    for event in read(tmp_path / "events.jsonl"):
        RunEvent(
            eventTime=event["eventTime"],
            producer=event["producer"],
            run=Run(event["run"]["runId"]),
            job=Job("n", "j"),
        )
        places = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
        for place in places:
            for kind in ("facets", "inputFacets", "outputFacets"):
                for name, facet in (place.get(kind) or {}).items():
                    own = {key: value for key, value in facet.items() if not key.startswith("_")}
                    if name != "benchloom_calls":
                        classes[facet["_schemaURL"]](**own)
                    checked.add(name)
    assert checked == {
        "benchloom_calls", "columnLineage", "dataQualityAssertions", "executionParameters", "jobType",
        "outputStatistics", "schema", "sourceCode", "sourceCodeLocation", "version",
    }  # fmt: skip
