"""Tests of `benchloom evaluate streambench` in real processes, with a system on loopback."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from aiohttp import web

from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.streambench.build.items import StreamItem
from tasks.streambench.solve.stream_step import StreamStep
from tests.flows.evaluated import assert_as_kept
from tests.flows.lineage.walked import assert_figures_lead_to
from tests.flows.sample import Sample, make_sample
from tests.models.scenes import serving

ITEMS = [
    *(
        {"key": name, "text": f"Which city is {name}?", "gold": "Oslo"}
        for name in ("one", "two", "three", "four")
    ),
    {"key": "down", "text": "Which city is down?", "gold": "Oslo"},
    {"key": "open", "text": "Which city has no gold answer?", "gold": ""},
]
METHODS = ("zero_shot", "self_stream_icl")
OURS = "{kind: http, version: '1', answer: {path: /ask, body: {query: '{question}'}, text: text}}"


@pytest.fixture
def asked() -> Counter[str]:
    return Counter()


@pytest.fixture
def project(tmp_path, asked) -> Iterator[Sample]:
    """A project whose system knows city one, and other cities after a correct answer."""

    async def answer(request: web.Request) -> web.Response:
        asked["system"] += 1
        query = (await request.json())["query"]
        question = query.rpartition("Question: ")[2].partition("\n")[0]
        if "down" in question:
            return web.json_response({"error": "no"}, status=400)
        known = "one" in question or "earlier tasks" in query
        return web.json_response({"text": json.dumps({"answer": "Oslo" if known else "Rome"})})

    async def embed(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        asked["embedder"] += 1
        rows = [{"index": n, "embedding": [1.0, float(len(text))]} for n, text in enumerate(texts)]
        return web.json_response({"data": rows})

    app = web.Application()
    app.router.add_post("/v1/ask", answer)
    app.router.add_post("/v1/embeddings", embed)
    sample = make_sample(tmp_path / "project")
    folder = sample.root / "cities"
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"name": "cities", "kind": "hotpotqa"}))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    with serving(app) as url:
        set_params(
            sample.root,
            [
                f"systems.ours={OURS}",
                f"run.systems.ours={{url: '{url}', retries: 0}}",
                f"run.endpoints.cities={{kind: openai, url: '{url}', retries: 0}}",
                "roles.embedder.model=cities",
                "streambench.system_steps.seeds=[42, 7]",
            ],
        )
        yield sample


def evaluate(project: Sample, *words: str, dataset: str = "cities"):
    done = project.benchloom("evaluate", "streambench", "--dataset", dataset, "--system", "ours", *words)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def expect_bits(texts: list[str], *, remembers: bool) -> list[bool]:
    """Return which steps are correct; with memory, earlier correct answers help."""
    bits: list[bool] = []
    for text in texts:
        known = "one" in text or (remembers and any(bits))
        bits.append(known and "down" not in text)
    return bits


def test_a_stream_of_ones_own_is_run_measured_and_replayed(project, asked):
    lock = (project.root / "dvc.lock").read_bytes()
    done = evaluate(project, "--out", "mine", "--json")
    assert done.returncode == 1, "an item has no gold answer, and steps failed: " + done.stderr
    assert "no_gold" in done.stderr
    figures = json.loads(done.stdout)
    assert figures == json.loads((project.root / "mine/figures.json").read_text(encoding="utf-8"))
    assert_as_kept(figures, "streambench")
    assert (figures["flow"], figures["system"], figures["dataset"]) == ("streambench", "ours", "cities")
    texts = {item.id: item.text for item in read_rows(project.root / "mine/items.parquet", StreamItem)}
    assert sorted(texts.values()) == sorted(item["text"] for item in ITEMS if item["gold"])
    steps = sorted(read_rows(project.root / "mine/steps.parquet", StreamStep), key=lambda step: step.position)
    right = Counter[str]()
    for method in METHODS:
        for seed in (42, 7):
            own = [step for step in steps if (step.method, step.seed) == (method, seed)]
            bits = expect_bits([texts[step.item] for step in own], remembers=method == "self_stream_icl")
            assert [step.bit for step in own] == bits, (method, seed)
            right[method] += sum(bits)
    assert right["self_stream_icl"] > right["zero_shot"] == 2
    assert {name: method["accuracy"]["value"] for name, method in figures["methods"].items()} == {
        name: right[name] / 10 for name in METHODS
    }
    counts = {"items": 5, "steps": 20, "right": right.total(), "failed": 4, "unjudged": 0}
    assert figures["counts"] == counts
    assert len(figures["failures"]) == 4
    assert any(warning.startswith("4 of 20 steps have no answer") for warning in figures["warnings"])
    assert figures["methods"]["self_stream_icl"]["memory"] == right["self_stream_icl"] / 2, (
        "a mean of two seeds"
    )
    assert_figures_lead_to("cities/items.jsonl", project.root / "mine", project.root)

    before = dict(asked)
    assert before["embedder"] > 0
    again = evaluate(project, "--out", "again", "--replay")
    assert (again.returncode, dict(asked)) == (1, before), "the ledger answers"
    assert json.loads((project.root / "again/figures.json").read_text(encoding="utf-8")) == figures
    assert "self_stream_icl" in again.stdout
    assert (project.root / "dvc.lock").read_bytes() == lock


def test_what_is_no_stream_ends_in_one_line(project, asked):
    done = evaluate(project, dataset="nowhere")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "nowhere" in done.stderr
    (project.root / "cities/items.jsonl").write_text("{nope\n")
    done = evaluate(project)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "items.jsonl" in done.stderr
    assert not asked


def test_answers_of_a_file_go_by_the_keys_of_the_dataset(project, asked):
    replies = {"one": "Oslo", "two": "Rome", "three": "Oslo", "four": "Oslo"}
    rows = ({"id": key, "answer": json.dumps({"answer": city})} for key, city in replies.items())
    (project.root / "mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    set_params(project.root, ["streambench.system_steps.methods=[zero_shot]"])
    words = ("--dataset", "cities", "--answers", "mine.jsonl", "--out", "mine", "--json", "--replay")
    done = project.benchloom("evaluate", "streambench", *words)
    assert done.returncode == 1, done.stderr
    figures = json.loads(done.stdout)
    assert figures["system"] == "mine"
    assert figures["counts"] == {"items": 5, "steps": 10, "right": 6, "failed": 2, "unjudged": 0}
    assert not asked
