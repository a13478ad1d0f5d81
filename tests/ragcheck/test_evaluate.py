"""Tests of `benchloom evaluate ragcheck` in a real process, with a scripted model on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.artifacts.parquet import count_rows, read_rows
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.scores import JudgeScore
from tasks.sources.mtrag import read_tasks
from tests.flows.evaluated import assert_as_kept
from tests.flows.lineage.walked import assert_figures_lead_to
from tests.flows.warm import run_benchloom
from tests.ragcheck.scenes import QUESTIONS, ROOT, RagProject, make_project, reply

OWN = "data/raw/trial"
PART_ONE = {
    "questions.parquet", "answers.parquet", "contexts.parquet", "scores.parquet", "canaries.parquet",
    "baselines.parquet", "calls.parquet", "figures.json", "lineage.json", "corpus.parquet",
}  # fmt: skip


@pytest.fixture
def project(tmp_path) -> Iterator[RagProject]:
    with make_project(tmp_path / "project") as made:
        params = made.root / "params.yaml"
        before = params.read_bytes()
        yield made
        assert params.read_bytes() == before


HIDING = """
import importlib.metadata as metadata
find = metadata.version
def version(name):
    if name == "spacy":
        raise metadata.PackageNotFoundError(name)
    return find(name)
metadata.version = version
"""
"""A `sitecustomize` module that hides an installed package."""


def make_environment(project: RagProject, lead: str = str(ROOT)) -> dict[str, str]:
    ledger = str(project.root / ".benchloom" / "own.sqlite")
    return {**os.environ, "PYTHONPATH": lead, "BENCHLOOM_LEDGER": ledger}


def start(project: RagProject, *words: str, lead: str = str(ROOT)) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "evaluate", "ragcheck", *words],
        cwd=project.root, env=make_environment(project, lead),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def evaluate(project: RagProject, *words: str, dataset=OWN, system="good", code=0) -> tuple[str, str]:
    given = ("evaluate", "ragcheck", "--dataset", str(dataset), "--system", system, *words)
    done = run_benchloom(given, ROOT, project.root, make_environment(project))
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_part_one_by_the_flows_own_rules_written_once_and_replayed(project, tmp_path):
    out = tmp_path / "mine"
    text, _ = evaluate(project, "--out", str(out), "--json")
    figures = json.loads(text)
    assert figures == json.loads((out / "figures.json").read_text())
    assert {path.name for path in out.iterdir()} == PART_ONE
    assert (figures["kind"], figures["documents"], figures["turns"]) == ("lines", 3, None)
    # As in tests/ragcheck/test_flow.py: one of four questions is answered, so the grades are 5 2 2 2.
    assert figures["correctness"]["all"]["E3"]["value"] == 2.75
    assert_figures_lead_to(f"{OWN}/questions.jsonl", out, project.root)
    assert figures["correctness"]["all"]["E2"]["scored"] == 4
    assert figures["correctness"]["plants"]["E3"]["value"] == 3.5
    assert 0 < figures["correctness"]["all"]["word_recall"]["value"] < 1
    assert figures["continuity"] is None
    assert count_rows(out / "answers.parquet") == 4
    assert figures["failures"] == figures["left_out"] == []
    assert figures["warnings"], "this judge fails canaries"
    assert str(project.root) not in text
    assert {score.judge for score in read_rows(out / "scores.parquet", JudgeScore)} == {"judge"}
    before, asked = {path.name: path.read_bytes() for path in out.iterdir()}, len(project.asked)

    table, _ = evaluate(project, "--out", str(out), "--replay")
    assert len(project.asked) == asked, "the ledger answers"
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert table.splitlines()[0].startswith("WARNING")
    assert "4 questions, 0 without an answer; 8 grades, 0 unscored" in " ".join(table.split())
    assert "2.750" in table
    assert "2.750 (" not in table  # four answers have no interval

    evaluate(project, "--as-of", "later")
    assert len(project.asked) == 2 * asked
    assert not (project.root / "dvc.lock").exists()


def test_what_a_later_stage_needs_is_missed_before_anything_is_asked(project, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    lead = os.pathsep.join([str(tmp_path), str(ROOT)])
    process = start(project, "--dataset", OWN, "--system", "good", lead=lead)
    said = process.communicate(timeout=300)[1].splitlines()
    assert process.returncode == 2
    assert all("needs spacy==" in line and "pip install 'benchloom[retrieval]'" in line for line in said), (
        said
    )
    assert any(line.startswith("benchloom: ragcheck-baselines@") for line in said), said
    assert len(project.asked) == 0


@pytest.mark.drill
def test_turns_lead_conversations_of_so_many_turns_at_most(project, tmp_path):
    out = tmp_path / "mine"
    figures = json.loads(evaluate(project, "--turns", "2", "--out", str(out), "--json")[0])
    assert_as_kept(figures, "ragcheck")
    conversations = read_rows(out / "conversations.parquet", Conversation)
    # With memory, the second answer contains the fact of the reference.
    assert sorted(conversation.scores for conversation in conversations) == [(2, 5), (2, 5), (2, 5), (5,)]
    # n = 2: [2, 5] gives (2 * 2 + 1 * 5) / 3 = 3, [5] gives (2 * 5 + 1 * 5) / 3 = 5.
    assert figures["continuity"]["all"]["wscore"]["value"] == (3 + 3 + 3 + 5) / 4
    assert figures["continuity"]["all"]["lscore"]["value"] == (2 + 2 + 2 + 1) / 4
    assert figures["continuity"]["all"]["leak"]["n"] >= 4
    assert_figures_lead_to(f"{OWN}/questions.jsonl", out, project.root)
    assert figures["correctness"]["all"]["E3"]["value"] == 2.75
    single = json.loads(evaluate(project, "--turns", "2", "--json", system="single")[0])
    assert single["continuity"]["all"]["wscore"]["value"] < 3
    table, _ = evaluate(project, "--turns", "2", "--replay")
    assert "4 conversations of at most 2 turns, 0 failed" in table


def test_what_no_judge_scores_is_named_and_in_no_mean(project):
    def say(messages, asked):
        # The scripted judge's reply on a response that names the broken part is unreadable.
        if (
            not messages[0]["content"].startswith("You grade")
            and "Glassworks make?" in messages[-1]["content"]
        ):
            return "It is broken."
        return reply(messages, asked)

    project.reply = say
    out, said = evaluate(project, "--json", code=1)
    figures = json.loads(out)
    assert figures["counts"]["unscored"] == 2
    mean = figures["correctness"]["all"]["E3"]
    assert (mean["scored"], mean["failed"], mean["value"]) == (3, 1, 3.0)  # 5 2 2
    assert "question 4: E3: unscored: " in said
    assert "question 4: E2: unscored: " in said


def test_a_limit_takes_alike_of_each_dataset_and_documents_may_be_others(project):
    corpus = project.root / "corpus"
    corpus.mkdir()
    (corpus / "one.md").write_text("# One\n\nNothing of use.\n")
    out, said = evaluate(project, "--limit", "2", "--documents", "corpus", "--json")
    figures = json.loads(out)
    assert (figures["counts"]["questions"], figures["documents"]) == (2, 1)
    assert set(figures["correctness"]) == {"all", "plants", "glass"}
    assert "2 questions are left out: not taken" in said


def write_squad(path: Path) -> Path:
    asked = [
        {"id": name, "question": question, "answers": [{"text": answer, "answer_start": 0}]}
        for name, _, question, answer in QUESTIONS
    ]
    paragraphs = [{"context": "The Orbis project is led by Marta Quill.", "qas": asked}]
    path.write_text(json.dumps({"data": [{"title": "Orbis", "paragraphs": paragraphs}]}))
    return path


def write_mtrag(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "reference.jsonl"
    path.write_text("")
    for number, (_, _, question, answer) in enumerate(QUESTIONS):
        before = [{"speaker": "user", "text": "Hm?"}, {"speaker": "agent", "text": "Yes."}] if number else []
        task = {
            "task_id": f"t{number}", "Collection": "c", "turn": number, "answerability": ["ANSWERABLE"],
            "input": [*before, {"speaker": "user", "text": question}],
            "targets": [{"speaker": "agent", "text": answer}],
            "contexts": [{"document_id": "d1", "title": "Orbis", "text": "Orbis is led by Marta Quill."}],
        }  # fmt: skip
        path.write_text(path.read_text() + json.dumps(task) + "\n")
    return folder


@pytest.mark.drill
def test_a_squad_file_and_a_folder_of_mtrag_are_told_apart(project, tmp_path):
    squad = write_squad(tmp_path / "squad.json")
    figures = json.loads(evaluate(project, "--language", "en", "--json", dataset=squad)[0])
    assert (figures["kind"], figures["language"], figures["documents"]) == ("jsquad", "en", 1)
    assert figures["correctness"]["all"]["E3"]["scored"] == 4
    folder = write_mtrag(tmp_path / "mtrag")
    assert len(read_tasks(folder)) == 4
    out, said = evaluate(project, "--turns", "1", "--json", dataset=folder)
    figures = json.loads(out)
    assert (figures["kind"], figures["counts"]["questions"], figures["counts"]["conversations"]) == (
        "mtrag",
        4,
        1,
    )
    assert "3 questions do not begin a conversation" in said
    assert any("Hm?" in body for body in project.asked), "the turns before are handed to the system"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--dataset", "params.yaml"), "is not a set of questions"),
        (("--dataset", "broken"), "questions.jsonl, line 2: is not valid JSON"),
        (("--dataset", "alone"), "systems.good: retrieves from documents, but there are no documents"),
        (("--language", "english"), "--language english: is not a language"),
    ],
)
def test_what_is_wrong_is_one_line_before_anybody_is_asked(project, words, line):
    row = json.dumps({"id": "1", "question": "a?", "reference": "b"})
    for name, text in (("broken", f"{row}\n{{oops\n"), ("alone", f"{row}\n")):
        (project.root / name).mkdir()
        (project.root / name / "questions.jsonl").write_text(text)
    (project.root / "broken" / "documents.jsonl").write_text('{"id": "d", "text": "t"}\n')
    given = dict(zip(("--dataset", "--system"), (OWN, "good"), strict=True))
    given |= {words[0]: words[1]}
    process = start(project, *(part for pair in given.items() for part in pair))
    out, said = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, ""), said
    assert line in said
    assert len(said.splitlines()) == 1
    assert not project.asked
