"""Tests of `benchloom import NAME` with users' own importers: the example of docs/plugs.md, and errors."""

import zipfile

import pytest

import tasks.sources.importers
import tasks.streambench.environments
from benchloom.making import init_command
from benchloom.yaml_files import load_yaml
from tasks.errors import BadInput
from tasks.streambench.environments import finding
from tests.benchloom.scenes import call as run
from tests.flows.test_import_streams import call, read
from tests.packages import install, read_example
from tests.streambench.environment_scenes import judge, make_environment, make_stream_item

IMPORTER = read_example("An importer")
POINTS = "[benchloom.importers]\ntrivia = acme_quiz:Trivia\n"
LINES = (
    "number,question,answer\n1,Who leads?,Bo\n2,Where?,\n3,When?,1990\n3,When then?,1991\n4,Why?,Because\n"
)


@pytest.fixture
def root(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "params.yaml").write_text("databases: {}\n")
    (folder / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Write the page's environment, in which the importer's items are answered, into its folder."""
    put(
        monkeypatch, tasks.streambench.environments, tmp_path / "environments", read_example("An environment")
    )
    monkeypatch.setattr(finding, "FOLDER", tmp_path / "environments")


def put(monkeypatch, package, folder, code, name="trivia"):
    folder.mkdir()
    (folder / f"{name}.py").write_text(code)
    monkeypatch.setattr(package, "__path__", [str(folder), *package.__path__])


def make_quiz(tmp_path, lines=LINES):
    with zipfile.ZipFile(tmp_path / "quiz.zip", "w") as archive:
        archive.writestr("quiz/trivia.csv", lines)
    return tmp_path / "quiz.zip"


def test_the_examples_of_the_page_make_a_dataset_and_judge_its_answers(
    root,
    environment,
    tmp_path,
    monkeypatch,
):
    put(monkeypatch, tasks.sources.importers, tmp_path / "importers", IMPORTER)
    assert "trivia" in call("--help").stdout
    assert (
        "Imports every line that has a question and an answer as an item." in call("trivia", "--help").stdout
    )
    done = call("trivia", make_quiz(tmp_path))
    assert "3 items of 5 records, 0 shots, 0 files: data/raw/streambench/trivia" in done.stdout
    about, items, _, skipped = read(root, "trivia")
    assert skipped == {"incomplete": 1, "twice": 1}
    told = ("name", "kind", "title", "licence", "source")
    assert [about[name] for name in told] == [
        "trivia", "trivia", "The quiz team's questions", "CC-BY-4.0", "https://example.org/quiz"
    ]  # fmt: skip
    assert [(item["key"], item["text"], item["gold"]) for item in items] == [
        ("trivia-1", "Who leads?", "Bo"), ("trivia-3", "When?", "1990"), ("trivia-4", "Why?", "Because")
    ]  # fmt: skip

    made = make_environment("trivia", root / "data/raw/streambench")
    item = make_stream_item("trivia", "trivia", items[0]["text"], items[0]["gold"])
    right, wrong = judge(made, [(item, "Bo"), (item, "Al")])
    assert (right.bit, wrong.bit) == (True, False)


def test_an_installed_one_draws_by_seed_and_names_its_folder_as_asked(root, environment, site, monkeypatch):
    install(site, "acme-quiz", "1.2", points=POINTS, code=IMPORTER)
    call("trivia", make_quiz(site), "--name", "quiz", "--take", "2", "--seed", "7")
    about, items, _, _ = read(root, "quiz")
    assert about["draw"] == {"seed": 7, "take": 2}
    assert len(items) == 2
    put(monkeypatch, tasks.sources.importers, site / "importers", IMPORTER)
    with pytest.raises(
        BadInput, match=r"acme-quiz 1\.2, entry point trivia .*importers/trivia\.py has the same name"
    ):
        call("trivia", site / "quiz.zip")


def change(old, new):
    assert old in IMPORTER
    return IMPORTER.replace(old, new)


FAULTS = {
    "raises when imported": ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
    "no such class": (change("class Trivia", "class Quiz"), "has no attribute 'Trivia'"),
    "another base": (
        "class Trivia:\n    name = 'trivia'\n",
        r"must define exactly one importer named 'trivia', a subclass of tasks\.sources\.base_importer",
    ),
    "another name": (
        change('    name = "trivia"', '    name = "quiz"'),
        "must define exactly one importer named",
    ),
    "no licence": (change('    licence = "CC-BY-4.0"\n', ""), "the class has no string attribute 'licence'"),
    "no environment": (
        change('kind = "trivia"', 'kind = "chess"'),
        "the environment 'chess' does not exist.*trivia",
    ),
    "no items": (change("def read_items", "def read_lines"), "raised TypeError: Can't instantiate"),
    "raises amid": (
        change("if not text", "1 / (3 - number)\n                if not text"),
        "raised ZeroDivisionError.* 1 rec",
    ),
    "no record": (change("DatasetItem(f", "(f"), "record 1 is not a pair of a place and a DatasetItem"),
    "no gold": (
        change('"", answer)', '"", None)'),
        "line 2: the field 'gold' of the DatasetItem is empty or not text",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_one_is_one_line_that_names_its_entry_point_and_nothing_is_written(
    root, environment, site, fault
):
    code, said = FAULTS[fault]
    install(site, "acme-quiz", "1.2", points=POINTS, code=code)
    with pytest.raises(BadInput, match=said) as refused:
        call("trivia", make_quiz(site))
    line = str(refused.value)
    assert line.startswith("acme-quiz 1.2, entry point trivia = acme_quiz:Trivia of benchloom.importers: ")
    assert "\n" not in line
    assert not (root / "data").exists()


@pytest.mark.timeout(600)
def test_an_importer_of_a_new_project_is_one_file_and_its_fields_are_options(tmp_path):
    project = tmp_path / "mine"
    assert init_command(project) == 0
    (project / "tasks/grammar/importers/notes.py").write_text(read_example("An importer", 1))
    (project / "notes").mkdir()
    (project / "notes/a.txt").write_text("Zwei Äpfel\n", encoding="utf-8")
    listed = [line.split()[:3] for line in run(project, "import", "--help").stdout.splitlines()]
    assert ["notes", "Import", "the"] in listed
    assert ["bird", "Import", "BIRD's"] in listed
    told = " ".join(run(project, "import", "notes", "--help").stdout.split())
    assert "FOLDER <path> A folder of text files. [required]" in told
    assert "--language CODE The language of the texts. [default: en]" in told
    done = run(project, "import", "notes", "notes", "--language", "de")
    assert (done.returncode, done.stdout) == (0, "1 notes\n"), done.stderr
    assert (project / "data/raw/notes.txt").read_text(encoding="utf-8") == "de: Zwei Äpfel\n"
    assert load_yaml(project / "params.yaml")["databases"]["shop"]["title"] == "1 notes"


def test_the_name_of_a_shipped_importer_is_refused(root, site):
    install(site, "acme-quiz", points="[benchloom.importers]\nbird = acme_quiz:Bird\n", code=IMPORTER)
    said = r"acme-quiz 1\.0, entry point bird .*: tasks/sources/importers/bird\.py has the same name"
    with pytest.raises(BadInput, match=said):
        call("bird", site)
    assert call("--help").stdout.count("bird ") == 1
