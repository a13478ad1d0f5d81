"""Tests of `benchloom evaluate` in a real process, with a model and a system on loopback."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from flows.settings import set_params
from tasks.artifacts.parquet import count_rows, write_rows
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.systems.contract import Document
from tests.flows.evaluated import assert_as_kept
from tests.flows.lineage.walked import assert_figures_lead_to
from tests.flows.night_model import NightModel
from tests.flows.sample import Sample, interrupt, make_sample, wait_for
from tests.models.scenes import answering, serving

ROWS = [
    {"id": f"{group}-{kind}", "group": group, "criterion": kind, "question": f"{kind}: who leads {group}?",
     "answer": "Ada", "true_document_ids": [f"{group}.md"]}
    for group in ("mill", "forge", "dairy")
    for kind in ("short", "long")
]  # fmt: skip
OURS = (
    "{kind: http, version: '1', "
    "answer: {path: /ask, body: {query: '{question}'}, text: text, ids: ids, contexts: texts}}"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Sample:
    """The project's code and parameters, without artifacts of the sample."""
    sample = make_sample(tmp_path_factory.mktemp("evaluate"))
    documents = sample.root / "corpus"
    documents.mkdir()
    for name in ("mill", "forge", "dairy"):
        (documents / f"{name}.md").write_text(f"# {name}\n\nSomebody leads {name}.\n")
    write(sample, "questions.jsonl", *map(json.dumps, ROWS))
    # The same settings as for the stored evaluations.
    weak = "{kind: rag, retriever: keyword, top_k: 1, language: en, multi_turn: true}"
    set_params(sample.root, ["systems.good.top_k=2", f"systems.weak={weak}"])
    return sample


@pytest.fixture
def model(project) -> Iterator[NightModel]:
    model = NightModel()
    params = project.root / "params.yaml"
    before = params.read_text()
    with answering(model.answer) as url:
        endpoint = f"{{kind: openai, url: '{url}', in_flight: 4, retries: 0}}"
        set_params(project.root, [f"run.endpoints.qwen25-coder-1b5={endpoint}"])
        yield model
    params.write_text(before)
    (project.root / ".benchloom" / "drill.sqlite").unlink(missing_ok=True)


