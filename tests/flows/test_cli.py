"""Tests of the command line for a new user."""

import errno
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from flows import cli
from flows.discovery import list_flows
from flows.import_process import INSIDE

CLI = [sys.executable, "-m", "flows.cli"]
FILES = (path.stem.rstrip("_") for path in (Path(cli.__file__).parent / "commands").glob("*.py"))
COMMANDS = ("init", *sorted(name for name in FILES if not name.startswith(("_", "cli_"))))
"""Modules of commands; a module without a registered command fails a test."""
GROUPS = ("add", "import", "ledger", "model", "nightly")


def call(*words, cwd=None):
    return subprocess.run([*CLI, *words], cwd=cwd, capture_output=True, text=True, check=False)


def test_help_names_every_command_and_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['benchloom', '--help']\n"
        "from flows.cli import main\n"
        "try: main()\n"
        "except SystemExit as done: assert not done.code\n"
        "heavy = {'prefect', 'dvc', 'great_expectations', 'pandas', 'pyarrow', 'openai', 'sqlglot'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2]  # no sentence is cut


def test_it_says_its_version():
    assert call("--version").stdout == f"benchloom {version('benchloom')}\n"


@pytest.mark.parametrize(("typed", "told"), [("st", {"stage", "status", "stop"}), ("ledger pr", {"prune"})])
def test_the_shell_completes_commands(typed, told):
    # Request completions like the script that `--show-completion bash` prints.
    words = f"benchloom {typed}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    environment = {**os.environ, **asked, "_BENCHLOOM_COMPLETE": "complete_bash"}
    code = "import sys; sys.argv = ['benchloom']; from flows.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= told
    assert "run" not in done.stdout.split()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in GROUPS])
def test_every_command_has_help_with_an_example(command):
    assert f"Example: benchloom {command}" in call(command, "--help").stdout


def test_the_help_of_evaluate_names_every_flow_that_evaluates():
    flows = [flow.name for flow in list_flows() if any(scope.evaluates for scope in flow.list_scopes())]
    command = typer.main.get_command(cli.app).commands["evaluate"]
    (flow,) = [param for param in command.params if param.name == "flow"]
    assert flow.help == f"The evaluation: {', '.join(flows[:-1])} or {flows[-1]}."


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--nope"), ("nope",), ("run", "no-such-stage"), ("run", "--set", "nonsense"),
        ("stage", "no.such"), ("lineage", "no/such.parquet"), ("run", "--limit", "0"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line_and_exit_2(project, words):
    done = call(*words, cwd=project.root)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("benchloom: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_workers_that_are_no_number_are_named_with_their_line(project):
    project.write("params.yaml", "shout: hey\nrun:\n  workers: many\n")
    done = call("run", "--plain", cwd=project.root)
    assert done.returncode == 2
    said = "benchloom: params.yaml, line 3: run.workers: must be a whole number, not text\n"
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


def test_outside_a_project_it_says_so(tmp_path):
    done = call("status", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not in a Benchloom project" in done.stderr


def test_a_full_disk_is_one_line_wherever_it_is_met(monkeypatch, capsys):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", ".dvc/tmp/lock")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("benchloom: the disk is full; make room and run the same")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EACCES, "the file belongs to another account"),
        (errno.EPERM, "the file belongs to another account"),
        (errno.EROFS, "the disk is read-only"),
    ],
)
def test_a_file_that_may_not_be_written_is_one_line_that_names_it(number, why, monkeypatch, capsys):
    def fail(*_, **__):
        raise OSError(number, "Refused", "/shared/project/.dvc/tmp/lock")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"benchloom: /shared/project/.dvc/tmp/lock: Refused: {why} (")
    assert said.count("\n") == 1


def test_help_names_the_command_in_a_process_of_its_own_too(monkeypatch, capsys):
    monkeypatch.setenv(INSIDE, "1")
    assert cli.run_command(["import", "tanq", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: benchloom import tanq ")
