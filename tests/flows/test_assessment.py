"""Tests of the assessment's stages with real DVC, and a scripted model on loopback."""

import json
import re
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from flows.settings import load_params
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.artifacts.rows import Origin
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.corpus.answer_columns import AnswerColumn
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.systems.contract import Document
from tests.flows.conftest import make_folder
from tests.flows.running import copy_code, finish_run, list_states, open_run
from tests.grammar.assess_world import list_facts, make_world, number_verdicts
from tests.judging.scripted import sign
from tests.models.scenes import answering, say

ROOT = Path(__file__).parents[2]
STAGES = (
    "questions", "answers", "judgements", "human-labels", "canaries", "baselines", "closed-domain",
    "assessment", "assessment-report",
)  # fmt: skip
ASSESSMENTS = {
    "v-weak": {"database": "villages", "system": "weak", "llm_only": "v-alone"},
    "v-good": {"database": "villages", "system": "good", "llm_only": "v-alone"},
    "v-gaps": {
        "database": "villages", "system": "good", "llm_only": "v-alone",
        "withheld": {"share": 0.3, "seed": 1},
    },
    "v-alone": {"database": "villages", "system": "alone", "llm_only": "v-alone"},
}  # fmt: skip
FACT = re.compile(r"(\w+) lies (\d+) metres")


def reply(messages) -> str:
    """Answer like `say_plainly`, but encode verdicts."""
    return sign(say_plainly(messages), messages[-1]["content"])


def say_plainly(messages) -> str:
    """Answer only from the request's text, like a model that reads well but has no knowledge."""
    system, said = messages[0]["content"], messages[-1]["content"]
    if "strict grader" in system:
        answer = said.split("True answer:\n")[1].split("\n")[0]
        return f"Verdict: {'Correct' if answer in said.split('Response:')[1] else 'Incorrect'}"
    if "break an answer down" in system:
        found = re.search(r"\d{4}", said.split("Answer:")[1])
        return f"- It lies {found[0]} metres high." if found else "None"
    if "claims against sources" in system:
        sources, *claims = said.split("\nClaim ")
        heights = [re.search(r"lies (\d+)", claim)[1] for claim in claims]
        return number_verdicts(height in sources for height in heights)
    if "compare further answers" in system:
        first, *others = said.split("\nFurther answer ")
        one = re.search(r"> (.*)", first.split("First answer")[1])[1]
        return number_verdicts(re.search(r"> (.*)", other)[1] == one for other in others)
    question = said.rsplit("Question:", 1)[1]
    return next((f"{high} metres" for name, high in FACT.findall(said) if name in question), "I do not know.")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with only the assessment's stages, on the villages dataset."""
    root = make_folder(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    copy_code(root, monkeypatch)
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    own = {name: stages[name] for name in (f"grammar-{stage}" for stage in STAGES)}
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": own}, sort_keys=False))
    write_dataset(root / "data" / "grammar" / "villages")
    (root / "data" / "labels").mkdir()
    asked = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body)
        return say(reply(body["messages"]), prompt_tokens=10, completion_tokens=3)

    with answering(answer) as url:
        write_params(root, url)
        yield root, asked


def write_dataset(folder: Path) -> None:
    """Write the upstream artifacts of the villages dataset."""
    world = make_world()
    pairs = [
        (question, Question(
            question.id, question.group, question.criterion, question.question, question.answer, "SELECT 1",
            question.sql_template, question.text_template, f"[[{question.answer}]]",
            (Origin("row", f"fill_in#{question.group}"),),
        ))
        for question in world.questions
    ]  # fmt: skip
    write_rows(folder / "balanced.parquet", Question, [row for asked, row in pairs if asked.in_balanced])
    write_rows(folder / "unbalanced.parquet", Question, [row for asked, row in pairs if asked.in_unbalanced])
    write_rows(folder / "documents.parquet", Document, world.documents)
    true = {
        question.group: TrueDocument(question.group, question.true_document_ids, ())
        for question in world.questions
    }
    write_rows(folder / "true_documents.parquet", TrueDocument, list(true.values()))
    write_rows(folder / "answer_facts.parquet", AnswerFacts, list_facts(world))
    write_rows(folder / "answer_columns.parquet", AnswerColumn, [])
    for stem, row in (("sql_templates", SqlTemplate), ("second_reading", TextTemplate), ("fill_in", Group)):
        write_rows(folder / f"{stem}.parquet", row, [])


