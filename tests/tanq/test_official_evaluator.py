"""Drill: TANQ's own evaluator gives the figures of `benchloom score rms` on the output of `publish`.

`BENCHLOOM_TANQ_CODE`: a checkout of github.com/google-deepmind/tanq, which is not part of this project.
`BENCHLOOM_TANQ_PYTHON`: a Python with the evaluator's dependencies (absl, tensorflow, pix2struct, scipy), by
default the Python of the tests.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.scoring.registry import make_metric
from tasks.scoring.running import score_file
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.publish.released import write_released
from tasks.tanq.solve.prediction import Prediction
from tests.tanq.table_items import make_item
from tests.tanq.test_released import ITEMS, predict

CODE = os.environ.get("BENCHLOOM_TANQ_CODE", "")
PYTHON = os.environ.get("BENCHLOOM_TANQ_PYTHON", sys.executable)
KEY = "prediction_table"
FIGURES = ("precision", "recall", "f1")
SAMPLE = Path(__file__).parents[2] / "data/tanq/sample"
PIECES = ["entity", "Title", "title ", "a", "Norway", "Oslo", "12", "11.5", "3%", "", " ", "Sámi", "new york",
          "new yorc", "0"]  # fmt: skip

pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(not CODE, reason="BENCHLOOM_TANQ_CODE names no checkout of TANQ's code"),
]


def evaluate(path: Path, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Run the official evaluator on a file of records; return the total figures, and figures per record."""
    package = folder / "package"
    package.mkdir(exist_ok=True)
    if not (package / "tanq").exists():
        (package / "tanq").symlink_to(Path(CODE).absolute())  # the evaluator imports itself as package `tanq`
    out, samples = folder / "figures.json", folder / "samples.json"
    done = subprocess.run(
        [PYTHON, "-m", "tanq.evaluate_tanq", f"--input_path={path}", f"--prediction_key={KEY}",
         f"--output_path={out}", f"--sample_output_path={samples}"],
        cwd=package, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text()), json.loads(samples.read_text())


def compare(path: Path, folder: Path) -> int:
    """Compare official figures of a file with Benchloom's, in total and per record."""
    figures, samples = evaluate(path, folder)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert samples.keys() == {record["init_qid"] for record in records}, "none overwrites another's"
    lines, each = folder / "lines.jsonl", folder / "each.jsonl"
    given = [
        {"id": record["init_qid"], "gold": record["answer_table"], "prediction": record[KEY]}
        for record in records
    ]
    lines.write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
    report = score_file(make_metric("rms", {}), str(lines), rule="released", items=each)
    ours = {row["id"]: row for row in map(json.loads, each.read_text().splitlines())}
    for name, official in samples.items():
        found = [ours[name][figure] for figure in FIGURES]
        assert found == pytest.approx([official[figure] for figure in FIGURES]), official
    assert [100 * report[figure] for figure in FIGURES] == pytest.approx(
        [figures[f"table_datapoints_{figure}"] for figure in FIGURES]
    )
    return len(records)


def test_our_export_scores_the_same(tmp_path: Path) -> None:
    write_rows(tmp_path / "items.parquet", TanqItem, ITEMS)
    write_rows(tmp_path / "predictions.parquet", Prediction, predict(ITEMS))
    write_released(tmp_path / "items.parquet", tmp_path / "predictions.parquet", KEY, tmp_path)
    assert compare(tmp_path / "test.system-own-1.jsonl", tmp_path) == len(ITEMS) - 1


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="`make reproduce` makes the sample")
def test_the_samples_evaluation_scores_the_same(tmp_path: Path) -> None:
    given = (SAMPLE / "items.parquet", SAMPLE / "sample/predictions.parquet")
    write_released(*given, KEY, tmp_path)
    asked = [row for row in read_rows(given[1], Prediction) if not row.failed]
    assert sum(compare(path, tmp_path) for path in sorted(tmp_path.glob("test.*.jsonl"))) == len(asked)


def test_tables_of_any_text_score_the_same(tmp_path: Path) -> None:
    dice = random.Random(7)
    records = []
    for number in range(3_000):
        table = "\n".join(
            "|".join(dice.choice(PIECES) for _ in range(dice.randint(1, 4)))
            for _ in range(dice.randint(0, 4))
        )
        gold = make_item("x", ["Norway", "Sweden"]).answer_table + dice.choice(["", "\n"])
        records.append(
            {
                "init_qid": f"{number}__simple", "ext_question_rephrased": "?",
                "answer_table": dice.choice([gold, table]),
                KEY: dice.choice([table, gold.replace("Oslo", dice.choice(PIECES))])
                + dice.choice(["", "\n", "\n\n"]),
            }
        )  # fmt: skip
    path = tmp_path / "any.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert compare(path, tmp_path) == len(records)
