import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.assess.ablation import DocumentAblation
from tasks.grammar.assess.assessment_report import assessment_report
from tasks.models.calls import Call
from tests.grammar.assess.test_assessment import write_figures
from tests.grammar.assess_world import assess, make_world
from tests.grammar.publish.test_report import read_data
from tests.grammar.sample import HOSTILE, make_call
from tests.reports.figure_folders import place_figures

SHOWN = ("questions", "answers", "judgements", "baselines", "entry", "answer_facts")


def write_page(
    folder: Path,
    name: str = "weak",
    hostile: bool = False,
    withheld: DocumentAblation | None = None,
    change: Callable[[dict[str, Any]], list[Dropped]] = lambda parts: [],
) -> Path:
    """Write the page of an assessment on the villages; each judgement has a separate call.

    change: modifies the stages' rows; returns the dropped labels of people.
    """
    world = make_world()
    parts = assess(world, name, withheld=withheld, sample=3)
    dropped = change(parts)
    if hostile:
        parts["answers"] = [
            replace(answer, response=f"{answer.response} {HOSTILE}") for answer in parts["answers"]
        ]
    calls = [make_call("judgements", judgement.id, HOSTILE) for judgement in parts["judgements"]]
    parts["judgements"] = [
        replace(judgement, origin=(judgement.origin[0], Origin("call", call.id)))
        for judgement, call in zip(parts["judgements"], calls, strict=True)
    ]
    write_figures(folder, parts)
    paths = {name: folder / f"{name}.calls.parquet" for name in ("answers", "judgements", "baselines")}
    for stem, path in paths.items():
        write_rows(path, Call, calls if stem == "judgements" else [])
    out = folder / "data" / "reports" / "grammar" / f"v-{name}"
    rows = {name: parts[name] for name in SHOWN}
    assessment_report(
        figures=folder / "figures.json",
        documents=world.documents,
        key=f"v-{name}",
        database=DatabaseEntry(name="villages", file=Path("villages.sqlite"), title="Villages"),
        out=out,
        **place_figures(out, "metrics", "bars"),
        human_labels_dropped=dropped,
        **{f"{stem}_calls": path for stem, path in paths.items()},
        **rows,
    )
    return out


def test_every_question_leads_to_its_documents_verdict_and_calls(tmp_path):
    out = write_page(tmp_path)
    data, calls = read_data(out / "rows.js"), read_data(out / "calls.js")
    assert len(data["rows"]) == 60
    for _, _, values, _, blocks, traced, _, _, (choices, vary) in data["rows"]:
        _, tags, _, labels, modules = values
        assert set(tags) == set(labels) == {"open", "closed"}
        assert set(labels.values()) <= {"Correct", "Incorrect"}
        assert any(key in calls for block in blocks if block[0] == "calls" for key in block[2])
        assert all(data["shared"][block[1]] for block in blocks if block[0] == "shared")
        assert [artifact for artifact, _ in traced] == ["answers", "questions"]
        assert choices == ["mode", "rule"]
        assert [tags["open"], "off"] in vary["open|gold"]
        assert modules["open|siblings"] == ("" if labels["open"] == "Correct" else "retrieval")


def test_the_page_escapes_what_a_system_said(tmp_path):
    out = write_page(tmp_path, hostile=True)
    assert "<img" not in (out / "index.html").read_text()
    assert "</script>" not in (out / "rows.js").read_text().lower()
    assert any(
        HOSTILE in block[1] for block in read_data(out / "rows.js")["rows"][0][4] if block[0] == "text"
    )


def test_figures_name_the_rows_that_they_come_from(tmp_path):
    record = json.loads((write_page(tmp_path) / "report.json").read_text())
    rate = record["rates"]["balanced"]["open"]["long"]["accuracy"]
    assert rate["value"] == 0
    assert {"artifact": "judgements", "where": {"criterion": "long"}} in rate["basis"]["rows"]
    assert record["fault"]["module"] == "retrieval"
    assert set(record["tables"]) == {"1", "2", "3", "4"}
    assert record["figures"][0]["label"] == "accuracy"
    systems = {system["symbol"]: system for system in record["systems"]}
    assert set(systems) == {"accuracy", "R", "Acc_retrieval_db"}
    assert systems["accuracy"]["value"] == record["figures"][0]["value"]
    assert systems["accuracy"]["basis"] == record["figures"][0]["basis"]


def test_withheld_documents_are_told_apart(tmp_path):
    out = write_page(tmp_path, "good", withheld=DocumentAblation(share=0.3))
    documents = read_data(out / "rows.js")["shared"].values()
    assert sum(fold[3] == "withheld on purpose" for (fold,) in documents) == 6
    assert "Documents withheld on purpose" in (out / "index.html").read_text()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_warning_stands_at_the_head_where_the_judge_fails(tmp_path, share, monkeypatch):
    from tests.grammar.assess import test_assessment

    monkeypatch.setitem(test_assessment.THRESHOLDS, "judging.thresholds.canary_agreement", share)
    page = (write_page(tmp_path, "good") / "index.html").read_text()
    assert ('role="alert"' in page) == bool(share)  # the scripted judge misjudges some canaries
    if share:
        assert page.index('role="alert"') < page.index("<h1>")
