"""Tests of an evaluating flow of three stages: page, `evaluate`, `compare` and lineage by declaration."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.discovery import list_flows
from flows.settings import set_params

HERE = Path(__file__).parents[2]
PAPERS = [flow.name for flow in list_flows()]
FILES = {
    "flows/toy.py": '''
"""toy: questions with one right word."""
from flows.stage import Flow, Scope

SETS = Scope(over="toy.sets", folder="data/toy/${key}")
RUNS = Scope(over="toy.runs", folder="data/toy/${item.set}/${key}",
             looks_in=(SETS.at("${item.set}"),), evaluates="toy.scores")
TOY = Flow("toy", "A toy", (
    SETS.stage("toy.items", reads=("${item.file}",)),
    RUNS.stage("toy.answers", roles=("*",)),
    RUNS.stage("toy.scores"),
    RUNS.stage("toy.evaluation_page", out="data/reports/toy/${key}"),
))
''',
    "tasks/toy/__init__.py": "",
    "tasks/toy/items.py": '''
from dataclasses import dataclass
from pathlib import Path
from pydantic import BaseModel
from tasks.artifacts.rows import Drafts, Origin
from tasks.systems.own_items import ItemReader, fill_row, read_items

@dataclass(frozen=True)
class ToyItem:
    id: str
    question: str
    reference: str
    weight: int
    group: str
    origin: tuple[Origin, ...]

class ToySet(BaseModel):
    file: Path

def items(entry: ToySet) -> Drafts[ToyItem]:
    return Drafts(read_items(entry.file, ItemReader(lambda *row: fill_row(ToyItem, *row))).items)
''',
    "tasks/toy/answers.py": '''
import asyncio
from dataclasses import dataclass
from pydantic import BaseModel
from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.models.ask import Ask
from tasks.systems.build import build_system
from tasks.systems.entries import SystemEntry
from tasks.toy.items import ToyItem

@dataclass(frozen=True)
class ToyAnswer:
    id: str
    item: str
    text: str | None
    problem: str
    origin: tuple[Origin, ...]

class ToyRun(BaseModel):
    set: str
    system: str

async def answers(items: list[ToyItem], entry: ToyRun, system: SystemEntry, ask: Ask) -> Drafts[ToyAnswer]:
    built = build_system(entry.system, system, (), ask)
    said = await asyncio.gather(*(built.answer(item.question, row=item.id) for item in items))
    return Drafts([
        ToyAnswer(make_id(item.id), item.id, one.text, one.problem,
                  (Origin("row", f"items#{item.id}"), *(Origin("call", call) for call in one.calls)))
        for item, one in zip(items, said, strict=True)
    ])
''',
    "tasks/toy/scores.py": '''
from dataclasses import dataclass
from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.answered import Answered, Scored
from tasks.toy.answers import ToyAnswer
from tasks.toy.items import ToyItem

@dataclass(frozen=True)
class ToyScore:
    id: str
    item: str
    group: str
    right: float | None
    origin: tuple[Origin, ...]

def scores(items: list[ToyItem], answers: list[ToyAnswer]) -> Drafts[ToyScore]:
    asked = {item.id: item for item in items}
    return Drafts([
        ToyScore(row.id, row.item, asked[row.item].group,
                 None if row.text is None else float(asked[row.item].reference in row.text),
                 (Origin("row", f"answers#{row.id}"),))
        for row in answers
    ])

def list_scored(rows: list[ToyScore]) -> list[Scored]:
    return [Scored(row.id, row.group, row.right) for row in rows]

def list_answered(items: list[ToyItem], answers: list[ToyAnswer]) -> list[Answered]:
    asked = {item.id: item for item in items}
    return [
        Answered(row.id, row.item, "", "right", asked[row.item].question, asked[row.item].reference,
                 row.text or row.problem)
        for row in answers
    ]
''',
    "tasks/toy/evaluation.py": '''
"""`benchloom evaluate toy`."""
from tasks.reports.own_evaluation import Evaluation
from tasks.systems.evaluation import KEY, SYSTEM
from tasks.systems.own_items import ItemDataset
from tasks.toy.items import ToyItem

EVALUATION = Evaluation(
    ItemDataset(
        ToyItem,
        stages=("toy.answers", "toy.scores"),
        entries={"toy.runs": {"set": KEY, "system": SYSTEM}},
    )
)
''',
    "stranger_of_toys.py": '''
def know_half(question, history):
    if "down" in question:
        raise ValueError("no answer here")
    return "It is Oslo." if int(question.split()[-1].strip("?")) % 2 else "It is Rome."

def know_all(question, history):
    return "It is Oslo."
''',
    "dvc.yaml": "stages: {}\n",
}  # fmt: skip
ITEMS = [
    *(
        {"id": f"i{n:02}", "group": f"g{n // 2}", "question": f"Which city is {n}?", "reference": "Oslo",
         "weight": 1}
        for n in range(24)
    ),
    {"id": "x1", "question": "Which city is down?", "reference": "Oslo", "weight": 1},
]  # fmt: skip
ENTRIES = """
toy:
  sets: {cities: {file: cities.jsonl}}
  runs: {half: {set: cities, system: know_half}, whole: {set: cities, system: know_all}}
