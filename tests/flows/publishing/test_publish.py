"""Tests of `benchloom publish` to a folder and to a hub on loopback, and of its errors."""

import json
import subprocess
from pathlib import Path

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

import benchloom
from tests.benchloom.scenes import call
from tests.benchloom.shop import make_shop
from tests.flows.publishing.hub_stub import TOKEN, Repository, serving_hub

CARD, SUMS = "README.md", "SHA256SUMS"
NAME = "people/shop"
CITED = "The shop's people"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("publishing")
    entry = {"licence": "CC-BY-SA-4.0", "attribution": CITED, "source": "https://shop.example"}
    return make_shop(folder, "grammar-contracts@shop", "grammar-dataset@shop", **entry)


@pytest.fixture
def hub(monkeypatch):
    with serving_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        yield hub


def publish(root: Path, *words: str, code: int = 0) -> str:
    done = call(root, "publish", *words)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr if code else done.stdout


def read_files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.drill
def test_a_folder_is_loaded_by_datasets_and_read_by_its_card(shop, tmp_path):
    out = tmp_path / "out"
    told = json.loads(publish(shop, "shop", "--to", str(out), "--json"))
    assert (told["dataset"], told["sets"][0], told["calls"]) == ("databases.shop", "balanced", 0)
    assert told["left_out"]["data/grammar/shop/documents.parquet"] == "no rows"

    questions = benchloom.samples(shop / "data/grammar/shop/balanced.parquet")
    for name in ("balanced", ""):
        loaded = load_dataset(str(out), *([name] if name else []), cache_dir=str(tmp_path / "cache"))["test"]
        assert loaded["id"] == questions.id.tolist()
        assert loaded["question"] == questions.question.tolist()
    assert benchloom.samples(out).id.tolist() == questions.id.tolist()
    walked = benchloom.lineage("balanced", questions.id[0], place=out)
    assert {"row", "evidence"} <= set(walked.kind)

    for name in told["sets"]:
        rows = benchloom.samples(out / f"data/{name}.jsonl").to_dict("records")
        again = benchloom.samples(out / f"data/{name}.parquet").to_dict("records")
        assert [row["id"] for row in rows] == [row["id"] for row in again]
    card = DatasetCard((out / CARD).read_text())
    assert card.data["license"] == "cc-by-sa-4.0"
    assert [config["config_name"] for config in card.data["configs"]] == told["sets"]
    assert "- `question`: `string`, the question\n" in card.text
    assert f"If you use the dataset, credit: {CITED}." in card.text
    assert "## Yield per criterion" in card.text
    assert "https://creativecommons.org/licenses/by-sa/4.0/" in (out / "LICENSE.md").read_text()
    done = subprocess.run(["sha256sum", "-c", "--quiet", SUMS], cwd=out, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    listed = {line.split("  ")[1] for line in (out / SUMS).read_text().splitlines()}
    assert listed == read_files(out).keys() - {SUMS}


@pytest.mark.drill
def test_a_second_time_replaces_it_by_the_same_bytes(shop, tmp_path):
    out = tmp_path / "out"
    publish(shop, "shop", str(out))
    before = read_files(out)
    publish(shop, "databases.shop", "--to", str(out))
    assert read_files(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda out: (out / "notes.txt").write_text("mine"), "contains notes.txt, which was not published"),
        (lambda out: (out / CARD).write_text("mine"), "README.md: was edited after it was published"),
        (lambda out: (out / "publication.json").unlink(), "is not empty and was not published by Benchloom"),
        (
            lambda out: (out / "publication.json").write_text('{"dataset": "databases.other"}'),
            "contains another dataset, databases.other",
        ),
    ],
)
def test_a_folder_that_is_not_its_own_is_refused(shop, tmp_path, spoil, said):
    out = tmp_path / "out"
    publish(shop, "shop", "--to", str(out))
    spoil(out)
    before = read_files(out)
    assert said in publish(shop, "shop", "--to", str(out), code=2)
    assert read_files(out) == before


