from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import BadInput
from tasks.scoring import ds1000_environment
from tasks.scoring.ds1000 import DS1000, extract_code, list_libraries
from tasks.scoring.ds1000_environment import find_interpreter, locate_environment, make_environment
from tasks.scoring.running import score_file
from tests.scoring.test_sandbox import needs_bwrap

# In the published layout, the prediction replaces [insert] in the problem's program.
CONTEXT = '''
import copy

def generate_test_case(number):
    return [3, 1, 2], [1, 2, 3]

exec_context = r"""
import json
values = test_input
[insert]
"""

def test_execution(solution: str):
    code = exec_context.replace("[insert]", solution)
    test_input, expected = generate_test_case(1)
    environment = {"test_input": copy.deepcopy(test_input)}
    exec(code, environment)
    assert environment["result"] == expected
'''
NO_LOOPS = (
    CONTEXT
    + """
def test_string(solution: str):
    assert "for" not in solution
"""
)
RIGHT, LOOP = "result = sorted(values)", "result = []\nfor v in (1, 2, 3): result.append(v)"


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the tests' environment, since the programs above need only the standard library."""
    monkeypatch.setenv("BENCHLOOM_DS1000", sys.prefix)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = 1", "x = 1"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("```py\nx = 1", "x = 1"),
        ("First:\n```Python\nx = 1\n```\nor\n```python\nx = 2\n```", "x = 1\n"),
        ("```bash\npip install x\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```bash\npip install x\n```", "```bash\npip install x\n```"),
        ("", ""),
    ],
)
def test_the_first_python_block_counts(text: str, code: str) -> None:
    assert extract_code(text) == code


def test_libraries_are_found_in_the_context_and_in_its_inner_program() -> None:
    assert list_libraries(CONTEXT) == ["copy", "json"]
    assert list_libraries("def f():\n  from a.b import c\n  from . import d\n'[insert] import no'") == ["a.b"]
    assert list_libraries("no python (") == []


@needs_bwrap
@pytest.mark.usefixtures("own_environment")
def test_each_outcome(tmp_path: Path) -> None:
    expected: list[tuple[str, Any, str | None, float | None]] = [
        (CONTEXT, RIGHT, "correct", 1),
        (CONTEXT, f"Sure:\n```python\n{RIGHT}\n```", "correct", 1),
        (CONTEXT, LOOP, "correct", 1),
        (NO_LOOPS, LOOP, "wrong", 0),
        (CONTEXT, "result = values", "wrong", 0),
        (CONTEXT, "result = sorted(value)", "error", 0),
        (CONTEXT, "def (", "error", 0),
        (CONTEXT, "", "error", 0),
        (CONTEXT, "import no_such_library", "error", 0),
        (CONTEXT, "raise SystemExit(0)", "error", 0),
        (CONTEXT, "while True: pass", "timeout", 0),
        ("import no_such_library\n" + CONTEXT, RIGHT, "not-run", None),
        (CONTEXT, None, None, None),
    ]
    file, out = tmp_path / "items.jsonl", tmp_path / "out.jsonl"
    file.write_text(
        "\n".join(
            json.dumps({"id": n, "code_context": context, "prediction": prediction})
            for n, (context, prediction, _, _) in enumerate(expected)
        )
        + '\n{"id": 98, "prediction": "x"}\n{"id": 99, "code_context": "", "prediction": 5}'
    )
    report = score_file(DS1000(timeout=1.5), str(file), items=out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line.get("outcome"), line["accuracy"]) for line in lines] == [case[2:] for case in expected]
    assert (report["n"], report["n_scored"], report["n_failed"], report["n_unreadable"]) == (13, 11, 2, 2)
    assert report["accuracy"] == pytest.approx(3 / 11)


@needs_bwrap
@pytest.mark.usefixtures("own_environment")
def test_a_timeout_must_be_one() -> None:
    with pytest.raises(BadInput, match="more than 0"):
        DS1000(timeout=0)


def test_without_its_environment_it_says_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHLOOM_DS1000", str(tmp_path / "none"))
    with pytest.raises(BadInput, match=r"python -m tasks\.scoring\.ds1000_environment"):
        DS1000()


def test_another_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLOOM_DS1000", str(tmp_path / "none"))
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.12\n")
    other.chmod(0o755)
    for python in (other, tmp_path / "missing"):
        with pytest.raises(BadInput, match=r"needs Python 3\.11"):
            make_environment(python=str(python))
    assert not (tmp_path / "none").exists()


def test_the_environments_place_follows_its_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHLOOM_DS1000", raising=False)
    before = locate_environment()
    monkeypatch.setattr(ds1000_environment, "REQUIREMENTS", ("pandas==1.5.4",))
    assert locate_environment() != before
    assert locate_environment().parent == before.parent


def environment_is_made() -> bool:
    try:
        python = find_interpreter()
    except BadInput:
        return False
    return (python.parent.parent / ds1000_environment.DONE).is_file()


@needs_bwrap
@pytest.mark.skipif(not environment_is_made(), reason=f"not made yet: {ds1000_environment.COMMAND}")
def test_pandas_programs_run_in_the_pinned_environment(tmp_path: Path) -> None:
    context = '''
import numpy as np
import pandas as pd

exec_context = r"""
import numpy as np
import pandas as pd
df = test_input
[insert]
"""

def test_execution(solution):
    environment = {"test_input": pd.DataFrame({"a": [1, 2], "b": [3, 4]})}
    exec(exec_context.replace("[insert]", solution), environment)
    pd.testing.assert_series_equal(environment["result"], pd.Series([4, 6]), check_dtype=False)
    assert pd.__version__ == "1.5.3" and np.__version__.startswith("1.")
'''
    libraries = "import matplotlib.pyplot as plt, scipy, seaborn, sklearn.linear_model, statsmodels.api\n"
    plot = "def test_execution(solution):\n  plt.plot([1, 2]); plt.savefig('output.png')\n"
    file = tmp_path / "items.jsonl"
    file.write_text(
        "\n".join(
            json.dumps({"id": code, "code_context": program, "prediction": code})
            for program, code in (
                (context, "result = df.sum(axis=1)"),
                (context, "result = df.sum()"),
                (libraries + plot, "plot"),
            )
        )
    )
    report = score_file(DS1000(timeout=30), str(file))
    assert (report["n_scored"], report["accuracy"]) == (3, pytest.approx(2 / 3))
