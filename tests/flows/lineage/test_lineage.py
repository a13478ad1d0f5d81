import hashlib
import json

import pytest
import yaml

from flows.cli import app
from flows.commands.lineage import lineage_command, trace_target
from tasks.errors import BadInput
from tasks.grammar.publish.report import report
from tests.grammar.sample import STEMS, write_sample

FOLDER = "data/grammar/films"
OUT = "data/reports/grammar/films"


def record(root, path, **more):
    content = (root / path).read_bytes()
    return {
        "path": path,
        "hash": "md5",
        "md5": hashlib.md5(content).hexdigest(),
        "size": len(content),
        **more,
    }


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The artifacts of a small sample and a record of them; its groups have no source rows."""
    sample = write_sample(tmp_path)
    report(
        **sample.page_inputs(),
        database=sample.entry,
        settings={},
        out=tmp_path / OUT,
        metrics=tmp_path / "metrics",
    )
    prompts = tmp_path / "tasks/grammar/prompts"
    prompts.mkdir(parents=True)
    (tmp_path / "data/films.sqlite").write_bytes(b"database")
    stages = {}
    for stem in STEMS:
        kinds = [
            kind
            for kind in ("", ".dropped", ".calls")
            if (tmp_path / f"{FOLDER}/{stem}{kind}.parquet").is_file()
        ]
        deps = [record(tmp_path, "data/films.sqlite")] if stem == "schema" else []
        if ".calls" in kinds:
            (prompts / f"{stem}_prompt.md").write_text("# user\nWrite it.")
            deps.append(record(tmp_path, f"tasks/grammar/prompts/{stem}_prompt.md"))
        stages[f"grammar-{stem}@films"] = {
            "cmd": f"run {stem}",
            "deps": deps,
            "params": {
                "params.yaml": {"roles.generator": {"model": "small"}, "roles.reader": {"model": "small"}}
            },
            "outs": [record(tmp_path, f"{FOLDER}/{stem}{kind}.parquet") for kind in kinds],
        }
    deps = [out for stage in stages.values() for out in stage["outs"]]
    stages["grammar-report@films"] = {"cmd": "run report", "deps": deps, "outs": [{"path": OUT}]}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "params.yaml").write_text("run: {}\n")
    monkeypatch.chdir(tmp_path)
    return sample


def run(capsys, *words):
    """Call the command line; return its exit code and its output."""
    code = app(["lineage", *words], standalone_mode=False)
    return code, capsys.readouterr()


@pytest.fixture
def without_prompt_digests(monkeypatch):
    monkeypatch.setattr("tasks.lineage.provenance._digest_prompt", lambda path: "cd" * 32)


@pytest.mark.usefixtures("without_prompt_digests")
def test_a_row_walks_back_to_the_database(project, capsys):
    question = project.questions[0]

    code, said = run(capsys, f"{FOLDER}/balanced.parquet", "--row", question.id[:9], "--json")

    whole = json.loads(said.out)
    files = {node["reference"]: node["summary"] for node in whole["nodes"] if node["kind"] == "file"}
    assert (code, whole["gaps"], said.err) == (0, [], "")
    assert whole["target"] == f"{FOLDER}/balanced.parquet#{question.id}"
    assert files["data/films.sqlite"]["md5"] == hashlib.md5(b"database").hexdigest()
    assert files["data/films.sqlite"]["now"] == "same"


@pytest.mark.usefixtures("without_prompt_digests")
def test_a_figure_walks_back_to_all_of_its_rows(project, capsys):
    code, said = run(capsys, f"{OUT}/report.json#/figures/0", "--all", "--json")

    whole = json.loads(said.out)
    assert code == 0
    assert whole["nodes"][0]["summary"]["value"] == len(project.questions)
    walked = {
        node["reference"]
        for node in whole["nodes"]
        if node["reference"].startswith(f"{FOLDER}/balanced.parquet#")
    }
    assert walked == {f"{FOLDER}/balanced.parquet#{question.id}" for question in project.questions}


def test_an_artifact_walks_back_by_its_stages(project, capsys):
    code, said = run(capsys, f"./{FOLDER}/schema.parquet")

    lines = said.out.splitlines()
    assert code == 0
    assert lines[0].startswith(f"file {FOLDER}/schema.parquet  md5=")
    assert lines[1].startswith("└─ stage grammar-schema@films  command=run schema")
    assert lines[2].startswith("   └─ file data/films.sqlite")


def test_a_gap_ends_with_one_and_is_named_on_both_streams(project, capsys, tmp_path):
    (tmp_path / "data/films.sqlite").write_bytes(b"another")

    code, said = run(capsys, f"{FOLDER}/schema.parquet")

    assert code == 1
    assert "gap: data/films.sqlite: is different from the version in dvc.lock" in said.out
    assert "gap: data/films.sqlite: is different from the version in dvc.lock" in said.err


def test_a_page_is_one_file_that_holds_all_and_asks_nothing(project, capsys, tmp_path):
    run(
        capsys, f"{FOLDER}/balanced.parquet", "--row", project.questions[0].id, "--html", "--out", "page.html"
    )

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for outside in ("<script src", '<link rel="stylesheet"', "<img", "@import", "url("):
        assert outside not in page
    assert "default-src 'none'; script-src 'sha256-" in page
    assert project.questions[0].question in page
    assert str(tmp_path) not in page


def test_a_page_of_many_rows_is_cut_and_says_so(project, tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.reports.lineage_page.NODES", 10)

    lineage_command(
        f"{FOLDER}/balanced.parquet", root=tmp_path, every=True, html=True, out=tmp_path / "page.html"
    )

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('"summary":') == 10
    assert "This page leaves out" in page


@pytest.mark.parametrize("row", [None, "0123456789"])
def test_an_unknown_target_says_what_there_is(project, tmp_path, row):
    with pytest.raises(BadInput, match=r"known: data/grammar/films/schema\.parquet"):
        trace_target("data/schema.parquet", row, tmp_path)
    with pytest.raises(BadInput, match="is not a report file"):
        trace_target("data/report.json#/figures/0", row, tmp_path)


def test_without_a_lock_nothing_has_run(project, tmp_path):
    (tmp_path / "dvc.lock").unlink()

    with pytest.raises(BadInput, match="benchloom run"):
        trace_target(f"{FOLDER}/schema.parquet", None, tmp_path)


def test_a_broken_lock_is_one_clear_line(project, tmp_path):
    (tmp_path / "dvc.lock").write_text("stages: {a: [", encoding="utf-8")

    with pytest.raises(BadInput, match=r"dvc\.lock: cannot be read"):
        trace_target(f"{FOLDER}/schema.parquet", None, tmp_path)
