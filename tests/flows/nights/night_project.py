"""Helpers for tests of nightly runs: git commands, parameters, and running one night."""

import subprocess

from flows.settings import set_params
from tests.flows.sample import Sample

GROUND = ("grammar-assessment@films-weak", "grammar-contracts@films")
"""Stages that a nightly run of `films-weak` depends on."""


def run_git(sample: Sample, *words: str) -> str:
    own = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(sample.root), *own, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit(sample: Sample, message: str) -> None:
    run_git(sample, "add", "--all")
    run_git(sample, "commit", "-q", "-m", message)


def list_branches(sample: Sample) -> list[str]:
    return run_git(sample, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/nightly/").split()


def set_param(sample: Sample, assignment: str) -> None:
    set_params(sample.root, [assignment])


def run_night(sample: Sample, *words: str) -> subprocess.CompletedProcess[str]:
    return sample.call("flows.cli", "nightly", "once", "--plain", *words)
