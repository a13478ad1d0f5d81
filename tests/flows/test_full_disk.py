"""Tests of every command on a full disk: a one-line error, no incomplete files, and success later."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from flows.settings import set_params
from tests.flows.night_model import NightModel
from tests.flows.sample import Sample, make_sample
from tests.flows.small_disk import BALLAST, leave_room, mount_disk
from tests.flows.test_evaluate import ROWS
from tests.models.scenes import answering
from tests.sources.wikidata.scenes import entity, write_dump

QUESTIONS = "data/grammar/films/questions.parquet"
GROUND = ("grammar-assessment@films-weak", "grammar-contracts@films", "grammar-dataset@films")
SEED = "roles.answerer.seed=7"
COMMANDS = {
    "status": ("status",),
    "plan": ("plan",),
    "doctor": ("doctor",),
    "graph": ("graph",),
    "report": ("report",),
    "lineage": ("lineage", QUESTIONS),
    "run": ("run", "--plain", "--replay", "grammar-assessment@films-good"),
    "run a stage that asks": ("run", "--plain", "grammar-answers@films-alone", "--set", SEED),
    "evaluate": ("evaluate", "grammar", "--dataset", "own.jsonl", "--system", "alone", "--out", "mine"),
    "night": ("nightly", "once", "--plain", "--as-of", "one"),
    "publish": ("publish", "films", "--to", "out"),
    "import": ("import", "wikidata", "dump.json.gz", "--name", "full"),
    "review export": ("review", "export", QUESTIONS, "--out", "form.jsonl"),
    "review import": ("review", "import", "filled.jsonl"),
    "ledger export": ("ledger", "export", "grammar", "--out", "shipped.jsonl.gz"),
    "ledger stats": ("ledger", "stats"),
    "score": ("score", "hotpotqa", "pairs.jsonl", "--items", "items.jsonl"),
}
READS = frozenset({"status", "plan", "doctor", "lineage", "ledger stats", "graph"})
"""Commands that may succeed, since they need not write anything."""
FULL = ("disk is full", "no space left on device", "disk quota", "1 gb is required")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    with mount_disk(tmp_path_factory.mktemp("full") / "disk", 1_500) as disk:
        yield disk


@pytest.fixture(scope="module")
def sample(disk) -> Sample:
    sample = make_sample(disk / "project")
    sample.run(*GROUND)
    root = sample.root
    (root / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    pairs = [{"id": str(number), "prediction": "a mill", "gold": "the mill"} for number in range(3)]
    (root / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    write_dump(
        root / "dump.json.gz", *(entity(f"Q{number}", label=f"{number}") for number in range(1, 3_000))
    )
    assert sample.call("flows.cli", "review", "export", QUESTIONS, "--out", "filled.jsonl").returncode == 0
    decided = {"decision": "accept", "rating": "4", "reviewer": "ann", "at": "2020-07-09T10:00:00Z"}
    lines = [json.loads(line) | decided for line in (root / "filled.jsonl").read_text().splitlines()]
    (root / "filled.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    git = ("git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    return sample


def hash_record(root: Path) -> dict[str, str]:
    names = ["params.yaml", "dvc.yaml", "dvc.lock", "filled.jsonl", QUESTIONS]
    return {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}


@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_full_disk_a_command_says_so_and_works_once_there_is_room(disk, sample, name):
    model = NightModel()
    with answering(model.answer) as url:
        set_params(
            sample.root,
            [f"run.endpoints.qwen25-coder-1b5={{url: '{url}'}}", "nightly.assessments=[films-weak]"],
        )
        before = hash_record(sample.root)
        codes = []
        for room in (0, 4_096, 200_000):
            leave_room(disk, room)
            done = sample.call("flows.cli", *COMMANDS[name])
            (disk / BALLAST).unlink()
            codes.append(done.returncode)
            assert "Traceback" not in done.stderr, done.stderr
            said = [
                line
                for line in (done.stderr + done.stdout).splitlines()
                if any(word in line.lower() for word in FULL)
            ]
            print(
                f"{name}, {room} bytes: exit {done.returncode}, {said[-1:] or done.stderr.splitlines()[-1:]}"
            )
            if done.returncode:
                assert said, done.stderr
            if name != "run a stage that asks":  # this command sets a parameter
                changed = {file for file, text in hash_record(sample.root).items() if before[file] != text}
                assert not changed - {"dvc.lock"}, changed
        assert codes[0] or name in READS, codes
        asked = sum(model.asked.values())
        done = sample.call("flows.cli", *COMMANDS[name])
        if name == "doctor":  # the folder contains part of the sample: the output names missing databases
            assert "disk" not in done.stdout.splitlines()[-1], done.stdout
        else:
            assert done.returncode == 0, done.stderr
        print(f"{name}: asked {asked} times on the full disk, {sum(model.asked.values()) - asked} after it")
