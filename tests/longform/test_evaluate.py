"""Tests of `benchloom evaluate longform` with a function as the system and judges on loopback."""

import json
from collections.abc import Iterator

import pytest
from aiohttp import web

from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.longform.solve.interaction import Interaction
from tests.flows.evaluated import assert_as_kept
from tests.flows.lineage.walked import assert_figures_lead_to
from tests.flows.sample import Sample, make_sample
from tests.judging.scripted import sign
from tests.longform.scripted_agents import SCRIPT
from tests.models.scenes import answering, say, serving

OWN = """
def answer(question, history):
    asked, _, script = question.partition("\\n\\nSQLite database:\\n")
    if "fails" in asked:
        raise ValueError("no answer here")
    if "mute" in asked:
        return "Well said."
    sql = "SELECT stadium, count(*) AS n FROM concert GROUP BY 1"
    return {"answer": "Well said." if "INSERT" in script else "Badly said.",
            "contexts": ["Count the concerts.", sql, "DROP TABLE concert"], "titles": ["plan", "query", ""]}
"""
ITEMS = [
    {"id": f"{kind}-{name}", "question": f"{name}: which stadium?", "reference": "Balmoor.", "kind": kind,
     "script": SCRIPT}
    for kind, name in (("conclusive", "asks"), ("conclusive", "mute"), ("interpretive", "asks"),
                       ("conclusive", "fails"))
]  # fmt: skip


async def judge(request: web.Request) -> web.Response:
    """Judge the system's answer and steps as good, and everything else as bad."""
    body = await request.json()
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    good = "Well said." in user or "Count the concerts." in user
    if "Score " in user:
        reply = "Score: 4"
    elif "Not Match" in system + user:
        reply = f"Verdict: {'Match' if good else 'Not Match'}"
    else:
        reply = f"Rationale: as it is.\nVerdict: {'Perfect' if good else 'Imperfect'}"
    return say(sign(reply, user))


async def reply_as_ours(request: web.Request) -> web.Response:
    """Answer over HTTP like the function above."""
    asked, _, script = (await request.json())["input"].partition("\n\nSQLite database:\n")
    if "fails" in asked:
        return web.Response(status=500, text="no answer here")
    if "mute" in asked:
        return web.json_response({"said": "Well said."})
    sql = "SELECT stadium, count(*) AS n FROM concert GROUP BY 1"
    work = [("plan", "Count the concerts."), ("query", sql), ("", "DROP TABLE concert")]
    return web.json_response(
        {
            "said": "Well said." if "INSERT" in script else "Badly said.",
            "work": [{"title": title, "text": text} for title, text in work],
        }
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    sample = make_sample(tmp_path_factory.mktemp("evaluate-longform"))
    (sample.root / "stranger.py").write_text(OWN)
    folder = sample.root / "mine"
    folder.mkdir()
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS) + "{nope\n")
    behind = web.Application()
    behind.router.add_post("/v1/ask", reply_as_ours)
    with answering(judge) as url, serving(behind) as agent:
        endpoint = f"{{kind: openai, url: '{url}', in_flight: 4, retries: 0}}"
        ours = "{kind: callable, version: '1', function: 'stranger:answer'}"
        served = (
            "{kind: http, version: '1', answer: {path: /ask, body: {input: '{question}'}, text: said, "
            "contexts: 'work[].text', titles: 'work[].title'}}"
        )
        set_params(
            sample.root,
            [
                f"run.endpoints.qwen25-coder-1b5={endpoint}",
                f"systems.ours={ours}",
                f"systems.served={served}",
                f"run.systems.served={{url: '{agent}', retries: 0}}",
                "longform.system_interactions.reviewers=2",
                "longform.system_interactions.meta_reviewers=1",
            ],
        )
        yield sample


