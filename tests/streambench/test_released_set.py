"""Tests of StreamBench's release: import, the order of `datasets`, and streams."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import Dataset
from typer.testing import CliRunner

from flows.commands.import_ import app
from tasks.errors import BadInput
from tasks.sources.importers.streambench import CONFIGURATIONS, DIAGNOSES
from tasks.sources.stream_dataset import DatasetHead, DatasetItem, SplitRows, digest_file, write_dataset
from tasks.streambench.build.items import items
from tasks.streambench.build.released_order import permute
from tasks.streambench.build.sequence import sequence
from tasks.streambench.build.shots import shots
from tasks.streambench.entries import Stream, StreamEvaluation
from tests.sources.released import make_released, make_rows, write_split
from tests.streambench.whole_stream import ScriptedModels, run_stages

LENGTHS = (2147, 1007, 1534, 1000, 750, 1764, 1500)
"""The configurations of Spider, CoSQL, BIRD, DS-1000, ToolBench, DDXPlus and HotpotQA."""
SEEDS = (2, 3, 7, 21, 42)
STREAMED = {name: "validation" if "hotpot" in name else "test" for name in CONFIGURATIONS}
PARQUET = ("spider", "bird", "ds_1000", "ddxplus", "hotpotqa_distract")
TEXTS = {"ds_1000": "prompt", "toolbench": "query", "ddxplus": "PATIENT_PROFILE"}
"""Configuration -> the column with the text of an item; the default is `question`."""


def test_the_released_order_is_that_of_datasets_at_every_place():
    for length in LENGTHS:
        rows = Dataset.from_dict({"row": range(length)})
        for seed in SEEDS:
            assert permute(length, seed) == rows.shuffle(seed=seed)[:]["row"], (length, seed)


def make_project(root: Path) -> Path:
    root.mkdir()
    (root / "params.yaml").write_text("databases: {}\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    return root


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(root := make_project(tmp_path / "project"))
    return root


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A project with all seven configurations, and the release's folder: some Parquet, some JSON Lines."""
    folder = tmp_path_factory.mktemp("released")
    root = make_project(folder / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        said = bring_in(folder)
    assert "bird: 7 items of 7 rows, 40 shots, 2 files: data/raw/streambench/bird" in said
    return root / "data/raw/streambench", folder / "StreamBench"


def call(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["streambench", *map(str, words)])
    if isinstance(done.exception, BadInput):
        raise done.exception
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def bring_in(tmp_path: Path) -> str:
    folder = make_released(tmp_path / "StreamBench", parquet=PARQUET)
    return call(folder, "--databases", tmp_path / "databases", "--apis", tmp_path / "ste")


def list_texts(raw: Path, stream: Stream, seed: int) -> list[str]:
    """List the texts of a stream's items in the order of a seed."""
    rows = list(items(raw, stream).rows)
    texts = {row.id: row.text for row in rows}
    places = [place for place in sequence(rows, raw, stream, "s").rows if place.seed == seed]
    return [texts[place.item] for place in sorted(places, key=lambda place: place.position)]


def test_each_configuration_is_ordered_as_datasets_shuffles_it(imported):
    raw, published = imported
    made = make_rows()
    assert sorted(folder.name for folder in raw.iterdir()) == sorted(CONFIGURATIONS)
    for name, split in STREAMED.items():
        about = json.loads((raw / name / "dataset.json").read_text())
        rows, examples = made[name][split], made[name].get(CONFIGURATIONS[name].shots, [])
        file = f"{split}-00000-of-00002.parquet" if name in PARQUET else f"{split}.jsonl"
        assert about["sha256"][f"published/{name}/{file}"] == digest_file(published / name / file)
        assert about["rows"]["items"] == len(rows)
        table = Dataset.from_list([{"text": row[TEXTS.get(name, "question")]} for row in rows])
        stream = Stream(datasets=(name,), order="released", seeds=(7, 42))
        asked = Dataset.from_list([{"text": row[TEXTS.get(name, "question")]} for row in examples])
        found = shots(raw, stream).rows
        for seed in stream.seeds:
            assert list_texts(raw, stream, seed) == table.shuffle(seed=seed)[:]["text"], (name, seed)
            if about["rows"]["shuffled"]:
                own = sorted((shot for shot in found if shot.seed == seed), key=lambda shot: shot.place)
                assert [shot.text for shot in own] == asked.shuffle(seed=seed)[:16]["text"]


def test_what_the_configurations_hold(imported):
    raw, _ = imported
    rows = {
        name: [json.loads(line) for line in (raw / name / "items.jsonl").read_text().splitlines()]
        for name in CONFIGURATIONS
    }
    assert [row["row"] for row in rows["bird"]] == list(range(7))
    assert all((raw / "bird" / row["file"]).is_file() for row in rows["bird"])
    assert "CREATE TABLE" in rows["bird"][0]["context"]
    assert [DIAGNOSES[int(row["gold"])] for row in rows["ddxplus"]] == list(DIAGNOSES[:7])
    assert list(DIAGNOSES) == sorted(DIAGNOSES)
    assert (len(DIAGNOSES), DIAGNOSES.index("PSVT"), DIAGNOSES.index("SLE")) == (49, 30, 38)
    assert json.loads((raw / "ddxplus/files/diagnoses.json").read_text()) == list(DIAGNOSES)
    assert rows["toolbench"][3]["details"] == {"api": "add_date", "arguments": {"days": 3}}
    assert "Ann lives in Ulm. She sings." in rows["hotpotqa_distract"][0]["context"]
    # HotpotQA's examples are the first of its split for every seed, in their order.
    told = shots(raw, Stream(datasets=("hotpotqa_distract",), order="released", shots=4, seeds=SEEDS)).rows
    assert [shot.memory_key for shot in told] == [f"Where does Ann {number} live?" for number in range(7, 11)]
    # The examples of DS-1000 and ToolBench are part of the project.
    for name, count in (("ds_1000", 4), ("toolbench", 16)):
        assert len(shots(raw, Stream(datasets=(name,), order="released")).rows) == count


def test_a_row_that_is_left_out_leaves_the_others_in_the_paper_s_order(root, tmp_path):
    rows = make_rows()
    own = [dict(row) for row in rows["bird"]["test"]]
    own[2]["db_id"], own[4]["SQL"] = "lost", "SELECT size FROM city WHERE name < date('now')"
    folder = make_released(tmp_path / "StreamBench", parquet=(), rows={"bird": {"test": own}})
    call(folder, "--databases", tmp_path / "databases", "--name", "mine", "--config", "bird")
    raw = root / "data/raw/streambench"
    stream = Stream(datasets=("mine",), order="released", seeds=(2, 42))
    assert [row.reason for row in items(raw, stream).dropped] == ["clock"]
    for seed in stream.seeds:
        kept = [row for row in permute(7, seed) if row not in {2, 4}]
        assert list_texts(raw, stream, seed) == [own[row]["question"] for row in kept]
    # The first rows are selected, as in the paper for HotpotQA, and then shuffled.
    first = stream.model_copy(update={"take": 4})
    assert list_texts(raw, first, 42) == [own[row]["question"] for row in permute(4, 42) if row != 2]
    by_database = Dataset.from_list([{"db_id": row["db_id"], "row": n} for n, row in enumerate(own)])
    shift = Stream(datasets=("mine",), order="distribution_shift", seeds=(2, 3))
    wanted = [own[row]["question"] for row in by_database.sort("db_id")["row"] if row not in {2, 4}]
    assert list_texts(raw, shift, 2) == list_texts(raw, shift, 3) == wanted


def test_hotpotqa_streams_the_first_1500_rows(root, tmp_path):
    row = make_rows()["hotpotqa_distract"]["validation"][0]
    rows = [{**row, "id": f"h{number}", "question": f"Which {number}?"} for number in range(1503)]
    write_split(tmp_path / "hotpotqa_distract", "validation", rows, parquet=False)
    said = call(tmp_path / "hotpotqa_distract", "--config", "hotpotqa_distract")
    assert "1,500 items of 1,500 rows, 0 shots" in said
    assert "few_shot has no examples" in said
    raw = root / "data/raw/streambench"
    stream = Stream(datasets=("hotpotqa_distract",), order="released")
    assert list_texts(raw, stream, 42)[:2] == [f"Which {row}?" for row in permute(1500, 42)[:2]]


def test_the_set_comes_from_the_hub_where_it_can_be_reached(root, tmp_path, monkeypatch):
    folder = make_released(tmp_path / "StreamBench", parquet=CONFIGURATIONS)
    asked = []

    def fetch(name, *, repo_type, allow_patterns, local_dir):
        asked.append((name, repo_type, allow_patterns))
        shutil.copytree(folder, local_dir, dirs_exist_ok=True)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    call("appier-ai-research/StreamBench", "--config", "ds_1000")
    assert asked == [("appier-ai-research/StreamBench", "dataset", ["ds_1000/*"])]
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: 1 / 0)
    with pytest.raises(BadInput, match="cannot be fetched from the hub: ZeroDivisionError"):
        call("appier-ai-research/StreamBench", "--config", "ds_1000")


