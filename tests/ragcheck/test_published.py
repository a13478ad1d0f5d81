"""Tests on published answers with people's ratings: E2 and E3 retrieve from the file's passages."""

import asyncio
import re
from pathlib import Path

import pytest

from flows.importing import bring_in
from flows.settings import load_params, parse_section
from tasks.errors import BadInput
from tasks.ragcheck.answers import answer_all
from tasks.ragcheck.contexts import gather_contexts
from tasks.ragcheck.corpus import corpus
from tasks.ragcheck.correlations import correlations
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.importers.mtrag import Mtrag
from tasks.ragcheck.question_sets import QuestionSet
from tasks.ragcheck.questions import questions
from tasks.ragcheck.ratings import ratings
from tasks.ragcheck.rule_comparison import rule_comparison
from tasks.ragcheck.scores import scores
from tasks.ragcheck.tables import tabulate_correctness, tabulate_rules
from tasks.systems.build import build_system
from tasks.systems.entries import ReplayEntry, can_search
from tests.flows.conftest import make_folder
from tests.ragcheck.published import MODELS, write_evaluations
from tests.ragcheck.scripted import ScriptedAsk

ROOT = Path(__file__).parents[2]
SYSTEMS = ("mtrag-north-large-1", "mtrag-small")
SETTINGS = {"ragcheck.judging.context_tokens": 600}


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make_folder(tmp_path / "project")
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.chdir(root)
    return root


def grade(asked):
    """Return the grade of a judge without knowledge: medium if no context states the fact."""
    contexts, _, rest = asked.text.partition("Question:")
    response = rest.partition("Response to grade:")[2]
    supplier = re.search(r"Supplier\d+", rest.partition("Response to grade:")[0])[0]
    if supplier not in contexts:
        return "Not confirmed by the contexts.\nScore: 3"
    return f"Confirmed.\nScore: {5 if supplier in response else 1}"


def assess(root):
    """Run Part I on the imported file; return the rows by name."""
    params = load_params(root)
    entry = parse_section(params, "ragcheck.correctness.mtrag", Assessment)
    question_set = parse_section(params, "ragcheck.sets.mtrag", QuestionSet)
    asked, documents = questions(question_set).rows, corpus(question_set).rows
    ask = ScriptedAsk(grade)
    entries = {name: parse_section(params, f"systems.{name}", ReplayEntry) for name in entry.systems}
    systems = [build_system(name, entry, documents, ask) for name, entry in entries.items()]
    known = {document.id for document in documents}
    answers = asyncio.run(answer_all(systems, asked, known))
    searched = {name for name, entry in entries.items() if can_search(entry)}
    contexts = asyncio.run(gather_contexts(systems, asked, answers, known, searched))
    graded = asyncio.run(scores(asked, answers, list(contexts.rows), entry, SETTINGS, ask)).rows
    people = ratings(asked, answers, entry).rows
    params = Resampling(draws=500)
    rules = list(rule_comparison(asked, graded, people, entry, params).rows)
    measured = list(correlations(asked, answers, graded, [], people, entry, params).rows)
    return {"entry": entry, "documents": documents, "answers": answers, "contexts": contexts, "rules": rules,
            "measured": measured, "people": people}  # fmt: skip


def test_both_rules_retrieve_from_all_passages_of_the_file_and_are_compared_in_pairs(root):
    said = bring_in(root, Mtrag(file=write_evaluations(root / "published.json"))).said
    assert said[0].startswith("48 answers of 2 models to 24 tasks, 144 ratings by completeness")
    assert said[1] == "contexts of judges: by bm25 from 33 passages"
    found = assess(root)
    assert found["entry"].systems == SYSTEMS
    assert len(found["documents"]) == 33
    assert len(found["answers"]) == 48
    assert "spare" in {document.id for document in found["documents"]}

    rows = found["contexts"].rows
    assert [row.rule for row in rows].count("E2") == [row.rule for row in rows].count("E3") == 48
    assert not found["contexts"].dropped
    # The fact's passage shares the supplier's name with the reference, and words with the question in two
    # conversations of eight.
    finds = {rule: [row for row in rows if row.rule == rule and holds_fact(row)] for rule in ("E2", "E3")}
    assert len(finds["E2"]) == 2 * 3 * 2
    assert len(finds["E3"]) == 48
    assert all(row.origin[-1].reference.startswith("corpus#") for row in rows)

    differences = {(row.system, row.figure): row for row in found["rules"]}
    for system in SYSTEMS:
        mean = differences[system, "mean"]
        own = [answer for answer in found["answers"] if answer.system == system]
        # By E3, a grade is 5 for a correct answer, else 1; by E2, it is 3 if no context states the fact.
        told = {row.question for row in finds["E2"]}
        gains = [0 if answer.question in told else 2 - 4 * ("Nobody" in answer.text) for answer in own]
        assert (mean.n, mean.conversations) == (24, 8)
        assert mean.estimate.value == pytest.approx(sum(gains) / 24)
        assert mean.estimate.low < mean.estimate.value < mean.estimate.high
        assert mean.p_value is not None
        for figure in ("pearson", "spearman"):
            agreement = differences[system, figure]
            assert agreement.estimate.low < agreement.estimate.value < agreement.estimate.high
            assert agreement.estimate.value > 0.1  # by E3, the judge has people's knowledge
    lines = {(row.system, row.measure): row for row in found["measured"] if row.judge or row.measure == "E1"}
    assert lines[SYSTEMS[0], "E3"].pearson.value > 0.9
    assert lines[SYSTEMS[0], "E2"].pearson.value < lines[SYSTEMS[0], "E3"].pearson.value

    tables = tabulate_correctness(found["measured"], found["rules"])
    assert {line.label[2] for line in tables["measures"].lines} >= {"E1", "E2", "E3"}
    table = tabulate_rules(found["rules"])
    assert [line.label[0] for line in table.lines] == [name for name in SYSTEMS for _ in range(3)]
    assert table.lines[0].cells[0].value == pytest.approx(differences[SYSTEMS[0], "mean"].estimate.value)


def holds_fact(row):
    return any("deals in" in passage.text for passage in row.passages[:1])


def test_without_a_retriever_the_tasks_own_passages_are_shown_and_there_is_no_e3(root):
    said = bring_in(root, Mtrag(file=write_evaluations(root / "published.json"), retriever="none")).said
    assert said[1] == "contexts of judges: the tasks' passages"
    found = assess(root)
    assert {row.rule for row in found["contexts"].rows} == {"E2"}
    assert {row.reason for row in found["contexts"].dropped} == {"no_retrieval"}
    assert all(holds_fact(row) for row in found["contexts"].rows)


def test_a_retriever_that_there_is_none_of_is_refused(root):
    with pytest.raises(BadInput, match="'elastic' is not a retriever"):
        bring_in(root, Mtrag(file=write_evaluations(root / "published.json"), retriever="elastic"))


def test_only_the_lines_that_must_change_do(root):
    before = (root / "params.yaml").read_text().splitlines()
    for _ in range(2):  # importing the same file again changes nothing
        bring_in(root, Mtrag(file=write_evaluations(root / "published.json")))
        after = (root / "params.yaml").read_text().splitlines()
        added = [line for line in after if line not in before]
        gone = [line for line in before if line not in after]
        assert [line.split(":")[0].strip() for line in gone] == ["sets", "correctness"]
        assert [line.split(":")[0].strip() for line in added] == ["sets", "correctness", *SYSTEMS]
        assert all(name in "".join(added) for name in MODELS)
