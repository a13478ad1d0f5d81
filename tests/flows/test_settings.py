import json
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from flows.lineage.openlineage import Destination
from flows.night_settings import Nightly
from flows.run.model_settings import read_run
from flows.settings import find_project, get_section, load_params, parse_database, parse_section, set_params
from tasks.errors import BadInput

PARAMS = """\
# the knobs
roles:
  generator: {temperature: 1.0, seed: 0} # as in the paper
run:
  workers: 4
"""


class Generator(BaseModel):
    model_config = ConfigDict(extra="forbid")
    temperature: float
    seed: int


@pytest.fixture
def root(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    return tmp_path


def test_set_edits_in_place_and_keeps_comments(root):
    set_params(root, ["roles.generator.temperature=0.5", "run.workers=2"])
    text = (root / "params.yaml").read_text()
    assert text.splitlines()[0] == "# the knobs"
    assert "# as in the paper" in text
    assert load_params(root)["roles"]["generator"] == {"temperature": 0.5, "seed": 0}
    assert load_params(root)["run"]["workers"] == 2


def test_set_adds_an_entry_where_the_keys_are_names(root):
    set_params(root, ["roles.judge={temperature: 0.0, seed: 1}", "roles.judge.seed=2"])
    assert load_params(root)["roles"]["judge"] == {"temperature": 0.0, "seed": 2}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("roles.generator", "is not of the form KEY=VALUE"),
        ("roles.judge.seed=1", "has no section 'judge'"),
        ("roles.generator.temprature=1", "no such parameter .known: temperature, seed"),
    ],
)
def test_a_wrong_assignment_is_named_and_changes_nothing(root, assignment, message):
    with pytest.raises(BadInput, match=message):
        set_params(root, [assignment])
    assert (root / "params.yaml").read_text() == PARAMS


def test_broken_yaml_is_named_with_its_line(root):
    (root / "params.yaml").write_text("run:\n  workers: [4\n")
    with pytest.raises(BadInput, match=r"params.yaml, line 3: is not valid YAML"):
        load_params(root)


def test_an_unknown_parameter_is_refused_by_name(root):
    with pytest.raises(
        BadInput,
        match=r"roles.generator.sed: no such key \(did you mean 'seed'\? known: temperature, seed\)",
    ):
        parse_section(
            {"roles": {"generator": {"temperature": 1, "seed": 1, "sed": 2}}}, "roles.generator", Generator
        )


def test_a_missing_section_is_empty():
    assert get_section({"a": {"b": 1}}, "a.c.d") == {}


def test_the_project_is_found_from_below(root):
    (root / "data" / "deep").mkdir(parents=True)
    assert find_project(root / "data" / "deep") == root


def test_outside_a_project_there_is_one_clear_line(tmp_path):
    with pytest.raises(BadInput, match="is not in a Benchloom project"):
        find_project(tmp_path)


def test_a_section_that_a_flow_fans_out_over_may_be_set_before_it_is_there(tmp_path):
    (tmp_path / "params.yaml").write_text("databases: {}\n")
    set_params(tmp_path, ["ragcheck.sets.mine={kind: lines, path: data/mine}"])
    assert load_params(tmp_path)["ragcheck"] == {"sets": {"mine": {"kind": "lines", "path": "data/mine"}}}
    set_params(tmp_path, ["grammar.fill_in={cap: 3}"])
    assert load_params(tmp_path).written["grammar"] == {"fill_in": {"cap": 3}}
    with pytest.raises(BadInput, match="no section 'ragchekc'"):
        set_params(tmp_path, ["ragchekc.sets.mine=1"])
    with pytest.raises(BadInput, match="no such parameter"):
        set_params(tmp_path, ["ragcheck.jugding=1"])


VARIABLE_NAMES = {
    "run.endpoints.hosted.key_env": read_run,
    "run.endpoints.hosted.headers.api-key": read_run,
    "run.systems.mine.key_env": read_run,
    "run.openlineage.key_env": lambda params: parse_section(params, "run.openlineage", Destination),
    "nightly.webhook.url_env": lambda params: parse_section(params, "nightly", Nightly),
    "databases.shop.password_env": lambda params: parse_database(params, "shop"),
}
NO_NAMES = ["A\nLD_PRELOAD=/tmp/x.so", "A=1", "sk-the-secret", "1A", "", " A", "A ", "A\n", "Ä", "A$B", "A\0"]


@pytest.mark.parametrize("place", VARIABLE_NAMES)
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_setting_that_names_no_environment_variable_is_refused_in_a_line(place, name):
    section, entry, *keys = place.split(".")
    settings = {"url": "https://host/v1"} if section == "run" and entry != "openlineage" else {}
    params = {section: {entry: {"file": "shop.sqlite"} if entry == "shop" else {}}}
    inner = params[section][entry]
    for key in keys[:-1]:
        inner = inner.setdefault(key, settings if key in ("hosted", "mine") else {})
    inner[keys[-1]] = name
    with pytest.raises(BadInput) as refused:
        VARIABLE_NAMES[place](params)
    line = str(refused.value)
    assert place in line
    assert "is not the name of an environment variable" in line
    assert "\n" not in line
    assert not name.strip() or name not in line.replace(place, "").split(": ", 1)[1].split()
    inner[keys[-1]] = "_Key_2"
    VARIABLE_NAMES[place](params)


def test_every_setting_that_names_a_variable_says_so_in_the_schema():
    schema = json.loads((Path(__file__).parents[2] / "params.schema.json").read_text())

    def find(part):
        if isinstance(part, dict):
            for key, value in part.get("properties", {}).items():
                if key.endswith("_env"):
                    yield key, value
            for value in part.values():
                yield from find(value)

    found = list(find(schema))
    assert len(found) >= 5
    assert all("^[A-Za-z_][A-Za-z0-9_]*$" in json.dumps(value) for _, value in found)