def test_what_cannot_be_imported_is_said_in_one_line(root, tmp_path):
    with pytest.raises(BadInput, match="none of spider, cosql"):
        call(tmp_path)
    with pytest.raises(BadInput, match="is not a folder"):
        call(tmp_path / "no/where/at all")
    rows = make_rows()
    rows = {name: rows[name] for name in ("ds_1000", "toolbench", "ddxplus")}
    folder = make_released(tmp_path / "StreamBench", parquet=CONFIGURATIONS, rows=rows)
    with pytest.raises(BadInput, match="'birds'"):
        call(folder, "--config", "birds")
    with pytest.raises(BadInput, match="needs exactly one configuration"):
        call(folder, "--name", "x")
    with pytest.raises(BadInput, match="--apis DIR"):
        call(folder, "--config", "toolbench")
    (folder / "ds_1000/test-00000-of-00002.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(BadInput, match="is not a Parquet file"):
        call(folder, "--config", "ds_1000")
    # Without a choice, unreadable parts are reported, and the command exits with 1.
    said = call(folder, code=1)
    assert "ddxplus: 7 items of 7 rows, 53 shots" in said
    assert "left out: toolbench" in said
    assert "left out: ds_1000" in said


def test_what_cannot_be_ordered_is_said_in_one_line(imported, tmp_path):
    raw = tmp_path
    for name in ("bird", "ddxplus", "spider"):
        (raw / name).symlink_to(imported[0] / name)
    head = DatasetHead("plain", "hotpotqa", "", "", "")
    write_dataset(raw / "plain", head, [DatasetItem("a", "a?", "a?", "", "b")], [], {})
    with pytest.raises(
        BadInput, match=r"plain does not have the released rows .run .benchloom import streambench.,"
    ):
        items(raw, Stream(datasets=("plain",), order="released"))
    with pytest.raises(BadInput, match="requires one dataset, not 2"):
        items(raw, Stream(datasets=("bird", "spider"), order="released"))
    with pytest.raises(BadInput, match="`take` asks for 8 rows, but bird has 7"):
        items(raw, Stream(datasets=("bird",), order="released", take=8))
    ddxplus = Stream(datasets=("ddxplus",), order="distribution_shift")
    with pytest.raises(BadInput, match="have no db_id"):
        sequence(list(items(raw, ddxplus).rows), raw, ddxplus, "s")
    broken = replace(DatasetItem("a", "a?", "a?", "", "b"), row=0)
    write_dataset(raw / "ill", head, [broken], [], {}, rows=SplitRows(1, 0, shuffled=False))
    about = json.loads((raw / "ill/dataset.json").read_text())
    (raw / "ill/dataset.json").write_text(json.dumps({**about, "rows": {"items": "x"}}))
    with pytest.raises(BadInput, match="import the dataset again"):
        items(raw, Stream(datasets=("ill",), order="released"))


class Echo(ScriptedModels):
    """Answers the stream's first question in lower case, which the released reading does not accept."""

    def say(self, prompt, messages, fields):
        number = fields["question"].rpartition("City ")[2].rstrip("?")
        return f"select size FROM city WHERE id = {number}"


def test_a_stream_of_the_released_set_runs_in_its_order_under_its_reading(imported, tmp_path):
    raw, _ = imported
    evaluation = StreamEvaluation(stream="bird", methods=["few_shot"], models=["agent"], seeds=[7], k=2)
    stream = Stream(
        datasets=("bird",), order="released", reading="released", seeds=(7, 42), rule="streambench"
    )
    whole = run_stages(tmp_path, raw, stream, evaluation, Echo())
    steps = sorted(whole.steps, key=lambda step: step.position)
    asked = [whole.items[step.item].text for step in steps]
    assert asked == [f"How large is City {row}?" for row in permute(7, 7)]
    assert [step.bit for step in steps] == [False] * 7
    assert all(step.answer.startswith("SELECT select") for step in steps)
    prompt = whole.calls[steps[0].calls[0]].messages
    shown = [f"Old {row}?" for row in permute(40, 7)[:2]]
    assert 0 < prompt.index(shown[0]) < prompt.index(shown[1])
    figures = json.loads((tmp_path / "evaluation_figures.json").read_text())
    assert (figures["order"], figures["reading"], figures["rule"]) == ("released", "released", "streambench")
    table = figures["tables"]["readings"]
    assert table["columns"] == ["lenient", "released", "with another reading"]
    assert [[cell["value"] for cell in line["cells"]] for line in table["lines"]] == [[1, 0, 7]]
    assert "released: the paper" in (whole.page / "index.html").read_text()
