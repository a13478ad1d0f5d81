"""Tests of a flow's declaration: derived facts, and errors for omissions."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from flows.discovery import list_flows

PAGE = '''
"""Trial."""
from flows.stage import Flow, Scope

ENTRY = Scope(over="trial.entries", folder="data/trial/${key}")
RUNS = Scope(over="trial.runs", folder="data/trial/${item.entry}/${key}",
             looks_in=(ENTRY.at("${item.entry}"),), evaluates="trial.answers")
TRIAL = Flow("trial", "A trial", (
    ENTRY.stage("trial.words", reads=("${item.file}",)),
    RUNS.stage("trial.answers", prompts=("ask",), roles=("judge",)),
    RUNS.stage("trial.show", beside=True, out="data/reports/trial/${key}"),
))
'''
STAGES = {
    "make/words.py": """
from tasks.artifacts.rows import Drafts, Dropped
def words(entry: dict) -> Drafts[Dropped]: ...
""",
    "make/answers.py": """
from pydantic import BaseModel
from tasks.artifacts.rows import Drafts, Dropped
from tasks.trial.helping import help_out
class Answers(BaseModel): ...
def answers(words: list[Dropped], params: Answers, ask: object) -> Drafts[Dropped]: help_out()
def list_scored(answers: list[Dropped]) -> list: ...
def list_answered(answers: list[Dropped]) -> list: ...
""",
    "show.py": """
