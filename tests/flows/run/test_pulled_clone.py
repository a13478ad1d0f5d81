"""Tests that a pulled clone of the sample is fresh and traceable without installed data packages."""

import subprocess
from pathlib import Path

import pytest

from tasks.sources.packages import FILES
from tests.flows.nights.night_project import commit
from tests.flows.sample import Sample, make_sample

WITHOUT = """\
import sys


class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(name + " is not installed here")


sys.meta_path.insert(0, Without())
"""

pytestmark = pytest.mark.drill


def take_packages_away(sample: Sample, place: Path) -> None:
    """Hide the data packages from processes of this sample, as if they were not installed."""
    place.mkdir()
    (place / "sitecustomize.py").write_text(WITHOUT.format(names={file.package for file in FILES}))
    sample.environment["PYTHONPATH"] = f"{sample.root}:{place}"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    place = tmp_path_factory.mktemp("pulled")
    made = make_sample(place / "first")
    made.run()
    made.edit(
        ".dvc/config",
        lambda text: (
            text.replace("[core]", "[core]\n    remote = store")
            + f"['remote \"store\"']\n    url = {place / 'store'}\n"
        ),
    )
    made.dvc("push", "--run-cache")
    commit(made, "Begin")
    subprocess.run(["git", "clone", "-q", str(made.root), str(place / "second")], check=True)
    second = Sample(place / "second")
    take_packages_away(second, place / "without")
    return second


def test_the_packages_are_not_there(clone: Sample) -> None:
    done = clone.call("flows.cli", "stage", "sources.packages")
    assert done.returncode != 0
    assert "is not installed here" in done.stderr


def test_it_is_fresh_runs_nothing_and_traces_a_figure_to_a_package(clone: Sample) -> None:
    clone.dvc("pull", "--run-cache")
    status = clone.call("flows.cli", "status")
    assert "All stages are fresh." in status.stdout, status.stdout + status.stderr
    before = clone.artifacts()
    said = clone.run()
    assert " ran" not in said
    (clone.root / "data/raw/packages/movies.db").unlink()
    assert "1 from the run cache" in clone.run()
    assert clone.artifacts() == before
    figure = "data/reports/grammar/films-weak/report.json#/figures/0"
    traced = clone.call("flows.cli", "lineage", figure)
    assert traced.returncode == 0, traced.stderr
    assert "package=bokeh_sampledata" in traced.stdout
    assert "no gap" in traced.stdout
