"""Tests that follow docs/tutorial.md exactly, in an empty folder, with a wheel of this checkout."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.benchloom.scenes import build_wheel

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/tutorial.md"
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"^(.*?) +# exit (\d)$")


def write_script() -> str:
    """Return the page's commands and files as one script that stops at the first failure."""
    lines = ["set -eu"]
    for number, (language, title, text) in enumerate(FENCE.findall(PAGE.read_text())):
        if title:
            end = f"END_OF_{number}"
            lines += [f"mkdir -p {Path(title).parent}", f"cat > {title} <<'{end}'", text.rstrip("\n"), end]
        elif language == "sh":
            lines += [line for typed in text.splitlines() for line in write_command(typed)]
    return "\n".join(lines)


def write_command(typed: str) -> list[str]:
    ends = EXIT.match(typed)
    if ends is None:
        return [typed]
    return ["code=0", f"{ends[1]} || code=$?", f'test "$code" = {ends[2]}']


def test_the_page_has_commands_files_and_an_alarm():
    script = write_script()
    assert script.count("benchloom run") >= 5
    assert "cat > own/templates.jsonl" in script
    assert 'test "$code" = 5' in script


@pytest.mark.drill
@pytest.mark.embedded
@pytest.mark.timeout(5400)
def test_the_tutorial_leads_from_nothing_to_a_night_that_alarms(tmp_path):
    wheels = tmp_path / "wheels"
    build_wheel(wheels)
    place = tmp_path / "place"
    place.mkdir()
    named = {"BENCHLOOM_LEDGER": str(tmp_path / "ledger.sqlite"), "PIP_FIND_LINKS": str(wheels)}
    author = {
        f"GIT_{who}_{what}": "someone@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **named, **author}
    for name in ("VIRTUAL_ENV", "PYTHONPATH"):
        environment.pop(name, None)
    told = tmp_path / "told.txt"  # readable during the run
    with told.open("w") as out:
        done = subprocess.run(
            ["bash", "-xc", write_script()],
            cwd=place, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    assert done.returncode == 0, told.read_text()[-6000:]
    lake = place / "lake"
    assert "retriever: none" in (lake / "params.yaml").read_text()
    assert "regression" in (lake / "data/nightly/second/summary.md").read_text()
    assert (lake / "data/reports/grammar/boats-good/index.html").is_file()
    assert (lake / "data/nightly/index.html").is_file()
