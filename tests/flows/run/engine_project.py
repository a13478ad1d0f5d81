"""A project with one stage that splits, can be killed in a shard, and records the shards that ran."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.flows.conftest import make_folder
from tests.flows.sample import ROOT

STAGE = '''\
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.artifacts.splitting import splits
from tasks.errors import BadInput


@dataclass(frozen=True)
class Word:
    id: str
    text: str


class Lengths(BaseModel):
    notes: Path
    turn: int = 0
    kill: str = ""
    times: int = 0
    refuse: str = ""


@splits("words", 5)
def lengths(words: list[Word], params: Lengths) -> Drafts[Word]:
    """Keep the words without an `e`, and note who did which."""
    texts = [word.text for word in words]
    with (params.notes / f"{params.turn}.txt").open("a") as file:
        file.write(f"{os.getpid()} {texts[0]}\\n")
    if params.refuse in texts:
        raise BadInput("words", f"{params.refuse} is refused")
    marks = len(list(params.notes.glob(f"kill-{params.turn}-*")))
    if params.kill in texts and marks < params.times:
        (params.notes / f"kill-{params.turn}-{marks}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    dropped = [Dropped(word.id, "has_e", word.text) for word in words if "e" in word.text]
    return Drafts([word for word in words if "e" not in word.text], dropped)
'''
DVC_YAML = """\
stages:
  sources-lengths:
    cmd: benchloom stage sources.lengths
    deps: [data/words.parquet, tasks/sources/lengths.py]
    params: [sources.lengths]
    outs: [data/lengths.parquet, data/lengths.dropped.parquet]
"""
RUN = """\
import sys
from pathlib import Path

from flows.commands.run import bring_up_stages, make_run
from flows.run.record.recorder import Recorder
from flows.settings import load_params

if __name__ == "__main__":
    root = Path.cwd()
    run = make_run(root, Recorder(root), load_params(root))
    sys.exit(bring_up_stages(run, list(run.recorder.nodes), plain=sys.argv[1] == "plain", title="trial",
                             engine=sys.argv[2]))
"""
WORDS = 43
SHARDS = 9


@dataclass
class EngineProject:
    """Runs of the project; each run has a different number, so that DVC's run cache does not contain it."""

    root: Path
    turn: int = 0

    @property
    def notes(self) -> Path:
        return self.root.parent

    def run(self, engine, *, workers=2, address=None, plain=False, again=False, **params):
        """Run the stage on an engine."""
        self.turn += not again
        self._write_params(workers, params, address)
        return self._call("-c", RUN, "plain" if plain else "prefect", engine)

    def stage(self):
        """Run the stage like `dvc repro`."""
        self.turn += 1
        self._write_params(2, {})
        return self._call("-m", "flows.cli", "stage", "sources.lengths")

    def _write_params(self, workers, params, address=None):
        given = {"notes": str(self.notes), "turn": self.turn, **params}
        cluster = json.dumps({"workers": workers, "address": address})
        (self.root / "params.yaml").write_text(
            f"sources: {{lengths: {given}}}\ndatabases: {{}}\n"
            f"run: {{workers: 2, engine: {{dask: {cluster}, ray: {cluster}}}}}\n"
        )

    def _call(self, *words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )

    def read_done(self) -> list[str]:
        """Return the first words of the shards that were begun in this run."""
        return [line.split()[1] for line in (self.notes / f"{self.turn}.txt").read_text().splitlines()]

    def count_processes(self) -> int:
        lines = (self.notes / f"{self.turn}.txt").read_text().splitlines()
        return len({line.split()[0] for line in lines})

    def list_parts(self) -> list[Path]:
        """Return the existing parts of shards."""
        return sorted((self.root / ".benchloom/parts").glob("*/*/[0-9]*"))

    def digest(self) -> list[str]:
        outs = ("lengths.parquet", "lengths.dropped.parquet")
        return [hashlib.sha256((self.root / "data" / name).read_bytes()).hexdigest() for name in outs]


def make_engine_project(folder: Path, words: int = WORDS) -> EngineProject:
    """Create the project; its stage has one shard per five words."""
    root = make_folder(folder / "project")
    for package in ("flows", "tasks"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "tasks/sources/lengths.py").write_text(STAGE)
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "data").mkdir()
    make = (
        "from pathlib import Path\n"
        "from tasks.artifacts.parquet import write_rows\n"
        "from tasks.artifacts.rows import make_id\n"
        "from tasks.sources.lengths import Word\n"
        f'texts = [f\'{{"even" if n % 3 else "odd"}}-{{n:02}}\' for n in range({words})]\n'
        "write_rows(Path('data/words.parquet'), Word, [Word(make_id(text), text) for text in texts])\n"
    )
    subprocess.run(
        [sys.executable, "-c", make], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True
    )
    return EngineProject(root)
