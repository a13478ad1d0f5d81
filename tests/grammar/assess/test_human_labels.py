"""Tests of people's labels for an assessment's answers: matching, errors per line, and the page."""

import csv
import io
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.errors import BadInput
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.human_labels import human_labels
from tests.grammar.assess.test_assessment_report import write_page
from tests.grammar.assess_world import assess, make_world
from tests.grammar.sample import HOSTILE


def label(folder: Path, parts, text: str | bytes, name: str = "labels.csv"):
    """Run the stage on a file; return its drafts, and write the rows for `assessment`."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    parts["entry"] = parts["entry"].model_copy(update={"labels": path})
    drafts = human_labels(parts["answers"], parts["entry"])
    parts["human_labels"] = list(drafts.rows)
    return drafts


@pytest.fixture(scope="module")
def parts():
    return assess(make_world(), "weak")


def test_labels_are_matched_by_answer_or_question_and_by_what_was_said(parts, tmp_path):
    first, second, third = parts["answers"][:3]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(
        [
            ("rater", "id", "response", "label"),
            ("ann", first.id, first.response, "Correct"),
            ("ben", first.question, "", "Incorrect"),
            ("ann", first.question, "", "Incorrect"),
            ("ann", second.id, "what it said last year", "Correct"),
            ("ann", "0" * 16, "", "Correct"),
            ("ann", third.id, third.response, "right"),
            ("ben", third.id, f"  {third.response}\r\n", "Correct"),
        ]
    )
    drafts = label(tmp_path, dict(parts), text.getvalue())
    assert [(row.answer, row.rater, row.label) for row in drafts.rows] == [
        (first.id, "ann", "Correct"), (first.id, "ben", "Incorrect"), (third.id, "ben", "Correct"),
    ]  # fmt: skip
    told = {row.detail.partition(":")[0]: row.reason for row in drafts.dropped}
    assert told == {
        "line 4": "labelled_twice", "line 5": "other_response",
        "line 6": "unknown_answer", "line 7": "no_label",
    }  # fmt: skip
    assert {row.origin[1].reference for row in drafts.rows} == {"data/labels/labels.csv"}
    assert {row.origin[0].reference for row in drafts.rows} == {
        f"answers#{first.id}",
        f"answers#{third.id}",
    }


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (b"id,label\n\xff,Correct\n", "a.csv", "not UTF-8"),
        ("id,label\n\0,Correct\n", "a.csv", "NUL"),
        ("question;label\nx;Correct\n", "a.csv", "no column 'id'"),
        ('id,label\n"x,Correct\n', "a.csv", "is not valid CSV"),
        ("[" * 100_000, "a.jsonl", "line 1"),
        ("id,label\nx,\n", "a.csv", "contains no label"),
        ("PK\x03\x04", "a.xlsx", "neither .csv nor .jsonl"),
    ],
)
def test_a_broken_file_is_one_line(parts, tmp_path, text, name, says):
    with pytest.raises(BadInput, match=says) as caught:
        label(tmp_path, dict(parts), text, name)
    assert "\n" not in str(caught.value)


def test_without_a_file_there_is_no_label(parts):
    assert human_labels(parts["answers"], parts["entry"]).rows == []


@pytest.mark.parametrize(
    "path", ["/etc/labels.csv", "labels.csv", "data/labels/../x.csv", "data/labels/a/b.csv"]
)
def test_a_file_outside_of_the_folder_is_refused_since_no_change_of_it_would_be_seen(path):
    with pytest.raises(ValidationError, match="must be a file in data/labels"):
        AssessmentEntry(database="d", system="s", llm_only="a", labels=path)
    assert AssessmentEntry(database="d", system="s", llm_only="a", labels="data/labels/a.csv").labels


def say(answer, judged, *, other: bool) -> str:
    label = judged[answer.id]
    return label if not other else "Incorrect" if label == "Correct" else "Correct"


@pytest.mark.parametrize("wrong", [0, 3])
def test_the_page_tells_agreement_and_warns_at_its_head(tmp_path, wrong):
    """Ten labels, of which `wrong` differ from the judge: 7 of 10 is below 0.8, 10 of 10 is not."""

    def give(parts):
        judged = {judgement.id: judgement.judgement for judgement in parts["judgements"]}
        rows = [
            (answer.id, say(answer, judged, other=n < wrong))
            for n, answer in enumerate(parts["answers"][:10])
        ]
        lines = [f"{answer},{said},{rater}" for answer, said in rows for rater in ("ann", "ben")]
        lines.append(f'{parts["answers"][0].id},"{HOSTILE.replace(chr(34), chr(39))}",cat')
        return label(tmp_path, parts, "\n".join(["id,label,rater", *lines])).dropped

    out = write_page(tmp_path, change=give)
    record = json.loads((out / "report.json").read_text())
    people = record["judge"]["people"]
    assert (people["n_items"], people["n"]) == (10, 10)
    assert people["agreement"]["value"] == pytest.approx(1 - wrong / 10)
    assert people["low"] <= people["agreement"]["value"] <= people["high"]
    assert {"artifact": "human_labels", "where": {}} in people["agreement"]["basis"]["rows"]
    assert people["raters_alpha"]["value"] == pytest.approx(1.0)
    page = (out / "index.html").read_text()
    sentence = "The judge agrees with people on 70.0% of 10 items"
    assert (sentence in page) == (sentence in " ".join(record["warnings"])) == bool(wrong)
    if wrong:
        assert page.index(sentence) < page.index("<h1>")
    assert "1 line of the label file could not be used" in page
    assert "line 22: label is" in page
    assert "<img" not in page


def test_the_form_shows_every_response_once_and_no_verdict(tmp_path):
    out = write_page(tmp_path, hostile=True)
    raw = (out / "to_label.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert len({row["id"] for row in rows}) == len(rows) == 60
    assert all(HOSTILE in row["response"] for row in rows)
    assert {row["label"] + row["rater"] for row in rows} == {""}
    page = (out / "index.html").read_text()
    assert 'href="to_label.csv"' in page
    assert "No person has labelled these answers" in page
    assert json.loads((out / "report.json").read_text())["judge"]["people"] is None


def test_a_form_that_is_filled_in_is_read(tmp_path, parts):
    out = write_page(tmp_path)
    text = (out / "to_label.csv").read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows[:5]:
        row |= {"label": "Correct", "rater": "ann"}
    filled = io.StringIO(newline="")
    writer = csv.DictWriter(filled, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    drafts = label(tmp_path, dict(parts), filled.getvalue().encode("utf-8-sig"))
    assert len(drafts.rows) == 5
    assert drafts.dropped == []
