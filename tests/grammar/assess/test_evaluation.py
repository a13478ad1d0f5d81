"""Tests of evaluating a user's own questions: reading, errors for invalid files, and figures."""

import json

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.errors import BadInput
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.evaluation import EVALUATION, keep_grounded, make_figures, read_questions
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import TrustThresholds
from tasks.scoring.correctness import Correctness
from tasks.scoring.running import Bootstrap
from tasks.systems.contract import Document
from tasks.systems.entries import check_documents
from tests.flows.evaluated import measure_rows
from tests.systems.scripted import ENTRY


def row(number: int = 0, **more: object) -> dict[str, object]:
    return {"question": f"who is {number}?", "answer": "Ada", **more}


def write_lines(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_each_broken_row_is_named_and_the_others_are_read(tmp_path):
    path = write_lines(
        tmp_path / "mine.jsonl",
        row(1, id="one"),
        {"question": "no answer?"},
        row(4, true_document_ids="d1"),
        row(5, criterion="mutual"),
        {"query": "  ", "answer": "x"},
        row(6, answer=True),
        row(7, id=7, true_document_ids=["b", "a", "b"]),
    )
    read = read_questions(path)
    assert [question.id for question in read.items] == ["7", "one"]
    assert read.items[0].true_document_ids == ("a", "b")
    assert read.items[0].origin == (Origin("file", "mine.jsonl, line 7"),)
    assert [problem.partition(": ")[0] for problem in read.problems] == [
        f"mine.jsonl, line {number}" for number in (2, 3, 4, 5, 6)
    ]
    reasons = dict(problem.split(": ", 1) for problem in read.problems)
    assert reasons["mine.jsonl, line 2"] == "answer is missing; expected text"
    assert reasons["mine.jsonl, line 5"] == "query is empty"


def test_an_id_is_made_of_the_row_and_a_group_of_the_id(tmp_path):
    first = read_questions(write_lines(tmp_path / "a.jsonl", row(1), row(2, group=5)))
    other = read_questions(write_lines(tmp_path / "b.jsonl", row(2, group=5), row(1)))
    assert {question.id for question in first.items} == {question.id for question in other.items}
    alone = next(question for question in first.items if question.question == "who is 1?")
    assert (alone.group, alone.criterion, alone.true_document_ids) == (alone.id, "", None)
    assert next(question for question in first.items if question is not alone).group == "5"
    twice = read_questions(write_lines(tmp_path / "c.jsonl", row(1), row(1)))
    assert twice.problems == ("c.jsonl, line 2: repeats the id of line 1",)


def test_a_folder_of_ours_brings_its_true_documents(tmp_path):
    folder = tmp_path / "dataset"
    folder.mkdir()
    write_lines(folder / "balanced.jsonl", row(1, id="a", group="g"), row(2, id="b", group="h"))
    write_rows(tmp_path / "true_documents.parquet", TrueDocument, [TrueDocument("g", ("d1", "d2"), ())])
    read = read_questions(folder)
    assert [question.true_document_ids for question in read.items] == [("d1", "d2"), None]
    assert [question.id for question in keep_grounded(read.items, ["d1", "d2", "d3"])] == ["a"]
    assert keep_grounded(read.items, ["d1"]) == []


def make_question(own, group, criterion="", true=None) -> AskedQuestion:
    return AskedQuestion(own, group, criterion, "?", "!", "", "", True, False, true, ())


ROWS = {
    "questions": AskedQuestion,
    "answers": AssessedAnswer,
    "judgements": Judgement,
    "canaries": CanaryRow,
    "documents": Document,
    "answer_facts": AnswerFacts,
}


def evaluate(*rows):
    """Evaluate rows: id, group, criterion, judgement (None unscored, 'failed' no answer), retrieved, true."""
    questions, answers, judgements = [], [], []
    for listed_row, group, criterion, label, retrieved, true in rows:
        failed = label == "failed"
        questions.append(make_question(listed_row, group, criterion, true))
        why = "timed out" if failed else ""
        answers.append(
            AssessedAnswer(
                f"a-{listed_row}",
                listed_row,
                group,
                criterion,
                None if failed else "x",
                retrieved,
                None,
                why,
                (),
            )
        )
        judged = None if failed or label is None else Correctness.read(label)
        why = "no answer: timed out" if failed else "" if label else "no verdict"
        judgements.append(
            Judgement(f"a-{listed_row}", listed_row, group, criterion, judged, "", "", (), why, ())
        )
    return {
        "questions": questions, "answers": answers, "judgements": judgements, "canaries": [],
        "documents": [], "answer_facts": [],
    }  # fmt: skip


def complete(rows, tmp_path):
    """Compute figures.json for rows, with 200 bootstrap samples."""
    settings = {"grammar.assessment": {"criteria": ("short", "long"), "draws": 200}}
    given = {name: (ROWS[name], found) for name, found in rows.items()}
    return measure_rows(EVALUATION, given, tmp_path, lambda key, model: model(**settings.get(key, {})))


def test_figures_in_both_modes_by_hand(tmp_path):
    """Open: g all correct, h one of two, i none, j failed: 3 of 6 correct, 4 of 6 outside of gaps: R = 3/4.

    Groups: 3 scored, 1 gap: Acc_retrieval_db = 2/3; lambda = 2/6. Closed: g's long answer did not retrieve
    its document: 2 of 6, R = 2/4.
    """
    evaluated = evaluate(
        ("1", "g", "short", "Correct", ("d1",), ("d1",)),
        ("2", "g", "long", "Correct", ("d9",), ("d1",)),
        ("3", "h", "short", "Correct", ("d2",), ("d2",)),
        ("4", "h", "long", "Incorrect", ("d9",), ("d2",)),
        ("5", "i", "short", "Incorrect", ("d3",), ("d3",)),
        ("6", "i", "long", "Incorrect", ("d3",), ("d3",)),
        ("7", "j", "short", "failed", None, ("d4",)),
        ("8", "j", "long", None, ("d4",), ("d4",)),
    )
    figures = complete(evaluated, tmp_path)
    counts = {
        "rows": 8,
        "groups": 4,
        "scored": 6,
        "by_rule": 0,
        "unanswered": 0,
        "failed": 1,
        "unscored": 1,
        "grounded": 7,
    }
    assert figures["counts"] == counts
    rates = figures["rates"]["open"]["all"]
    assert rates["accuracy"] == pytest.approx(3 / 6)
    assert rates["robustness"] == pytest.approx(3 / 4)
    assert rates["retrieval_db_accuracy"] == pytest.approx(2 / 3)
    assert rates["lambda"] == pytest.approx(2 / 6)
    # With three groups, no rate or count has an interval.
    assert {name: found for name, found in rates["ci"].items() if name != "context"} == dict.fromkeys(
        (*rates["over"], "gap_groups", "robust_groups", "non_robust_groups")
    )
    assert rates["over"] == {
        "accuracy": {"n": 6, "of": "rows", "clusters": 3},
        "robustness": {"n": 4, "of": "rows outside of gap groups", "clusters": 2},
        "retrieval_db_accuracy": {"n": 3, "of": "groups", "clusters": 3},
        "lambda": {"n": 6, "of": "rows", "clusters": 3},
    }
    assert figures["rates"]["closed"]["all"]["accuracy"] == pytest.approx(2 / 6)
    assert figures["rates"]["closed"]["all"]["robustness"] == pytest.approx(2 / 4)
    contrast = figures["hypothesis"]["open"]["rates"]["accuracy"]
    assert contrast["difference"] == pytest.approx(2 / 3 - 1 / 3)
    assert figures["gaps"]["open"]["mutual"] == {"gap": 1, "non-robust": 1, "robust": 1}
    assert any("not tested on cases with known verdicts" in warning for warning in figures["warnings"])
    assert any("2 of 8 rows are unscored" in warning for warning in figures["warnings"])
    assert figures["failures"] == [
        "question 7: no answer: timed out",
        "question 8: unscored: no verdict",
    ]


@pytest.mark.parametrize(("names", "contrasted"), [(["", ""], False), (["a", ""], False), (["b", "a"], True)])
def test_two_criteria_are_held_against_each_other_and_no_other_number(names, contrasted):
    rows = [(str(n), "g", name, "Correct", ("d",), None) for n, name in enumerate(names)]
    figures = make_figures(evaluate(*rows), ("short", "long"), TrustThresholds(), Bootstrap(50, 0))
    assert (figures["hypothesis"] is not None) == contrasted
    assert list(figures["criteria"]) == sorted({*names} - {""})
    assert figures["rates"]["open"]["all"]["accuracy"] == 1.0


def test_where_documents_are_not_known_there_is_no_closed_mode():
    evaluated = evaluate(
        ("1", "g", "short", "Correct", None, ("d1",)),
        ("2", "g", "long", "Incorrect", ("d9",), None),
    )
    figures = make_figures(evaluated, ("short", "long"), TrustThresholds(), Bootstrap(200, 0))
    assert figures["counts"]["grounded"] == 0
    for section in ("rates", "gaps", "attribution", "hypothesis"):
        assert set(figures[section]) == {"open"}, section


def test_nothing_scored_is_no_figure(tmp_path):
    figures = complete(evaluate(("1", "g", "", "failed", None, None)), tmp_path)
    assert figures["rates"]["open"]["all"]["accuracy"] is None
    assert json.dumps(figures, allow_nan=False)


def test_a_system_that_retrieves_needs_documents_and_no_other_is_given_any():
    rag = ENTRY.validate_python({"kind": "rag"})
    alone = ENTRY.validate_python({"kind": "rag", "retriever": "none"})
    with pytest.raises(
        BadInput, match=r"systems\.weak: retrieves from documents, but there are no documents"
    ):
        check_documents("weak", rag, given=False, found=False)
    with pytest.raises(BadInput, match="does not retrieve from the given documents"):
        check_documents("alone", alone, given=True, found=True)
    check_documents("weak", rag, given=True, found=True)
    check_documents("alone", alone, given=False, found=False)
