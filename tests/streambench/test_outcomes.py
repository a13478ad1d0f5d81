"""Outcomes of steps: an unknown word raises where an environment gives it and where an artifact holds it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.parquet import read_rows, write_rows
from tasks.errors import BadInput, StageFailed
from tasks.streambench.environment import Feedback
from tasks.streambench.solve.stream_step import StreamStep
from tests.streambench.scripted import Scripted, StreamAsk, know_all, make_items, run_steps


def test_an_unknown_outcome_in_steps_names_artifact_row_and_word(tmp_path):
    (rows,) = run_steps(StreamAsk(know_all), make_items(2), "zero_shot").values()
    path = tmp_path / "steps.parquet"
    write_rows(path, StreamStep, rows)
    table = pq.read_table(path)
    place = table.schema.get_field_index("outcome")
    words = pa.array(["correct", "almost"], pa.string())
    pq.write_table(table.set_column(place, table.schema.field(place), words), path)
    second = table["id"][1].as_py()
    where = rf"steps\.parquet: row 2 \({second}\), outcome: 'almost' is not a known label"
    with pytest.raises(BadInput, match=where):
        read_rows(path, StreamStep)


def test_an_unknown_outcome_of_an_environment_names_the_step_and_the_word(monkeypatch):
    async def say_almost(environment, item, answer, *, row):
        return Feedback(False, "almost", environment.say(False))

    monkeypatch.setattr(Scripted, "feedback", say_almost)
    with pytest.raises(StageFailed, match=r"step \w{16}: .*'almost' is not a Outcome label: expected one of"):
        run_steps(StreamAsk(know_all), make_items(2), "zero_shot")