def test_a_system_is_asked_judged_and_written_down(project: Sample) -> None:
    lock = (project.root / "dvc.lock").read_bytes()
    words = ("evaluate", "longform", "--dataset", "mine", "--system", "ours", "--out", "out")
    done = project.benchloom(*words, "--json")
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 1, done.stderr
    assert "items.jsonl, line 5: is not valid JSON: " in done.stderr
    assert "item conclusive-fails: no answer: the system raised ValueError" in done.stderr
    out = project.root / "out"
    figures = json.loads(done.stdout)
    assert figures == json.loads((out / "figures.json").read_text())
    assert_as_kept(figures, "longform")
    assert figures["counts"] == {"items": 4, "failed": 1, "scored": 3, "unscored": 0, "reviewed": 2}
    assert (figures["answers"]["match rate"]["value"], figures["answers"]["match rate"]["n"]) == (1.0, 2)
    assert figures["answers"]["mean score"]["value"] == 4.0
    assert figures["answers"]["queries"]["value"] == 1.0, "2 of each of two items, 0 of two"
    assert figures["answers"]["valid queries"]["value"] == 0.5
    assert (
        "1 of 4 interactions have no answer (25.0%). The means below leave out these interactions."
        in figures["warnings"]
    )
    assert {step: cells["reviews"]["value"] for step, cells in figures["steps"].items()} == {
        "IP": 1.0, "TE": 1.0, "IS": 1.0,
    }  # fmt: skip
    assert str(project.root) not in (out / "figures.json").read_text()
    assert_figures_lead_to("mine/items.jsonl", out, project.root)
    rows = {row.item: row for row in read_rows(out / "interactions.parquet", Interaction)}
    told = rows["conclusive-asks"]
    assert (told.agent, told.model, told.plan) == ("system", "ours", "Count the concerts.")
    assert json.loads(told.queries[0].rows) == [[1, 2], [2, 1]], "the query ran here"
    assert told.queries[1].error.startswith("SqlRefused: ")
    assert rows["conclusive-mute"].queries == ()
    written = {path.name: path.read_bytes() for path in out.iterdir()}

    again = project.benchloom(*words, "--replay")
    assert again.returncode == 1, again.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == written, "the ledger answers"
    assert "4 items, 3 scored, 1 failed, 0 unscored" in " ".join(again.stdout.split())
    assert "IP Perfect, reviewers" in again.stdout
    assert (project.root / "dvc.lock").read_bytes() == lock


def test_answers_of_a_file_are_judged_with_the_steps_that_it_shows(project: Sample) -> None:
    sql = "SELECT stadium, count(*) AS n FROM concert GROUP BY 1"
    steps = {"titles": ["plan", "query"], "contexts": ["Count the concerts.", sql]}
    rows = [{"id": item["id"], "answer": "Well said.", **steps} for item in ITEMS[:3]]
    (project.root / "told.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("--dataset", "mine", "--answers", "told.jsonl", "--out", "told", "--json")
    done = project.benchloom("evaluate", "longform", *words)
    assert done.returncode == 1, done.stderr
    figures = json.loads(done.stdout)
    assert figures["counts"] == {"items": 4, "failed": 1, "scored": 3, "unscored": 0, "reviewed": 3}
    told = {row.item: row for row in read_rows(project.root / "told" / "interactions.parquet", Interaction)}
    assert told["conclusive-asks"].plan == "Count the concerts."
    assert json.loads(told["conclusive-asks"].queries[0].rows) == [[1, 2], [2, 1]]
    compared = project.call("flows.cli", "compare", "told", "out", "--json")
    assert compared.returncode == 0, compared.stderr
    sections = {metric["section"] for metric in json.loads(compared.stdout)["means"]}
    assert sections == {"longform.systems"}, "the same answers are compared once"


def drop_bases(figures: object) -> object:
    """Remove the rows behind figures, since the row ids depend on the system's name."""
    if isinstance(figures, dict):
        return {name: drop_bases(value) for name, value in figures.items() if name != "basis"}
    return figures


@pytest.mark.drill
def test_an_agent_over_http_is_what_a_function_of_the_same_answers_is(project: Sample) -> None:
    """Only names, ids and the words for a failure differ."""
    figures = {}
    for name in ("ours", "served"):
        words = ("evaluate", "longform", "--dataset", "mine", "--system", name, "--out", f"by-{name}")
        done = project.benchloom(*words, "--json")
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 1, done.stderr
        figures[name] = json.loads(done.stdout)
    assert "item conclusive-fails: no answer: " in done.stderr
    assert "500" in done.stderr
    assert figures["served"]["counts"] == {"items": 4, "failed": 1, "scored": 3, "unscored": 0, "reviewed": 2}
    for part in ("counts", "answers", "steps"):
        assert drop_bases(figures["served"][part]) == drop_bases(figures["ours"][part])
    made = {
        name: read_rows(project.root / f"by-{name}/interactions.parquet", Interaction) for name in figures
    }
    told = {
        name: {row.item: (row.plan, row.queries, row.answer, row.steps, row.left_out) for row in rows}
        for name, rows in made.items()
    }
    assert told["served"] == told["ours"]
    assert {row.model for row in made["served"]} == {"served"}


def test_a_dataset_that_is_none_is_told_in_one_line(project: Sample) -> None:
    (project.root / "empty").mkdir()
    for dataset, said in (
        ("nowhere", "no such file or folder"),
        ("empty", "has no items.parquet and no items.jsonl"),
    ):
        done = project.benchloom("evaluate", "longform", "--dataset", dataset, "--system", "ours")
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    done = project.benchloom("evaluate", "longform", "--dataset", "mine", "--system", "weak")
    assert "retrieves from documents" in done.stderr
