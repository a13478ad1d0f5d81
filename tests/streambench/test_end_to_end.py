"""Tests of a text-to-SQL stream from folders to page, with real stages and a scripted model."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.rows import Counts
from tasks.sources.stream_dataset import DatasetHead, DatasetItem, DatasetShot, write_dataset
from tasks.streambench.entries import Stream, StreamEvaluation
from tasks.streambench.solve.stream_step import StreamStep
from tests.packages import read_example
from tests.streambench.methods_folder import copy_methods
from tests.streambench.whole_stream import ScriptedModels, Whole, run_stages

PETS = 6
ENTRY = Stream(datasets=("cats", "dogs"), seeds=(42, 7), shots=2, rule="streambench")
METHODS = (
    "zero_shot", "few_shot", "chain", "self_refine", "grow_prompt", "mem_prompt", "self_stream_icl",
    "mam_stream_icl", "last_right",
)  # fmt: skip
OF_SHOT = f"How old is number {PETS}?"
EVALUATION = StreamEvaluation(stream="pets", methods=METHODS, models=("agent", "second_agent"), k=2)
KNOWN = "How old is number 0?"
"""The only question about an age that the model can answer without an example."""


class SqlModel(ScriptedModels):
    """Writes correct queries for names, and for ages if the prompt contains a correct query for an age."""

    def say(self, prompt: str, messages: Sequence[Mapping[str, str]], fields: Mapping[str, Any]) -> str:
        if prompt == "critique":
            return "NO NEED TO REFINE"
        said = self.write_query("\n".join(message["content"] for message in messages))
        reasons = "Answer:" in messages[-1]["content"]
        return f"It has one table.\nAnswer:\n```sql\n{said}\n```" if reasons else said

    def write_query(self, text: str) -> str:
        past, _, question = text.rpartition("Question: ")
        asked = question.partition("\n")[0]
        number = asked.removesuffix("?").rpartition(" ")[2]
        if asked.startswith("How old") and asked != KNOWN and "SELECT age" not in past:
            return f"SELECT name FROM pets WHERE id = {number}"
        column = "age" if asked.startswith("How old") else "name"
        return f"SELECT {column} FROM pets WHERE id = {number}"


def write_pets(folder: Path, name: str) -> None:
    file = folder / f"{name}.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
        connection.executemany(
            "INSERT INTO pets VALUES (?, ?, ?)", [(n, f"{name} {n}", 3 + n) for n in range(PETS + 1)]
        )
        connection.commit()
    asked = [
        (text, f"SELECT {column} FROM pets WHERE id = {n}")
        for n in range(PETS)
        for column, text in (("age", f"How old is number {n}?"), ("name", f"What is the name of number {n}?"))
    ]
    write_dataset(
        folder / "raw" / name,
        DatasetHead(name, "sql", f"Questions over {name}", "CC0", "here", ""),
        [
            DatasetItem(
                f"q{place:02}", text, text, "CREATE TABLE pets (id, name, age)", gold, {"db_id": name},
                f"files/{name}/{name}.sqlite",
            )
            for place, (text, gold) in enumerate(asked)
        ],
        [DatasetShot("s0", OF_SHOT, OF_SHOT, f"SELECT age FROM pets WHERE id = {PETS}")],
        {f"{name}/{name}.sqlite": file},
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pets")
    for name in ENTRY.datasets:
        write_pets(folder, name)
    methods = folder / "methods"
    with copy_methods(methods):
        (methods / "last_right.py").write_text(read_example("A method"))
        yield run_stages(folder, folder / "raw", ENTRY, EVALUATION, SqlModel())


def test_each_bit_is_what_the_script_makes_of_what_was_shown(whole: Whole) -> None:
    assert len(whole.steps) == 4 * PETS * 2 * (8 * 2 + 1)
    for step in whole.steps:
        item = whole.items[step.item]
        prompts = [json.loads(whole.calls[key].messages)[-1]["content"] for key in step.calls]
        taught = "SELECT age" in prompts[0]
        knows = item.text == KNOWN or not item.text.startswith("How old")
        assert step.bit is (knows or taught), (step.run, item.text)
        assert step.outcome == ("correct" if step.bit else "wrong")


def test_methods_with_a_memory_learn_what_others_never_do(whole: Whole) -> None:
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for step in whole.steps:
        right[step.method].append(step.bit)
    ages = 2 * PETS
    for method in ("zero_shot", "chain", "self_refine"):
        assert sum(right[method]) / len(right[method]) == pytest.approx((ages + 2) / (4 * PETS))
    assert all(right["few_shot"]), "an example about an age is among the shots"
    for method in ("self_stream_icl", "mam_stream_icl", "mem_prompt", "last_right"):
        assert sum(right[method]) / len(right[method]) > (ages + 2) / (4 * PETS), method


def test_the_report_has_all_methods_with_their_means_ones_own_among_them(whole: Whole) -> None:
    by_run: defaultdict[str, list[StreamStep]] = defaultdict(list)
    for step in whole.steps:
        by_run[step.method].append(step)
    lines = whole.figures["tables"]["means"]["lines"]
    assert len(lines) == len(METHODS)
    told = sorted(line["cells"][0]["value"] for line in lines)
    plain = sorted(sum(step.bit for step in run_steps) / len(run_steps) for run_steps in by_run.values())
    assert told == pytest.approx(plain)
    (own,) = [line for line in lines if "last_right" in line["label"]]
    bits = [step.bit for step in by_run["last_right"]]
    assert own["cells"][0]["value"] == pytest.approx(sum(bits) / len(bits))
    html = (whole.page / "index.html").read_text()
    assert "last_right" in html
    assert "MAM-StreamICL" in html


def test_the_page_walks_every_step_with_its_prompt(whole: Whole) -> None:
    assert whole.counts == Counts(len(whole.steps), len(whole.steps), {})
    files = [path.read_text() for path in sorted(whole.page.glob("run-*.js"))]
    assert len(files) == 2 * (8 * 2 + 1)
    for step in whole.steps:
        assert sum(f'"{step.id}"' in text for text in files) >= 1, step.run
    assert any("SELECT age FROM pets" in text and "earlier tasks" in text for text in files)