"""
BROKEN = [
    ("{nope", "is not valid JSON: "),
    ('["a"]', "is a list; expected a JSON object"),
    ('{"question": "q", "weight": 1}', "reference is missing; expected text"),
    ('{"question": " ", "reference": "r", "weight": 1}', "question is empty"),
    ('{"question": "q", "reference": "r", "weight": "much"}', "weight: Input should be a valid integer"),
    ('{"question": "q", "reference": "r"}', "weight: Input should be a valid integer"),
    ('{"id": "i01", "question": "q", "reference": "r", "weight": 1}', "repeats the id of line 2"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with linked shared packages, and only the toy paper."""
    root = tmp_path_factory.mktemp("toy")
    for side in ("flows", "tasks"):
        (root / side).mkdir()
        for place in (HERE / side).iterdir():
            if place.stem not in (*PAPERS, "__pycache__") and (side == "flows" or place.name not in PAPERS):
                target = root / side / place.name
                if place.is_dir():
                    target.symlink_to(place)
                else:
                    target.write_bytes(place.read_bytes())
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    (root / "pyproject.toml").write_bytes((HERE / "pyproject.toml").read_bytes())
    (root / "params.yaml").write_text((HERE / "params.yaml").read_text() + "\ntoy: {sets: {}, runs: {}}\n")
    systems = [
        f"systems.{name}={{kind: callable, version: '1', function: 'stranger_of_toys:{name}'}}"
        for name in ("know_half", "know_all")
    ]
    set_params(root, systems)
    lines = [*map(json.dumps, ITEMS), *(line for line, _ in BROKEN)]
    (root / "items.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return root


RUN = """
import contextlib, io, json, os, sys
root, commands = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, root)
os.environ["BENCHLOOM_LEDGER"] = f"{root}/ledger.sqlite"
from flows.cli import main
done = []
for words in commands:
    os.chdir(root)
    sys.argv = ["benchloom", *words]
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            main()
            code = 0
        except SystemExit as error:
            code = error.code or 0
    done.append((code, out.getvalue(), said.getvalue()))
json.dump(done, sys.stdout)
"""


def call(project: Path, *commands: str) -> list[tuple[int, str, str]]:
    """Run commands in one process; return the exit code, stdout and stderr of each command."""
    split = json.dumps([command.split() for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(project), split],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(code, out, said) for code, out, said in json.loads(done.stdout)]


def test_a_flow_evaluates_by_its_declaration_alone(project: Path) -> None:
    evaluate = "evaluate toy --dataset items.jsonl"
    graph, half, everything, again, compared, *walked = call(
        project,
        "graph",
        f"{evaluate} --out half --system know_half",
        f"{evaluate} --out all --system know_all --json",
        f"{evaluate} --out again --system know_half --replay --limit 3 --json",
        "compare run:half run:all --json",
        *(f"lineage half/figures.json#{place}" for place in ("/measures/right", "/counts/scores", "/items")),
    )
    assert graph[0] == 0, graph

    code, shown, said = half
    assert code == 1, "rows are broken, and an answer failed"
    for place, (_, problem) in enumerate(BROKEN, len(ITEMS) + 1):
        assert f"items.jsonl, line {place}: {problem}" in said
    assert "item x1: unscored: the system raised ValueError" in said
    shown = " ".join(shown.split())
    assert "know_half on items.jsonl: 25 scores, 1 without one" in shown
    assert shown.endswith("right 24 1 0.500"), "every group has half of its items right: no interval"
    figures = json.loads((project / "half/figures.json").read_text())
    assert figures["counts"] == {"scores": 25, "unscored": 1}
    assert (figures["flow"], figures["items"], len(figures["left_out"])) == ("toy", 25, len(BROKEN))
    right = figures["measures"]["right"]
    assert (right["value"], right["n"], right["failed"]) == (0.5, 24, 1)
    assert sorted(path.name for path in (project / "half").iterdir()) == [
        "answers.parquet", "calls.parquet", "figures.json", "items.parquet", "lineage.json", "scores.parquet",
    ]  # fmt: skip
    assert json.loads(everything[1])["measures"]["right"]["value"] == 1.0
    assert json.loads(again[1])["counts"]["scores"] == 6, "three groups of two, from the ledger"

    assert compared[0] == 0, compared
    ((metric,),) = [scored_system["metrics"] for scored_system in json.loads(compared[1])["strands"]]
    assert (metric["metric"], metric["n_pairs"], metric["difference"]) == ("right", 24, 0.5)
    for code, sources, said in walked:
        assert (code, said) == (0, "")
        assert "items.jsonl" in sources


def test_an_option_of_other_flows_is_refused_in_one_line(project: Path) -> None:
    evaluate = "evaluate toy --dataset items.jsonl --system"
    refused = {
        f"{evaluate} know_all --turns 2": "--turns: does not apply to toy",
        f"{evaluate} know_all --documents flows": "--documents: does not apply to toy",
        f"{evaluate} weak": "systems.weak: retrieves from documents, but the flow toy has no documents",
    }
    for (code, out, said), expected in zip(call(project, *refused), refused.values(), strict=True):
        assert (code, out) == (2, "")
        assert expected in said
        assert len(said.splitlines()) == 1


def test_a_flow_has_its_page_by_its_declaration_alone(project: Path) -> None:
    Repo.init(str(project), no_scm=True).close()
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("toy: {sets: {}, runs: {}}", ENTRIES))
    (project / "cities.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    record = "data/reports/toy/half/report.json"
    graph, ran, again, compared, traced, site = call(
        project,
        "graph",
        "run toy --plain",
        "run toy --plain",
        "compare entry:half entry:whole --json",
        f"lineage {record}#/tables/0/lines/0/cells/0",
        "report",
    )
    assert [graph[0], ran[0], compared[0], traced[0], site[0]] == [0] * 5, (ran, compared, traced, site)
    assert "7 up to date" in again[2] + again[1]
    (table,) = json.loads((project / record).read_text())["tables"]
    right = table["lines"][0]["cells"][0]
    assert (right["step"], right["value"], right["n"], right["failed"]) == ("right", 0.5, 24, 1)
    assert "cities.jsonl" in traced[1]
    page = (project / "data/reports/toy/half/index.html").read_text()
    assert "1 of 25 answers could not be scored. The means leave out these answers." in page
    assert "toy/half/index.html" in (project / "data/reports/index.html").read_text()
    ((metric,),) = [scored_system["metrics"] for scored_system in json.loads(compared[1])["strands"]]
    assert (metric["n_pairs"], metric["difference"]) == (24, 0.5)


def test_a_flow_has_its_card_and_its_nights_by_its_declaration_alone(project: Path) -> None:
    (project / ".gitignore").write_text("/.benchloom/\n/data/\n/published/\n/ledger.sqlite*\n__pycache__/\n")
    set_params(project, ["nightly.assessments=[half]"])
    git = ["git", "-C", str(project), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    # The first night needs a DVC repository inside a git repository.
    (project / ".dvc/config").write_text("")
    subprocess.run([*git, "commit", "-q", "-a", "-m", "Let DVC know git"], check=True, capture_output=True)

    private, published, first, second = call(
        project,
        "publish toy.runs.half --to published",
        "publish toy.runs.half --to published --private-sources",
        "nightly once --plain --as-of one",
        "nightly once --plain --as-of two",
    )
    assert private[0] == 2
    assert "cities.jsonl (unknown)" in private[2]
    assert [published[0], first[0], second[0]] == [0] * 3, (published, first, second)
    card = (project / "published/README.md").read_text()
    assert "25 rows of `scores`, from the entry `toy.runs.half`" in card
    assert "| answers | items 25 | 25 | 0 | 25 |" in card
    night = json.loads((project / "data/nightly/two/night.json").read_text())
    assert (night["state"], night["against"], night["alarms"]) == ("accepted", "one", [])
    (series,) = night["series"]
    assert (series["n_pairs"], series["difference"]) == (24, 0.0)
