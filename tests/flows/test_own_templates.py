"""Tests of hand-written templates: the import command, then a dataset under DVC without a model."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from benchloom.yaml_files import load_yaml
from flows.importing import bring_in
from tasks.artifacts.parquet import count_rows, read_rows
from tasks.artifacts.rows import Dropped
from tasks.errors import BadInput
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import OwnTemplate
from tasks.grammar.corpus.entities import EntityProfile
from tasks.grammar.importers.templates import Templates
from tests.flows.conftest import make_folder
from tests.flows.running import copy_code, finish_run, list_states, open_run
from tests.grammar.construct.test_own_templates import LINES, TOWN
from tests.grammar.scripted import make_database

ROOT = Path(__file__).parents[2]
LAST = "grammar-dataset@clinic"
NOBODY = {"url": "http://127.0.0.1:9/v1", "retries": 0}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project of GRAMMAR's construction on the clinic database, without reachable models."""
    root = make_folder(tmp_path / "project")
    monkeypatch.chdir(root)
    monkeypatch.setenv("BENCHLOOM_LEDGER", str(tmp_path / "ledger.sqlite"))
    copy_code(root, monkeypatch)
    for folder in ("data/templates", "data/worlds", "data/labels"):
        (root / folder).mkdir(parents=True)
        shutil.copy(ROOT / folder / "README.md", root / folder / "README.md")
    make_database(root / "clinic.sqlite")
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    own = {name: stage for name, stage in stages.items() if stage.get("foreach") == "${databases}"}
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": own}, sort_keys=False))
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for role in params["roles"].values():
        role |= {"model": "nobody", "constrain": "none"}
    params |= {
        "assessments": {},
        "databases": {"clinic": {"file": "clinic.sqlite", "title": "Clinic"}},
        "models": {},
    }
    params["run"] |= {"endpoints": {"nobody": NOBODY}, "prices": {}}
    (root / "params.yaml").write_text("# mine\n" + yaml.safe_dump(params, sort_keys=False))
    return root


BUSIEST = {
    "sql": "SELECT d.name, COUNT(*) FROM visits v JOIN doctors d ON v.leading_doctor = d.doctor_id "
    "WHERE v.reason = '[visits.reason]' GROUP BY d.doctor_id ORDER BY COUNT(*) DESC LIMIT 1",
    "texts": {"short": "[visits.reason]: whose most", "long": "[visits.reason]: whose most"},
}
"""A template with a shape and texts that a model would not be allowed to write."""


BOUND = {
    "sql": "SELECT COUNT(DISTINCT doctors.doctor_id) FROM doctors "
    "WHERE doctors.hourly_rate > '[doctors.hourly_rate:over]'",
    "texts": {
        "short": "number of doctors with an hourly rate over [doctors.hourly_rate:over]",
        "long": "How many doctors with an hourly rate over [doctors.hourly_rate:over] are there? I am "
        "writing a short report on what this costs us, and would like to be sure of it before it is sent.",
    },
}
"""A template with a bound, whose placeholder is a column's placeholder with a suffix."""


def run(root, last=LAST):
    return list_states(finish_run(open_run(root), [last]))


def write(root, lines):
    path = root / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def import_templates(root, lines, **options):
    """Import lines from a file; return the messages."""
    return "\n".join(bring_in(root, Templates(file=write(root, lines), **options)).said)