def write_params(root: Path, url: str) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for role in params["roles"].values():
        role |= {"model": "tester", "constrain": "none"}
    params["grammar"]["baselines"]["sample"] = 4
    params["systems"]["weak"] = {"kind": "rag", "retriever": "keyword", "top_k": 1}
    params["systems"]["good"] |= {"top_k": 2}
    params["grammar"]["assessment"]["draws"] = 5000
    params |= {
        "assessments": ASSESSMENTS,
        "databases": {"villages": {"file": "villages.sqlite", "title": "Villages"}},
        "models": {},
    }
    params["run"] |= {"endpoints": {"tester": {"url": url, "retries": 0}}, "prices": {}}
    (root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def run(root: Path) -> dict[str, str]:
    return list_states(finish_run(open_run(root)))


def read_figures(root: Path, name: str):
    return json.loads((root / "data" / "grammar" / "villages" / name / "figures.json").read_text())


@pytest.mark.timeout(1200)
def test_from_questions_to_pages_under_dvc(project):
    root, asked = project
    states = run(root)
    assert len(states) == 1 + 8 * len(ASSESSMENTS)
    assert set(states.values()) == {"ran"}

    weak, good, gaps, by_itself = (read_figures(root, name) for name in ASSESSMENTS)
    assert weak["fault"]["module"] == "retrieval"
    assert good["fault"]["module"] == "none shown"
    assert by_itself["rates"]["balanced"]["open"]["all"]["accuracy"] == 0
    for modes in gaps["planted"]["rules"].values():
        for mode in modes.values():
            assert mode["recall"] >= 0.9
            assert mode["precision"] >= 0.9
    for figures in (weak, good, gaps):
        *four, alone = figures["tables"]["4"]["lines"]
        assert "with our prompt (v-alone)" in alone["label"][0]
        told = [[cell["n"] for cell in line["cells"] if cell["value"] is not None] for line in four]
        assert all(sizes[:2] == [20, 40] for sizes in told if sizes), "of groups, and of rows"
        assert all(n <= 40 for sizes in told for n in sizes[2:]), "rows outside gap groups"

    folder = root / "data" / "grammar" / "villages"
    questions = {row.id: row for row in read_rows(folder / "questions.parquet", AskedQuestion)}
    answers = read_rows(folder / "v-weak" / "answers.parquet", AssessedAnswer)
    judgements = read_rows(folder / "v-weak" / "judgements.parquet", Judgement)
    assert {answer.question for answer in answers} == set(questions)
    assert [judgement.id for judgement in judgements] == [answer.id for answer in answers]
    assert all(isinstance(answer.retrieved_document_ids, tuple) for answer in answers)
    assert all(
        answer.passages[0].document in answer.retrieved_document_ids for answer in answers if answer.passages
    )
    page = root / "data" / "reports" / "grammar" / "v-weak"
    assert "retrieval" in (page / "index.html").read_text()
    assert json.loads((page / "report.json").read_text())["name"] == "v-weak"

    # A second run makes no calls and runs no stages.
    before = len(asked)
    assert set(run(root).values()) == {"fresh"}
    assert len(asked) == before


@pytest.mark.timeout(1200)
def test_labels_of_people_warn_and_no_model_is_asked_for_it(project):
    root, asked = project
    few = load_params(root)
    few["assessments"] = {"v-alone": ASSESSMENTS["v-alone"]}
    few["grammar"]["questions"]["groups"] = 4
    (root / "params.yaml").write_text(yaml.safe_dump(few, sort_keys=False))
    run(root)
    before = len(asked)
    assert read_figures(root, "v-alone")["judge"]["people"] is None
    # The model alone answers nothing, as the judge finds; these reviewers accept all answers.
    form = (root / "data/reports/grammar/v-alone/to_label.csv").read_text("utf-8-sig").splitlines()
    ids = [line.partition(",")[0] for line in form[1:]]
    file = root / "data/labels/alone.csv"
    file.write_text("\n".join(["id,label", *(f"{answer},Correct" for answer in ids), "nobody,Correct"]))
    few["assessments"]["v-alone"] = {**ASSESSMENTS["v-alone"], "labels": "data/labels/alone.csv"}
    (root / "params.yaml").write_text(yaml.safe_dump(few, sort_keys=False))
    run(root)
    judge = read_figures(root, "v-alone")["judge"]
    assert (judge["people"]["n"], judge["people"]["agreement"]) == (len(ids), 0)
    assert any("agrees with people on 0.0%" in warning for warning in judge["warnings"])
    file.write_text(file.read_text().replace("Correct", "Incorrect"))
    states = run(root)
    assert states["grammar-human-labels@v-alone"] == states["grammar-assessment@v-alone"] == "ran"
    assert states["grammar-judgements@v-alone"] == states["grammar-questions@villages"] == "fresh"
    assert read_figures(root, "v-alone")["judge"]["people"]["agreement"] == 1
    assert len(asked) == before


@pytest.mark.timeout(1200)
def test_a_new_night_asks_the_system_and_the_judge_anew(project):
    root, asked = project
    few = load_params(root)
    few["assessments"] = {"v-alone": ASSESSMENTS["v-alone"]}
    few["grammar"]["questions"]["groups"] = 4
    (root / "params.yaml").write_text(yaml.safe_dump(few, sort_keys=False))
    run(root)
    before = len(asked)
    params = load_params(root)
    params["evaluation"]["as_of"] = "2031-07-09"
    (root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    states = run(root)
    assert states["grammar-questions@villages"] == "fresh"
    assert states["grammar-answers@v-alone"] == states["grammar-canaries@v-alone"] == "ran"
    assert len(asked) == 2 * before
