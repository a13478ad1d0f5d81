"""Tests that prefect.yaml is generated from `nightly` in params.yaml, and keeps a user's own deployments."""

from pathlib import Path

import pytest
import yaml

from flows.prefect_file import OWN, PREFECT_YAML, compare_deployments
from flows.settings import load_params
from tasks.errors import BadInput

ROOT = Path(__file__).parents[2]
MINE = "  - {name: mine, entrypoint: 'mine.py:mine', work_pool: {name: mine}}\n"


def test_the_committed_file_is_what_params_say():
    before, after = compare_deployments(ROOT, load_params(ROOT))
    assert before == after


def test_it_has_the_schedule_which_rests_while_there_is_nothing_to_ask(tmp_path):
    nightly = {"cron": "30 4 * * 1", "timezone": "Europe/Berlin"}
    for assessments, active in (([], False), (["films"], True)):
        _, text = compare_deployments(tmp_path, {"nightly": {**nightly, "assessments": assessments}})
        (deployment,) = yaml.safe_load(text)["deployments"]
        assert deployment["schedules"] == [{**nightly, "active": active}]
        path, _, function = deployment["entrypoint"].partition(":")
        assert f"def {function}(" in (ROOT / path).read_text()


def test_deployments_below_the_line_stay(tmp_path):
    _, text = compare_deployments(tmp_path, {})
    assert OWN in text
    (tmp_path / PREFECT_YAML).write_text(text + MINE)
    before, after = compare_deployments(tmp_path, {"nightly": {"cron": "* * * * *"}})
    assert before != after
    assert [deployment["name"] for deployment in yaml.safe_load(after)["deployments"]] == ["nightly", "mine"]
    assert after.endswith(MINE)


def test_a_time_zone_that_is_none_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"nightly\.timezone.*'Mars' is not a time zone"):
        compare_deployments(tmp_path, {"nightly": {"timezone": "Mars"}})
