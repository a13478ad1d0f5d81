"""Tests that the deployment of nightly runs accepts no parameters from clients of Prefect's server."""

import inspect

import pytest

from flows.nights import deployment
from flows.run.origin import HERE


def test_a_night_takes_no_parameter_and_runs_the_code_that_it_is(monkeypatch):
    ran = []
    monkeypatch.setattr(deployment, "run_once", lambda root, report: ran.append(root))
    monkeypatch.setattr(deployment, "get_run_logger", lambda: type("Log", (), {"info": print}))
    deployment.night.fn()
    assert ran == [HERE]
    assert not inspect.signature(deployment.night.fn).parameters
    with pytest.raises(TypeError):
        deployment.night.fn(root="/somewhere/else")
    assert deployment.night.should_validate_parameters
    with pytest.raises(Exception, match="root"):
        deployment.night.validate_parameters({"root": "/somewhere/else"})
