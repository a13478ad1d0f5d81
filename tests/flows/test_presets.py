"""Tests of presets: they fill in values that params.yaml does not set; DVC sees only changed values."""

import copy
import shutil
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from flows.commands.cli_columns import join_reasons
from flows.presets import (
    DEFAULT,
    EACH,
    KEY,
    PRESETS,
    TABLE,
    fill_presets,
    list_cells,
    list_chosen,
    list_lines,
    list_preset_flows,
)
from flows.settings import load_params, set_params
from tasks.errors import BadInput

ROOT = Path(__file__).parents[2]
WRITTEN = yaml.safe_load((ROOT / "params.yaml").read_text())
PAPER = PRESETS[-1]


def select(preset, **sections):
    """Return the shipped params.yaml under a preset of all flows, with other sections of a flow."""
    params = copy.deepcopy(WRITTEN)
    for flow in list_preset_flows():
        params[flow][KEY] = preset
    for flow, part in sections.items():
        params[flow].update(part)
    return params


def find(params, keys):
    """Yield the values at the keys of a table line; EACH matches every name."""
    if not keys:
        yield params
        return
    first, *rest = keys
    for name in params if first == EACH else [first]:
        if name in params:
            yield from find(params[name], rest)


def test_params_yaml_gives_no_value_that_a_preset_fills_in():
    given = [line.keys for line in list_lines() if line.fills and list(find(WRITTEN[line.flow], line.keys))]
    assert given == []  # such a value would override every preset


def test_a_value_in_params_yaml_holds_under_every_preset():
    given = {"interactions": {**WRITTEN["longform"]["interactions"], "queries": 7}}
    for preset in PRESETS:
        filled = fill_presets(select(preset, longform=given))
        assert filled["longform"]["interactions"]["queries"] == 7
    assert filled["longform"]["interactions"]["rounds"] == 16


def test_null_in_params_yaml_is_a_value():
    given = {"interactions": {"queries": None}}
    assert fill_presets(select(DEFAULT, longform=given))["longform"]["interactions"]["queries"] is None


def test_a_mapping_that_params_yaml_lacks_is_not_made():
    criteria = {"criteria": {"short": {"prompt": "texts/short"}}}
    filled = fill_presets(select(PAPER, grammar={"text_templates": criteria}))["grammar"]
    assert filled["text_templates"]["criteria"] == {"short": {"prompt": "texts/short", "samples": 3}}
    assert fill_presets({"longform": {"preset": "paper"}}) == {"longform": {"preset": "paper"}}
    assert fill_presets({"longform": {"construct": None}}) == {"longform": {"construct": None}}


def test_other_values_than_the_papers_are_named():
    given = {"confirm": {"least": 2}, "construct": {"tables": 5, "borne_out": True}}
    (chosen,) = list_chosen({"longform": {"preset": "paper", **given}}, {"longform"})
    assert chosen.describe() == (
        "longform: preset paper; params.yaml sets 2 other values:\n"
        "  longform.construct.tables: 5, not null (2.2: the original database's CREATE statements)\n"
        "  longform.confirm.least: 2, not 3 (2.1: all predefined criteria)"
    )
    assert list_chosen({"longform": {"preset": "paper"}}, {"tanq"}) == []
    assert list_chosen({"longform": given}, {"longform"}) == []


def test_entries_are_compared_one_by_one():
    (chosen,) = list_chosen(select(PAPER), {"tanq"})
    names = {override.name: override.written for override in chosen.overrides}
    assert names["tanq.evaluations.sample.shots"] == [0, 1]
    assert names["tanq.evaluations.sample.items"] == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("longform:\n  preset: papr\n", r"line 2: longform.preset: is not a preset \(did you mean 'paper'\?"),
        (
            "longform:\n  preset: [paper]\n",
            r"line 2: longform.preset: is not a preset \(known: sample, paper",
        ),
        ("longform:\n  preset:\n", "line 2: longform.preset: is not a preset"),
        (
            "preset: paper\n",
            r"line 1: preset: must be in the section of a flow \(write `grammar: {preset: paper}`\)",
        ),
    ],
)
def test_a_preset_that_is_none_is_one_line(tmp_path, text, message):
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(BadInput, match=message):
        load_params(tmp_path)


def test_a_preset_of_a_flow_without_presets_is_one_line():
    message = r"trial.preset: the flow trial has no presets \(flows with presets: grammar, longform"
    with pytest.raises(BadInput, match=message):
        fill_presets({"trial": {"preset": "paper"}}, ["longform", "trial"])
    assert fill_presets({"mine": {"preset": "paper"}}, ["longform"]) == {"mine": {"preset": "paper"}}


def test_set_switches_a_preset_and_gives_a_value(tmp_path):
    (tmp_path / "params.yaml").write_text("longform:\n  construct: {rows: 4} # of a group\n")
    set_params(tmp_path, ["longform.preset=paper", "longform.construct.tables=6"])
    params = load_params(tmp_path)
    assert params["longform"]["construct"] == {"rows": 4, "tables": 6, "borne_out": True}
    assert params.written["longform"] == {"construct": {"rows": 4, "tables": 6}, "preset": "paper"}
    assert "# of a group" in (tmp_path / "params.yaml").read_text()
    with pytest.raises(BadInput, match="no such parameter"):
        set_params(tmp_path, ["longform.construct.chairs=6"])


def test_a_stage_depends_on_the_lines_of_what_it_reads():
    params = {"longform": {"preset": "paper"}}
    assert list_cells(params, ["longform.construct", "models"]) == [
        "longform.construct.tables.${longform.preset}",
        "longform.construct.borne_out.${longform.preset}",
    ]
    assert list_cells({}, ["longform.construct"])[0] == "longform.construct.tables.sample"
    assert list_cells(params, ["longform.sets.${key}", "longform.confirm", "roles"]) == []
    assert "grammar.questions.texts.sample" in list_cells({}, ["grammar"])


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with three stages of the committed graph: parameters, and commands without effect."""
    declared = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    stages = {}
    for name in ("longform-construct", "longform-reviews", "longform-confirm"):
        listed = [
            part
            for part in declared[name]["do"]["params"]
            if part in (name.replace("-", "."),) or TABLE in part
        ]
        stages[name] = {"cmd": "true", "params": listed}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc" / "config").write_text("[core]\n    no_scm = True\n    analytics = false\n")
    (tmp_path / TABLE).parent.mkdir()
    shutil.copy(ROOT / TABLE, tmp_path / TABLE)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"longform": WRITTEN["longform"]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_dvc_sees_a_switch_as_a_change_of_the_values_that_differ(project):
    with Repo(str(project)) as repo:
        repo.reproduce()
        assert repo.status() == {}
    set_params(project, ["longform.preset=paper"])
    with Repo(str(project)) as repo:
        stale = repo.status()
        assert set(stale) == {"longform-construct", "longform-reviews"}  # confirm: 3 of 3 in both presets
        (changed,) = stale["longform-construct"]
        assert set(changed["changed deps"][TABLE]) == {
            "longform.construct.tables.paper", "longform.construct.borne_out.paper"
        }  # fmt: skip
        repo.reproduce()
        assert repo.status() == {}
    set_params(project, ["longform.reviews.prompt_tokens=2500"])
    with Repo(str(project)) as repo:
        assert set(repo.status()) == {"longform-reviews"}


def test_a_reason_names_the_preset():
    why = ["longform.construct.tables.paper in tasks/presets.yaml new", "data/raw/films modified"]
    assert join_reasons(why) == "longform.construct.tables by preset paper; data/raw/films modified"
