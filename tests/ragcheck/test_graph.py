"""Tests of the flow's stages in dvc.yaml, with one entry in each of the flow's mappings."""

import shutil
from pathlib import Path

import pytest
import yaml

from flows.run.record.recorder import Recorder
from flows.run.selection import order_nodes, select_nodes
from tasks.errors import BadInput
from tests.flows.test_graph import ROOT, SWITCHED_ON

PROMPTS = {
    "ragcheck.scores": {"grade"},
    "ragcheck.canaries": {"grade"},
    "ragcheck.conversation_canaries": {"grade"},
    "ragcheck.conversations": {"grade", "compose", "finish", "ask_further"},
}


def open_nodes(folder: Path, entries: dict) -> dict:
    (folder / ".dvc").mkdir(parents=True)
    (folder / ".dvc" / "config").write_text("[core]\n    no_scm = True\n")
    shutil.copy(ROOT / "dvc.yaml", folder)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["ragcheck"] |= entries
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # DVC names stages relative to the current folder
        recorder = Recorder(folder)
        recorder.close()
    return recorder.nodes


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    found = open_nodes(tmp_path_factory.mktemp("graph") / "filled", SWITCHED_ON["ragcheck"])
    return {name: node for name, node in found.items() if node.stage.startswith("ragcheck.")}


def test_dependencies_name_every_prompt(nodes):
    for node in nodes.values():
        prompts = {Path(dep).stem for dep in node.deps if dep.startswith("tasks/ragcheck/prompts/")}
        assert prompts == PROMPTS.get(node.stage, set()), node.name
        asks_systems = node.stage in ("ragcheck.answers", "ragcheck.contexts", "ragcheck.conversations")
        assert ("tasks/systems/prompts" in node.deps) == asks_systems


def test_what_asks_systems_and_judges_asks_them_anew_every_night(nodes):
    for node in nodes.values():
        asks = any(out.endswith(".calls.parquet") for out in node.outs)
        label = "baselines" if node.stage == "ragcheck.baselines" else "evaluation"
        assert (label in node.params) == asks, node.name


def test_as_shipped_the_flow_has_no_stage_and_says_how_to_get_some(tmp_path):
    shipped = open_nodes(tmp_path / "shipped", {})
    assert not any(node.stage.startswith("ragcheck.") for node in shipped.values())
    with pytest.raises(
        BadInput, match=r"no entries to run \(add an entry to one of these.*: ragcheck\.sets, r"
    ):
        select_nodes(shipped, ["ragcheck"])
    assert order_nodes(shipped)
