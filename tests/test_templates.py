"""Tests of templates for CI and pre-commit, against the hosts' schemas and Benchloom's commands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from benchloom.making import PYPROJECT
from flows.cli import app

ROOT = Path(__file__).parents[1]

TEAM = ROOT / "docs/team"
SCHEMAS = {"github-actions.yml": "vendor.github-workflows", "gitlab-ci.yml": "vendor.gitlab-ci"}
RUN = re.compile(r"\bbenchloom ([a-z]+)([^|&#\n]*)")


def list_scripts(part):
    """List the commands of a template: the texts of `run`, `script`, `before_script` and `after_script`."""
    for key, value in (
        part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    ):
        if isinstance(key, str) and key in {"run", "script", "before_script", "after_script"}:
            yield from [value] if isinstance(value, str) else value
        else:
            yield from list_scripts(value)


@pytest.mark.parametrize(("name", "schema"), [*SCHEMAS.items(), ("compose.yaml", "vendor.compose-spec")])
def test_a_template_holds_to_its_hosts_schema(name, schema):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(TEAM / name)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SCHEMAS)
def test_its_commands_are_bash_and_ours_are_there(name):
    scripts = list(list_scripts(yaml.safe_load((TEAM / name).read_text())))
    done = subprocess.run(
        ["bash", "-n"], input="\n".join(scripts), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    group = typer.main.get_command(app)
    called = [found for script in scripts for found in RUN.findall(script)]
    assert {command for command, _ in called} == {"graph", "run", "report", "nightly", "compare"}
    for command, words in called:
        own = group.commands[command]
        options = [word for word in words.split() if word.startswith("--")]
        for word in words.split():
            if word not in options and isinstance(own, typer.core.TyperGroup):
                own = own.commands[word]
        assert set(options) <= {name for param in own.params for name in param.opts}


COMMENTED = {
    "github-actions.yml": ("gh", {"GH_TOKEN": "secret", "NUMBER": "7"}, ["7", "report.md"]),
    "gitlab-ci.yml": (
        "curl",
        {"COMMENT_TOKEN": "secret", "CI_API_V4_URL": "https://host/api/v4", "CI_PROJECT_ID": "3",
         "CI_MERGE_REQUEST_IID": "7"},
        ["body@report.md", "https://host/api/v4/projects/3/merge_requests/7/notes"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMENTED)
def test_the_report_is_posted_with_a_token_that_no_process_list_shows(name, tmp_path):
    program, given, wanted = COMMENTED[name]
    scripts = list_scripts(yaml.safe_load((TEAM / name).read_text()))
    (script,) = [script for script in scripts if re.search(rf"\b{program} .*report\.md", script)]
    (tmp_path / program).write_text('#!/bin/sh\nprintf "%s\\n" "$@" > words\ncat > stdin\n')
    (tmp_path / program).chmod(0o755)
    (tmp_path / "report.md").write_text("A report.")
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**path, **given}, check=True, stdin=subprocess.DEVNULL
    )
    words = (tmp_path / "words").read_text().splitlines()
    assert set(wanted) <= set(words)
    assert not any("secret" in word for word in words)
    assert ("secret" in (tmp_path / "stdin").read_text()) == (program == "curl")


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_alarm_of_compare_fails_the_job(name):
    scripts = list(list_scripts(yaml.safe_load((TEAM / name).read_text())))
    (script,) = [script for script in scripts if "benchloom compare" in script]
    failing = "benchloom() { return 5; }\n"
    done = subprocess.run(["bash", "-e", "-c", failing + script], check=False, capture_output=True)
    assert done.returncode == 5


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_package_is_installed_in_the_version_of_the_project(name, tmp_path):
    scripts = list_scripts(yaml.safe_load((TEAM / name).read_text()))
    found = next(re.search(r"\$\((sed .*)\)", script)[1] for script in scripts if "sed -n" in script)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT.format(name="shop", version="1.2.3", pins=""))
    told = subprocess.run(["bash", "-c", found], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout == "benchloom==1.2.3\n"


def test_the_hooks_before_a_commit_are_those_of_the_check():
    path = ROOT / ".pre-commit-config.yaml"
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", str(path)], check=True)
    hooks = [hook for repo in yaml.safe_load(path.read_text())["repos"] for hook in repo["hooks"]]
    assert [hook["id"] for hook in hooks] == ["ruff-check", "ruff-format", "graph", "commands"]
    for hook in hooks:
        entry = [ROOT / word if word.startswith(".venv/") else word for word in hook["entry"].split()]
        name = Path(entry[0]).name
        program = [sys.executable, "-m", "flows.cli"] if name == "benchloom" else [sys.executable, "-m", name]
        words = entry[1:] if name == "python" else [*program[1:], *entry[1:]]
        files = [] if hook.get("pass_filenames") is False else ["flows/cli.py"]
        done = subprocess.run(
            [sys.executable, *words, *files], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