from pathlib import Path
TEMPLATE = "show.html"
def show(answers: Path, words: Path, out: Path) -> None: out.write_text(TEMPLATE)
""",
    "helping.py": "def help_out(): ...\n",
    "pages/show.html": "<p></p>",
    "prompts/ask.md": "Q",
}
HERE = Path(__file__).parents[2]
PAPERS = [flow.name for flow in list_flows()]


@pytest.fixture
def house(tmp_path):
    """A project with linked code and a new paper."""
    (tmp_path / "flows").mkdir()
    (tmp_path / "tasks").mkdir()
    for room in ("run", "commands", "comparing", "lineage", "nights"):
        (tmp_path / "flows" / room).symlink_to(HERE / "flows" / room)
    for page in (HERE / "flows").glob("*.py"):
        if page.stem not in PAPERS:
            (tmp_path / "flows" / page.name).write_bytes(page.read_bytes())
    for room in (HERE / "tasks").iterdir():
        if room.name not in (*PAPERS, "__pycache__"):
            (tmp_path / "tasks" / room.name).symlink_to(room)
    (tmp_path / "flows/trial.py").write_text(PAGE)
    for name, text in STAGES.items():
        write(tmp_path, f"tasks/trial/{name}", text)
    write(tmp_path, "tasks/trial/__init__.py", "")
    write(tmp_path, "tasks/trial/make/__init__.py", "")
    write(tmp_path, "dvc.yaml", "stages: {}\n")
    write(tmp_path, "params.yaml", "trial: {entries: {}, runs: {}, answers: {}}\n")
    return tmp_path


def write(house: Path, name: str, text: str) -> None:
    (house / name).parent.mkdir(parents=True, exist_ok=True)
    (house / name).write_text(text)


def edit(house: Path, name: str, old: str, new: str) -> None:
    text = (house / name).read_text()
    assert old in text
    (house / name).write_text(text.replace(old, new))


def graph(house: Path, *words: str) -> subprocess.CompletedProcess:
    code = f"import sys; sys.path.insert(0, {str(house)!r}); sys.argv = ['benchloom', 'graph', *{words!r}]"
    return subprocess.run(
        [sys.executable, "-c", f"{code}; from flows.cli import main; main()"],
        cwd=house, capture_output=True, text=True, check=False,
    )  # fmt: skip


def read_stages(house: Path) -> dict:
    done = graph(house)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load((house / "dvc.yaml").read_text())["stages"]


def test_a_page_and_its_folder_are_a_flow(house):
    stages = read_stages(house)
    assert list(stages) == ["trial-words", "trial-answers", "trial-show"]
    words, answers, show = (stages[name] for name in stages)
    assert words["foreach"] == "${trial.entries}"
    assert words["do"]["cmd"] == "benchloom stage trial.words ${key}"
    assert words["do"]["outs"] == [
        "data/trial/${key}/words.parquet",
        "data/trial/${key}/words.dropped.parquet",
    ]
    assert "${item.file}" in words["do"]["deps"]
    assert "trial.entries.${key}" in words["do"]["params"]
    assert answers["do"]["deps"][0] == "data/trial/${item.entry}/words.parquet"
    assert {"tasks/trial/make/answers.py", "tasks/trial/helping.py", "tasks/trial/prompts/ask.md"} <= set(
        answers["do"]["deps"]
    )
    assert answers["do"]["outs"][-1] == "data/trial/${item.entry}/${key}/answers.calls.parquet"
    assert answers["do"]["params"] == [
        "trial.answers", "roles.judge", "models", "evaluation", {"pyproject.toml": ["tool.benchloom.bytes"]},
    ]  # fmt: skip
    beside = {
        "data/trial/${item.entry}/${key}/answers.calls.parquet",
        "data/trial/${item.entry}/words.dropped.parquet",
    }
    assert beside | {"tasks/trial/pages/show.html"} <= set(show["do"]["deps"])
    assert show["do"]["outs"] == ["data/reports/trial/${key}"]


def test_a_file_may_move_without_renaming_its_stage(house):
    read_stages(house)
    write(house, "tasks/trial/elsewhere/__init__.py", "")
    (house / "tasks/trial/show.py").rename(house / "tasks/trial/elsewhere/show.py")
    stages = read_stages(house)
    assert "tasks/trial/elsewhere/show.py" in stages["trial-show"]["do"]["deps"]
    assert stages["trial-show"]["do"]["cmd"] == "benchloom stage trial.show ${key}"


def test_a_check_changes_nothing_and_prints_the_whole_difference(house):
    read_stages(house)
    before = (house / "dvc.yaml").read_text()
    edit(house, "flows/trial.py", '"${item.file}",', '"${item.file}", "data/more.csv",')
    edit(house, "flows/trial.py", 'roles=("judge",)', 'roles=("judge", "other")')
    done = graph(house, "--check")
    assert done.returncode == 1
    assert "data/more.csv" in done.stdout
    assert "roles.other" in done.stdout
    assert (house / "dvc.yaml").read_text() == before


def test_a_new_parameter_makes_the_schema_stale_until_it_is_written(house):
    read_stages(house)
    done = graph(house, "--check")
    assert (done.returncode, done.stdout) == (0, "")
    before = (house / "params.schema.json").read_text()
    edit(
        house,
        "tasks/trial/make/answers.py",
        "class Answers(BaseModel): ...",
        'class Answers(BaseModel):\n    words: int = 3\n    """How many at most."""',
    )
    done = graph(house, "--check")
    assert done.returncode == 1
    assert "How many at most." in done.stdout
    assert "params.schema.json differs from the flows' declarations" in done.stderr
    assert (house / "params.schema.json").read_text() == before
    read_stages(house)
    assert graph(house, "--check").returncode == 0


def test_a_stage_that_cannot_be_imported_is_named_and_the_graph_is_written(house):
    edit(house, "tasks/trial/make/answers.py", "from pydantic", "import no_such_package\nfrom pydantic")
    done = graph(house)
    assert done.returncode == 2
    assert "tasks/trial/make/answers.py: cannot be imported: No module named 'no_such_package'" in done.stderr
    assert "trial-answers" in (house / "dvc.yaml").read_text()


def test_blocks_of_a_users_own_stay_word_for_word(house):
    mine = "  mine:\n    # why it is so\n    cmd:   make  mine\n    outs: [mine.txt]\n"
    write(house, "dvc.yaml", f"stages:\n{mine}  trial-gone:\n    cmd: benchloom stage trial.gone\n")
    stages = read_stages(house)
    assert mine in (house / "dvc.yaml").read_text()
    assert "trial-gone" not in stages
    once = (house / "dvc.yaml").read_text()
    assert read_stages(house) == stages
    assert (house / "dvc.yaml").read_text() == once


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("tasks/trial/show.py", "words: Path", "wrods: Path", "argument 'wrods' that is not an artifact"),
        ("flows/trial.py", 'roles=("judge",)', "", "must name the role: roles="),
        (
            "flows/trial.py",
            'prompts=("ask",)',
            'prompts=("aks",)',
            "tasks/trial/prompts/aks.md, which does not exist",
        ),
        ("flows/trial.py", 'prompts=("ask",), ', "", "must list its prompts: prompts="),
        ("flows/trial.py", ', out="data/reports/trial/${key}"', "", "must contain out="),
        ("tasks/trial/show.py", "answers: Path", "answers", "argument 'answers' without a type: annotate it"),
        (
            "tasks/trial/show.py",
            "answers: Path",
            "answers: list",
            "of the type list, but artifacts are read only as",
        ),
        ("tasks/trial/show.py", "out: Path", "out: Path, ask: Embed", "its calls would not be recorded"),
        (
            "tasks/trial/make/words.py",
            "def words",
            "@splits('wrods', rows=5)\ndef words",
            "splits over 'wrods', which is not one of its arguments",
        ),
        (
            "tasks/trial/make/answers.py",
            "def answers",
            "@splits('words', rows=5)\ndef answers",
            "so it must not ask a model",
        ),
        (
            "flows/trial.py",
            'Scope(over="trial.entries", folder="data/trial/${key}")',
            'Scope(folder="data/trial")',
            "an argument 'entry', but its scope does not fan out",
        ),
        (
            "params.yaml",
            "entries: {}",
            "entries: {one: {}}",
            "params.yaml: trial.entries.one: has no field 'file', which the stage trial.words declares",
        ),
        (
            "params.yaml",
            "entries: {}, runs: {}",
            "entries: {one: {file: a}}, runs: {first: {entry: one}}",
            "params.yaml: roles.judge: is missing, but trial.answers depends on it",
        ),
        ("flows/trial.py", '    ENTRY.stage("trial.words", reads=("${item.file}",)),\n', "", "words"),
        (
            "params.yaml",
            "runs: {}, ",
            "",
            "params.yaml: has no section trial.runs, which stage trial.answers",
        ),
        ("flows/trial.py", "trial.show", "trial.shown", "there is no tasks/trial/shown.py"),
        ("flows/trial.py", 'Flow("trial"', 'Flow("other"', "must declare one flow named 'trial'"),
        (
            "flows/trial.py",
            '"trial.answers")',
            '"trial.answer")',
            "not name a stage that runs over trial.runs",
        ),
        (
            "flows/trial.py",
            '"trial.answers")',
            '"trial.words")',
            "not name a stage that runs over trial.runs",
        ),
        ("tasks/trial/make/answers.py", "def list_scored", "def list_scores", "no function 'list_scored'"),
        (
            "tasks/trial/make/answers.py",
            "def list_answered",
            "def list_answer",
            "no function 'list_answered'",
        ),
        (
            "params.yaml",
            "answers: {}",
            "answer: {}",
            "params.yaml, line 1: trial.answer: no such key (did you",
        ),
    ],
)
def test_what_is_forgotten_is_said(house, file, old, new, said):
    edit(house, file, old, new)
    done = graph(house)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_stage_that_no_flow_declares_is_named(house):
    write(house, "tasks/trial/make/lost.py", STAGES["make/words.py"].replace("def words", "def lost"))
    done = graph(house)
    assert done.returncode == 2
    assert (
        "tasks/trial/make/lost.py: defines a stage's function, but no flow declares the stage" in done.stderr
    )


def test_an_importer_that_no_flow_declares_is_named(house):
    (house / "tasks/sources").unlink()
    write(house, "tasks/sources/__init__.py", "")
    write(house, "tasks/sources/words.py", STAGES["make/words.py"].replace("entry: dict", ""))
    edit(
        house,
        "flows/trial.py",
        "    ENTRY.stage(",
        '    Scope(folder="data/raw").stage("sources.words"),\n    ENTRY.stage(',
    )
    assert "sources-words" in read_stages(house)
    write(house, "tasks/sources/books.py", "def books(out): ...\n")
    done = graph(house)
    assert done.returncode == 2
    assert "tasks/sources/books.py: defines a stage's function, but no flow declares the stage" in done.stderr


@pytest.mark.parametrize("out", ["data/reports/trials-${key}", "data/reports/trial/${key}/deep", "page"])
def test_a_page_where_the_front_page_does_not_look_is_named(house, out):
    show = STAGES["show.py"].replace("out.write_text", "write_page")
    write(house, "tasks/trial/show.py", f"from tasks.reports.report_page import write_page\n{show}")
    assert "trial-show" in read_stages(house)
    edit(house, "flows/trial.py", "data/reports/trial/${key}", out)
    done = graph(house)
    assert done.returncode == 2
    assert "which the front page does not list: out must be data/reports/FLOW/NAME" in done.stderr


def test_a_flow_without_a_folder_is_named(house):
    write(house, "flows/newer.py", PAGE.replace("trial", "newer"))
    done = graph(house)
    assert done.returncode == 2
    assert "flows/newer.py: declares a flow, but tasks/newer/__init__.py does not exist" in done.stderr


def test_a_paper_without_a_flow_is_named(house):
    write(house, "tasks/newer/__init__.py", "")
    done = graph(house)
    assert done.returncode == 2
    assert "tasks/newer: has no flow (declare its stages in flows/newer.py" in done.stderr


def test_two_modules_of_one_name_are_told_apart_or_refused(house):
    write(house, "tasks/trial/other/__init__.py", "")
    write(house, "tasks/trial/other/words.py", STAGES["make/words.py"])
    done = graph(house)
    assert done.returncode == 2
    assert "tasks/trial/make/words.py and tasks/trial/other/words.py" in done.stderr
    scope = 'OTHER = Scope(over="trial.entries", folder="data/other/${key}")'
    edit(house, "flows/trial.py", "TRIAL = Flow", f"{scope}\nTRIAL = Flow")
    answers = '    RUNS.stage("trial.answers"'
    edit(house, "flows/trial.py", answers, f'    OTHER.stage("trial.other.words"),\n{answers}')
    assert "tasks/trial/make/words.py" in read_stages(house)["trial-words"]["do"]["deps"]


def test_a_run_refuses_a_graph_that_lacks_what_the_code_imports(house):
    read_stages(house)
    params = yaml.safe_load((house / "params.yaml").read_text())
    code = (
        f"import sys; sys.path.insert(0, {str(house)!r}); from pathlib import Path; "
        f"from flows.graph_file import require_graph; require_graph(Path({str(house)!r}), {params!r})"
    )
    require = [sys.executable, "-c", code]
    for _ in range(2):
        assert subprocess.run(require, cwd=house, check=False).returncode == 0
    write(house, "tasks/trial/newer.py", "def help_more(): ...\n")
    write(
        house,
        "tasks/trial/helping.py",
        "from tasks.trial.newer import help_more\ndef help_out(): help_more()\n",
    )
    done = subprocess.run(require, cwd=house, capture_output=True, text=True, check=False)
    assert "dvc.yaml: differs from the flows' declarations (run `benchloom graph`" in done.stderr
    assert "tasks/trial/newer.py" in read_stages(house)["trial-answers"]["do"]["deps"]
    assert subprocess.run(require, cwd=house, check=False).returncode == 0
    params["trial"]["answer"] = {}
    code = code.partition("require_graph(Path")[0] + f"require_graph(Path({str(house)!r}), {params!r})"
    misspelt = [sys.executable, "-c", code]
    done = subprocess.run(misspelt, cwd=house, capture_output=True, text=True, check=False)
    assert "params.yaml: trial.answer: no such key (did you mean 'answers'?" in done.stderr
