import os
import subprocess
import sys
from types import ModuleType

import pytest

from flows.run.origin import HERE, check_code, lead_child
from flows.run.record.recorder import Recorder
from tasks.errors import BadInput
from tests.conftest import ROOT


def test_a_project_whose_code_runs_may_record():
    check_code(HERE)
    assert str(HERE) == ROOT


def test_a_module_from_elsewhere_fails_the_stage_that_imported_it(project, monkeypatch):
    (project.root / "tasks").symlink_to(HERE / "tasks")
    recorder = Recorder(project.root)
    recorder.restore("first")
    begun = recorder.begin("first")
    (project.root / "first.txt").write_text("what it wrote\n")
    stranger = ModuleType("tasks.stranger")
    stranger.__file__ = str(project.root.parent / "other" / "tasks" / "stranger.py")
    monkeypatch.setitem(sys.modules, "tasks.stranger", stranger)
    with pytest.raises(BadInput, match=r"tasks\.stranger was imported from .*other/tasks/stranger\.py"):
        recorder.finish("first", begun)
    recorder.flush()
    assert not (project.root / "dvc.lock").exists()


def test_another_thread_may_import_meanwhile(monkeypatch):
    """Garbage collection while modules are listed lets other threads run."""

    class Modules(dict):
        def items(self):
            for number, item in enumerate(super().items()):
                if number == 3:
                    self["tasks.imported_meanwhile"] = ModuleType("tasks.imported_meanwhile")
                yield item

    monkeypatch.setattr(sys, "modules", Modules(sys.modules))
    check_code(HERE)


def test_nothing_begins_with_a_module_from_elsewhere(project, monkeypatch):
    (project.root / "flows").mkdir()
    with pytest.raises(BadInput, match="not from this project"):
        Recorder(project.root)


def test_a_child_imports_the_same_code_wherever_it_is_started(tmp_path):
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "__init__.py").write_text("raise SystemExit('a stranger ran')\n")
    environment = lead_child({"PYTHONPATH": str(tmp_path), "MORE": "1"})
    assert environment["PYTHONPATH"] == os.pathsep.join([ROOT, str(tmp_path)])
    assert environment["MORE"] == "1"
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import flows.run.servers as s; print(s.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == str(HERE / "flows/run/servers.py"), done.stderr
