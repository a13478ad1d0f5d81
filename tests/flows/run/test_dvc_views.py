"""Tests of reports' figures in DVC's own commands: list, compare, plot."""

import json
from pathlib import Path

import pytest

from tests.flows.nights.night_project import commit
from tests.flows.sample import Sample, make_sample

REPORT = "grammar-assessment-report@films-weak"
ACCURACY = "data/metrics/grammar/films-weak"

pytestmark = pytest.mark.drill


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """One assessment of the sample with its upstream artifacts, committed."""
    made = make_sample(tmp_path_factory.mktemp("views"))
    made.run(REPORT)
    commit(made, "Begin")
    return made


def list_metrics(sample: Sample) -> dict[str, dict[str, float]]:
    """Read the figures from their files: path -> keys -> numbers."""
    files = sorted((sample.root / ACCURACY).rglob("*.json"))
    return {path.relative_to(sample.root).as_posix(): json.loads(path.read_text()) for path in files}


def test_metrics_are_shown_and_a_change_is_told(sample: Sample) -> None:
    own = list_metrics(sample)
    assert len(own) > 3
    shown = json.loads(sample.dvc("metrics", "show", "--json", ACCURACY))
    found = shown[""]["data"]
    assert {path: found[path]["data"] for path in own} == own
    path, values = next((path, values) for path, values in own.items() if "low" in values)
    text = (sample.root / path).read_text()
    try:
        (sample.root / path).unlink()  # may be a link into the cache
        (sample.root / path).write_text(json.dumps({**values, "value": values["value"] + 0.25}))
        told = json.loads(sample.dvc("metrics", "diff", "--json", "--targets", path))
        assert list(told) == [path]
        assert told[path]["value"]["old"] == values["value"]
        assert told[path]["value"]["diff"] == pytest.approx(0.25)
        table = sample.dvc("metrics", "diff", "--targets", path)
        assert Path(path).stem in table
        assert f"{values['value']:.5}"[:6] in table
    finally:
        (sample.root / path).write_text(text)


def test_plots_are_one_page_with_their_values(sample: Sample) -> None:
    drawn = sorted((sample.root / "data/plots/bars/grammar/films-weak").glob("*.csv"))
    assert drawn
    names = [path.relative_to(sample.root).as_posix() for path in drawn]
    said = sample.dvc("plots", "show", *names, "--out", "drawn")
    page = sample.root / "drawn" / "index.html"
    assert page.as_uri() in said or str(page) in said
    html = page.read_text()
    assert "films-weak" in html
    assert '"values"' in html.replace('\\"', '"')


def test_experiments_list_the_figures_with_the_parameters(sample: Sample) -> None:
    rows = sample.dvc("exp", "show", "--csv", "--no-pager").splitlines()
    assert len(rows) >= 2
    assert any(Path(path).stem in rows[0] for path in list_metrics(sample))
    assert "grammar" in rows[0]
