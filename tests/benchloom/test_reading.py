"""Tests of reading projects and datasets from Python: the examples of docs/python.md, and missing data."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import benchloom
from tests.benchloom.scenes import ROOT
from tests.benchloom.shop import make_shop

PAGE = ROOT / "docs/python.md"
SHOWN = """
assert scores.figures == {"em": 0.5, "f1": 0.5}, scores
assert forecast.stages == () and forecast.usd.exact, forecast
assert "grammar-dataset@shop" in set(stages.stage), stages
assert build_dataset.fn("shop").state.tolist() == ["fresh"]
try:
    test_the_new_prompt_is_no_worse()
except benchloom.CommandFailed as error:
    assert "data/evaluations/old" in str(error), error
else:
    raise AssertionError
assert len(questions) > 10 and per_template.sum() == len(questions), len(questions)
assert list(calls.columns[:3]) == ["artifact", "id", "stage"] and len(calls) == 0
assert figures.label[0] == "question/answer pairs" and figures.value[0] == len(questions), figures
assert len(rows) > 0 and len(sources) > 0
assert default.id.tolist() == questions.id.tolist()
assert set(questions.group) <= set(groups.column("id").to_pylist())
assert set(made_from.kind) >= {"row"} and made_from.reference[0] == f"balanced#{default.id[0]}"
try:
    benchloom.samples(name="shpo")
except benchloom.Unreadable as error:
    assert "of 'shpo' do not exist (known: databases.shop, shop)" in str(error), error
else:
    raise AssertionError
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A user's project with one small database, whose dataset was made from hand-written templates."""
    return make_shop(tmp_path_factory.mktemp("reading"), "grammar-dataset@shop", "grammar-report@shop")


@pytest.mark.drill
def test_the_examples_of_the_page_read_a_project_and_its_dataset(shop):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)) + SHOWN
    launch = f"import sys; sys.path.append({str(ROOT)!r})\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", launch + code], cwd=shop, env={"PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_importing_it_imports_nothing_that_reads():
    heavy = "('pyarrow', 'pandas', 'yaml')"
    code = f"import sys, benchloom; dir(benchloom); print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'smaples'"):
        _ = benchloom.smaples


def write_dataset(folder: Path, text: str = "{}\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: a\n- config_name: b\n  default: true\n---\n"
    )
    (folder / "a.jsonl").write_text('{"id": "1", "origin": [{"kind": "row", "reference": "b#2"}]}\n')
    (folder / "b.jsonl").write_text(text)
    return folder


def test_a_dataset_is_read_by_its_card(tmp_path):
    folder = write_dataset(tmp_path / "set", '{"id": "2", "origin": [{"kind": "call", "reference": "c0"}]}\n')
    assert benchloom.samples(folder).id.tolist() == ["2"]
    assert benchloom.samples(folder, "a", form="arrow").column("id").to_pylist() == ["1"]
    walked = benchloom.lineage("a", "1", place=folder)
    assert walked[["kind", "reference"]].values.tolist() == [["row", "a#1"], ["row", "b#2"], ["call", "c0"]]
    assert [list(made) for made in walked.made_from] == [["b#2"], ["c0"], []]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda at: benchloom.samples(at / "nowhere"), "nowhere: does not exist"),
        (lambda at: benchloom.samples(at), "is neither a Benchloom project nor a dataset's folder"),
        (
            lambda at: benchloom.samples(at / "set", "c"),
            r"configurations of 'c' do not exist \(known: a, b\)",
        ),
        (lambda at: benchloom.samples(at / "set"), r"b\.jsonl: cannot be read: "),
        (
            lambda at: benchloom.samples(at / "set", "a", form="polars"),
            "form='polars': expected `pandas` or `arrow`",
        ),
        (lambda at: benchloom.calls(at / "set"), "contains no calls"),
        (lambda at: benchloom.figures(at), r"contains no report\.json"),
        (lambda at: benchloom.lineage("a", "9", place=at / "set"), r"a has no row '9'"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(read, said, tmp_path):
    write_dataset(tmp_path / "set", "no json\n")
    with pytest.raises(benchloom.Unreadable, match=said) as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)