@pytest.mark.timeout(600)
def test_from_a_file_to_a_dataset_with_no_model(root):
    said = import_templates(root, [*LINES, BUSIEST, BOUND], database="clinic", instead=True)
    assert "clinic: 5 SQL templates with 11 texts, instead of a model's" in said
    assert "2 warnings; with --strict they would be errors" in said
    assert load_yaml(root / "params.yaml")["databases"]["clinic"]["templates"] == "instead"
    assert (root / "params.yaml").read_text().startswith("# mine\n")

    assert set(run(root).values()) == {"ran"}
    folder = root / "data/grammar/clinic"
    own = {row.id: row for row in read_rows(folder / "own_templates.parquet", OwnTemplate)}
    balanced = read_rows(folder / "balanced.parquet", Question)
    assert {question.sql_template for question in balanced} == set(own)
    assert sum(question.question == "town of the clinic Xanadu House" for question in balanced) == 1
    assert {question.criterion for question in balanced} == {"short", "long"}
    assert not list((root / "ledger.sqlite").parent.glob("*.calls"))
    for stem in ("sql_templates", "text_templates", "back_check", "second_reading"):
        assert count_rows(folder / f"{stem}.calls.parquet") == 0
    lines = (folder / "dataset/own_templates.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["tag"] for line in lines) == ["", "", "", "", "places"]
    rates = [81.5, 90.0, 75.25, 12.0]
    bounds = {question.sql: question.answer for question in balanced if "hourly_rate >" in question.sql}
    assert bounds
    for sql, answer in bounds.items():
        assert answer == str(sum(rate > float(sql.rpartition("> ")[2]) for rate in rates))
    busiest = [question for question in balanced if "GROUP BY" in question.sql]
    assert {(question.question, question.answer) for question in busiest} == {
        ("hiccupitis: whose most", "Ada Zwick, 2"), ("yawning: whose most", "Bo Ypsilon, 1"),
        ("snorex: whose most", "Di Ulm, 1"),
    }  # fmt: skip
    assert {question.criterion for question in busiest} == {"short", "long"}
    card = (folder / "dataset/README.md").read_text()
    assert "A person wrote SQL templates" in card
    assert "A model" not in card
    assert not read_rows(folder / "profiles.parquet", EntityProfile)
    assert set(run(root, "grammar-report@clinic").values()) == {"fresh", "ran"}

    # With an assessment, the requested entities get documents, without an entry in `entities`.
    params = load_yaml(root / "params.yaml")
    params["assessments"] = {"c": {"database": "clinic", "system": "good", "llm_only": "c"}}
    (root / "params.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(params))))
    states = run(root, "grammar-profiles@clinic")
    assert states.pop("grammar-profiles@clinic") == "ran"
    profiles = read_rows(folder / "profiles.parquet", EntityProfile)
    assert {profile.table for profile in profiles} == {"clinics", "doctors"}


def test_a_broken_line_is_named_and_nothing_is_imported(root, capsys):
    before = (root / "params.yaml").read_text()
    lines = [*LINES, {**TOWN, "sql": "SELECT clinics.city FROM clinics"}]
    with pytest.raises(BadInput, match=r"mine.jsonl: 1 of 4 lines cannot be used; nothing was imported"):
        import_templates(root, lines, instead=True)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "mine.jsonl, line 4: unknown_name: column clinics.city (use only names of the schema" in said[0]
    assert (root / "params.yaml").read_text() == before
    assert not (root / "data/templates/clinic.jsonl").exists()


@pytest.mark.timeout(600)
def test_what_is_left_out_stands_among_the_dropped_rows(root):
    lines = [*LINES, {**TOWN, "sql": "DROP TABLE clinics"}, LINES[0]]
    import_templates(root, lines, database="clinic", instead=True, drop=True)
    run(root, "grammar-own-templates@clinic")
    dropped = read_rows(root / "data/grammar/clinic/own_templates.dropped.parquet", Dropped)
    assert {(row.reason, row.detail.partition(":")[0]) for row in dropped} == {
        ("not_select", "line 4"),
    }  # fmt: skip


def test_a_second_import_keeps_the_first_and_says_so(root, capsys):
    import_templates(root, LINES, instead=True)
    said = import_templates(root, LINES[:1])
    kept = ".benchloom/kept/data/templates/clinic.jsonl"
    assert f"are kept as {kept}" in capsys.readouterr().err
    assert len((root / kept).read_text().splitlines()) == 3
    assert "1 SQL templates with 2 texts, instead of" in said


@pytest.mark.parametrize(
    ("lines", "database", "said"),
    [
        (LINES, "nope", r"--database: params.yaml has no database 'nope' \(known: clinic, other\)"),
        (LINES, None, r"line 1: names no database \(known: clinic, other\)"),
        ([{**TOWN, "database": "nope"}], None, r"line 1: names a database that is not in params.yaml"),
        ([], "clinic", "is empty"),
        ([{**TOWN, "database": "other"}], None, "no such database file"),
    ],
)
def test_which_database_it_is_for_must_be_plain(root, lines, database, said):
    params = load_yaml(root / "params.yaml")
    params["databases"]["other"] = {"file": "nowhere.sqlite"}
    (root / "params.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(params))))
    with pytest.raises(BadInput, match=said):
        import_templates(root, lines, database=database, instead=True)