@pytest.mark.drill
def test_what_is_stale_is_refused_with_what_to_run(shop, tmp_path):
    database = shop / "data/shop.sqlite"
    before = database.read_bytes()
    database.write_bytes(before + b"\0")
    try:
        said = publish(shop, "shop", "--to", str(tmp_path / "out"), code=2)
    finally:
        database.write_bytes(before)
    assert "shop: is not up to date: grammar-" in said
    assert "data/shop.sqlite modified" in said
    assert said.endswith("(run benchloom run grammar-balanced@shop grammar-contracts@shop)\n")
    assert not (tmp_path / "out").exists()


def test_names_that_are_none_and_places_that_lack_are_said(shop, tmp_path):
    assert "sohp: is neither a dataset nor an evaluation of params.yaml (known: databases.shop)" in publish(
        shop, "sohp", "--to", str(tmp_path / "out"), code=2
    )
    assert "needs a destination (give --to FOLDER, --hub OWNER/NAME, or both)" in publish(
        shop, "shop", code=2
    )
    second = publish(shop, "shop", str(tmp_path / "out"), "--to", str(tmp_path / "other"), code=2)
    assert f"the second time as {tmp_path / 'out'}" in second


@pytest.mark.drill
def test_a_private_source_is_published_by_its_flag_alone(tmp_path):
    root = make_shop(tmp_path, "grammar-contracts@shop", licence="proprietary")
    said = publish(root, "shop", "--to", str(tmp_path / "out"), code=2)
    assert "databases.shop: uses sources that may not be redistributed: Shop (proprietary)" in said
    publish(root, "shop", "--to", str(tmp_path / "out"), "--private-sources")
    card = DatasetCard((tmp_path / "out" / CARD).read_text())
    assert card.data["license"] == "other"
    assert card.data["license_link"] == "LICENSE.md"
    assert "Shop: proprietary" in (tmp_path / "out/LICENSE.md").read_text()


def test_a_hub_gets_what_a_folder_gets_by_one_commit(shop, hub, tmp_path):
    out = tmp_path / "out"
    said = publish(shop, "shop", f"hub:{NAME}", "--to", str(out))
    assert said.splitlines()[-1] == f"{hub.url}/datasets/{NAME}"
    own = hub.repositories[NAME]
    assert own.private
    assert {name: body for name, body in own.files.items() if name != ".gitattributes"} == read_files(out)
    assert own.commits == ["initial", "Publish databases.shop"]
    assert hub.large, "no Parquet file went beside the commit"

    old = own.files["data/balanced.jsonl"]
    own.files["data/gone.jsonl"] = old
    own.files[SUMS] += b"0  data/gone.jsonl\n"
    publish(shop, "shop", "--hub", NAME)
    assert "data/gone.jsonl" not in own.files
    assert own.files["data/balanced.jsonl"] == old


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (Repository(True, {"train.csv": b"a"}), "was not published by Benchloom"),
        (
            Repository(False, {".gitattributes": b""}),
            f"{NAME}: is public (if this is intended, add --public)",
        ),
    ],
)
def test_a_repository_that_is_not_its_own_is_refused(shop, hub, own, said):
    hub.repositories[NAME] = own
    before = dict(own.files)
    assert said in publish(shop, "shop", "--hub", NAME, code=2)
    assert own.files == before


def test_a_token_comes_from_the_environment_alone(shop, hub, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (tmp_path / "token").write_text(TOKEN)
    assert "HF_TOKEN: is not set" in publish(shop, "shop", "--hub", NAME, code=2)
    assert hub.repositories == {}
    monkeypatch.setenv("HF_TOKEN", "hub_another")
    assert f"{NAME}: 401: " in publish(shop, "shop", "--hub", NAME, code=1)


def test_a_hub_that_is_down_is_named(shop, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9: cannot be reached: " in publish(shop, "shop", "--hub", NAME, code=1)