def write(sample: Sample, name: str, *lines: str) -> Path:
    path = sample.root / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def evaluate(sample: Sample, *words: str, dataset="questions.jsonl", system="weak"):
    done = sample.benchloom("evaluate", "grammar", "--dataset", dataset, "--system", system, *words)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_built_in_rag_is_asked_judged_and_written_down_once(project, model, tmp_path):
    lock = (project.root / "dvc.lock").read_bytes()
    out = tmp_path / "mine"
    words = ("--documents", "corpus", "--out", str(out))
    done = evaluate(project, *words, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures == json.loads((out / "figures.json").read_text())
    assert_as_kept(figures, "grammar")
    assert figures["counts"]["scored"] == 6
    assert figures["rates"]["open"]["all"]["accuracy"] == 1.0
    assert figures["hypothesis"]["open"]["rates"]["accuracy"]["difference"] == 0.0
    first = [warning for warning in figures["warnings"] if "held-out test cases" not in warning]
    assert not first, "the recorded judge knows its canaries"
    assert str(project.root) not in (out / "figures.json").read_text()
    assert_figures_lead_to("questions.jsonl", out, project.root)
    pointer = f"{out}/figures.json#/rates/open/all/accuracy"
    walked = project.benchloom("lineage", pointer)
    assert (walked.returncode, walked.stderr) == (0, "")
    assert "recomputed from these rows: 1.0" in walked.stdout
    assert f"benchloom lineage '{out}/figures.json#" in done.stderr
    assert {path.name for path in out.iterdir()} == {
        "questions.parquet", "answers.parquet", "judgements.parquet", "canaries.parquet", "calls.parquet",
        "documents.parquet", "figures.json", "lineage.json",
    }  # fmt: skip
    assert count_rows(out / "answers.parquet") == 6
    assert model.asked["system"] == 6
    bytes_before = {path.name: path.read_bytes() for path in out.iterdir()}
    asked = dict(model.asked)

    again = evaluate(project, *words, "--replay")
    assert again.returncode == 0, again.stderr
    assert dict(model.asked) == asked, "the ledger answers"
    assert {path.name: path.read_bytes() for path in out.iterdir()} == bytes_before
    assert "6 questions of 3 groups, 6 scored, 0 failed, 0 unscored" in " ".join(again.stdout.split())
    assert again.stdout.count("100.0") == 3 * 3 * 2, "three rates, all and two criteria, two modes"
    assert "100.0 (" not in again.stdout, "three groups are too few for an interval"

    model.drifted = True
    night = evaluate(project, *words, "--as-of", "later")
    assert night.returncode == 0, night.stderr
    assert night.stdout.startswith("WARNING"), "this judge fails canaries"
    assert model.asked["system"] == 2 * asked["system"]
    assert model.asked["judge"] >= 2 * asked["judge"], "the canaries of no night may be in a shipped ledger"
    assert (project.root / "dvc.lock").read_bytes() == lock


def test_a_system_over_http_with_failures_is_judged_on_the_rest(project, model):
    async def ask(request: web.Request) -> web.Response:
        query = (await request.json())["query"]
        if "dairy" in query:
            return web.json_response({"error": "no"}, status=400)
        good = "short" in query
        name = "mill.md" if good and "mill" in query else "forge.md"
        text = "well answered" if good else "badly answered"
        return web.json_response({"text": text, "ids": [name], "texts": ["a text"]})

    app = web.Application()
    app.router.add_post("/v1/ask", ask)
    with serving(app) as url:
        params = project.root / "params.yaml"
        params.write_text(
            params.read_text()
            .replace("\nsystems:", f"\nsystems:\n  ours: {OURS}", 1)
            .replace("\n  systems: {} # <", f"\n  systems: {{ours: {{url: '{url}', retries: 0}}}} # <", 1)
        )
        write(project, "broken.jsonl", *map(json.dumps, ROWS), "{nope", '{"question": "x"}')
        done = evaluate(project, "--json", dataset="broken.jsonl", system="ours")
    assert done.returncode == 1, done.stderr
    figures = json.loads(done.stdout)
    assert figures["counts"]["failed"] == 2
    assert figures["counts"]["unscored"] == 0
    # mill and forge: short right, long wrong.
    assert figures["rates"]["open"]["all"]["accuracy"] == 0.5
    assert figures["rates"]["open"]["all"]["n_scored"] == 4
    assert figures["hypothesis"]["open"]["rates"]["accuracy"]["difference"] == 1.0
    for said in ("line 7: is not valid JSON", "line 8: answer is missing", "question dairy-short: no answer"):
        assert said in done.stderr
    assert "written to data/evaluations/ours-" in done.stderr
    refused = evaluate(project, "--documents", "corpus", system="ours")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "does not retrieve from the given documents" in refused.stderr


def test_a_dataset_folder_brings_its_corpus_and_is_asked_what_stands_in_it(project, model):
    folder = project.root / "brought"
    (folder / "dataset").mkdir(parents=True)
    plain = [{name: row[name] for name in row if name != "true_document_ids"} for row in ROWS]
    write(project, "brought/dataset/balanced.jsonl", *map(json.dumps, plain))
    texts = [Document(name, name, f"Somebody leads {name}.", ()) for name in ("mill", "forge")]
    write_rows(folder / "documents.parquet", Document, texts)
    true = [TrueDocument(name, (name,), ()) for name in ("mill", "dairy")]
    write_rows(folder / "true_documents.parquet", TrueDocument, true)
    done = evaluate(project, "--json", dataset="brought/dataset")
    assert done.returncode == 0, done.stderr
    assert "2 of 6 questions have their true documents in documents.parquet" in done.stderr
    figures = json.loads(done.stdout)
    assert (figures["documents"], figures["counts"]["rows"], figures["counts"]["grounded"]) == (2, 2, 2)
    assert figures["rates"]["closed"]["all"]["accuracy"] == 1.0
    (folder / "true_documents.parquet").unlink()
    none = evaluate(project, dataset="brought/dataset")
    assert (none.returncode, none.stdout) == (2, "")
    assert "no question with `true_document_ids`" in none.stderr


def test_limit_takes_whole_groups(project, model):
    done = evaluate(project, "--documents", "corpus", "--limit", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["counts"]["groups"], model.asked["system"]) == (2, 4)


@pytest.mark.drill
def test_a_budget_stops_it_and_more_of_it_goes_on(project, model):
    model.tokens = 200  # per prompt and reply: six answers exceed 2,000 tokens
    words = ("--documents", "corpus", "--json")
    short = evaluate(project, *words, "--budget-tokens", "2000")
    assert short.returncode == 3, short.stderr
    assert 0 < model.asked["system"] < 6
    done = evaluate(project, *words)
    assert done.returncode == 0, done.stderr
    assert model.asked["system"] == 6, "what was paid for is not asked again"


def test_ctrl_c_ends_it_and_the_same_command_goes_on(project, model):
    many = [json.dumps({"question": f"who leads {n}?", "answer": "Ada"}) for n in range(300)]
    write(project, "many.jsonl", *many)
    model.pause_s = 0.2
    words = ("evaluate", "grammar", "--dataset", "many.jsonl", "--system", "weak", "--documents", "corpus")
    process = project._begin("flows.cli", *words)
    try:
        wait_for(lambda: model.asked["system"] >= 20, process, 120)
        said = interrupt(process, signal.SIGINT)
    finally:
        project.end_all()
    assert process.returncode == 130, said
    assert "run the same command again to continue" in said
    assert "Traceback" not in said
    before = model.asked["system"]
    assert before < 300
    model.pause_s = 0
    done = evaluate(project, "--documents", "corpus", dataset="many.jsonl")
    assert done.returncode == 0, done.stderr
    assert model.asked["system"] <= 300 + 4, "only what was in flight may be asked twice"


@pytest.mark.parametrize(
    ("flow", "words", "line"),
    [
        ("ragcheck", ("--system", "weak"), "questions.jsonl, line 1: 'reference' is None"),
        ("grammar", ("--system", "alone", "--turns", "2"), "--turns: does not apply to grammar"),
        ("other", ("--system", "weak"), "is not a flow"),
        ("grammar", ("--system", "nobody"), "(known: "),
        (
            "grammar",
            ("--system", "weak"),
            "systems.weak: retrieves from documents, but there are no documents",
        ),
        ("grammar", ("--system", "alone", "--documents", "corpus"), "does not retrieve from"),
        ("grammar", ("--system", "weak", "--documents", "nowhere"), "no such file or folder"),
        ("grammar", ("--system", "alone", "--as-of", "../x"), "is not a valid label"),
        (
            "grammar",
            ("--system", "alone", "--out", "params.yaml"),
            "the folder cannot be created (file exists)",
        ),
        ("grammar", ("--system", "alone", "--dataset", "nowhere.jsonl"), "no such file"),
        ("grammar", ("--system", "alone", "--dataset", "params.yaml"), "contains no usable item"),
    ],
)
def test_what_is_wrong_is_one_line_before_anybody_is_asked(project, model, flow, words, line):
    given = () if "--dataset" in words else ("--dataset", "questions.jsonl")
    done: subprocess.CompletedProcess[str] = project.benchloom("evaluate", flow, *given, *words)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not model.asked


def test_a_missing_call_under_replay_is_exit_4(project, model):
    done = evaluate(project, "--documents", "corpus", "--replay")
    assert done.returncode == 4, done.stderr
    assert not model.asked


def test_several_systems_and_models_are_asked_judged_and_compared(project, model, tmp_path):
    endpoint = "{model: qwen25-coder-1b5, temperature: 0.0, max_tokens: 64}"
    set_params(project.root, [f"roles.answerer={endpoint}"])
    words = ("--documents", "corpus", "--out", str(tmp_path / "out"))
    one = project.benchloom(
        "evaluate", "grammar", "--dataset", "questions.jsonl", "--system", "weak", "--system", "good",
        *words, "--json",
    )  # fmt: skip
    assert one.returncode == 0, one.stderr
    told = json.loads(one.stdout)
    assert [figures["system"] for figures in told["systems"]] == ["weak", "good"]
    assert told["compared"]["sides"] == ["weak", "good"]
    (scored_system,) = told["compared"]["strands"]
    assert [(change["metric"], change["n_pairs"]) for change in scored_system["metrics"]] == [("accuracy", 6)]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"weak", "good"}

    table = project.benchloom(
        "evaluate", "grammar", "--dataset", "questions.jsonl", "--model", "qwen25-coder-1b5",
        "--system", "alone", "--out", str(tmp_path / "models"),
    )  # fmt: skip
    assert table.returncode == 0, table.stderr
    assert "A: alone\nB: qwen25-coder-1b5" in table.stdout
    record = json.loads((tmp_path / "models/qwen25-coder-1b5/lineage.json").read_text())
    assert "--model qwen25-coder-1b5" in record["cmd"]
    walked = project.benchloom(
        "lineage", f"{tmp_path}/models/qwen25-coder-1b5/figures.json#/rates/open/all/accuracy"
    )
    assert (walked.returncode, walked.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--system", "weak", "--system", "weak"), "the same name is given twice"),
        (("--system", "weak", "--answers", "a.csv", "--model", "m"), "contains the answers of one system"),
        (("--model", "weak"), "--model weak: is already the name of a system in params.yaml"),
        (("--system", "weak", "--system", "nobody"), "--system nobody: is not under `systems`"),
    ],
)
def test_systems_that_cannot_be_asked_together_are_told_before_anything(project, model, words, said):
    done = project.benchloom(
        "evaluate", "grammar", "--dataset", "questions.jsonl", "--documents", "corpus", *words
    )
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not model.asked
