"""Tests that documented commands and options exist, and that each command is run here or by a named test."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from flows.cli import app
from tests.documented import DocumentedCommand, list_documented
from tests.flows.sample import Sample, make_sample

ROOT = Path(__file__).parents[1]
EAGER = {"--help", "--install-completion"}
"""Options with effects during parsing."""
ELSEWHERE = {
    "add": "tests/flows/adding/test_add.py",
    "new": "tests/flows/adding/test_new.py",
    "init": "tests/benchloom/test_making.py",
    "init --upgrade": "tests/benchloom/test_upgrading.py",
    "run grammar-dataset@shop": "tests/benchloom/test_wheel.py",
    "run grammar-documents@shop": "tests/benchloom/test_making.py",
    "run grammar-assessment-report@shop-ours": "tests/flows/test_assessment.py",
    "plan grammar-dataset@shop": "tests/flows/run/test_planner.py",
    "run --set": "tests/flows/test_params_edit.py",
    "run ragcheck": "tests/ragcheck/test_flow.py",
    "lineage data/grammar/films/balanced.parquet --row ID": "tests/flows/lineage/test_lineage.py",
    "evaluate grammar": "tests/flows/test_evaluate.py",
    "evaluate ragcheck": "tests/ragcheck/test_evaluate.py",
    "evaluate qa": "tests/qa/test_evaluate.py",
    "evaluate longform": "tests/longform/test_evaluate.py",
    "evaluate tanq": "tests/tanq/test_evaluate.py",
    "evaluate streambench": "tests/streambench/test_evaluate_command.py",
    "lineage first/figures.json": "tests/qa/test_evaluate.py",
    "lineage data/evaluations/": "tests/flows/test_evaluate.py",
    "lineage data/nightly/": "tests/flows/nights/test_recorded.py",
    "run --replay longform-set-page@many": "tests/longform/test_spider_replay.py",
    "compare v1.0": "tests/flows/comparing/test_compare.py",
    "compare 2031": "tests/flows/comparing/test_compare.py",
    "compare closed": "tests/flows/comparing/test_compare.py",
    "compare ragcheck": "tests/flows/comparing/test_compare.py",
    "compare first": "tests/qa/test_evaluate.py",
    "compare data/": "tests/flows/comparing/test_compare.py",
    "nightly": "tests/flows/nights/test_night_drills.py",
    "review serve": "tests/browser/test_review_page.py",
    "review import": "tests/flows/test_review.py",
    "publish films --hub": "tests/flows/publishing/test_publish.py",
    "model pull": "tests/models/test_embedded_model.py",
    "ledger import": "tests/flows/commands/test_ledger.py",
    "ledger serve": "tests/models/test_ledger_server.py",
    "score": "tests/flows/commands/test_score.py",
    "import spider": "tests/flows/test_import_spider.py",
    "import cosql": "tests/flows/test_import_streams.py",
    "import bird": "tests/flows/test_import_streams.py",
    "import ds1000": "tests/flows/test_import_streams.py",
    "import toolbench": "tests/flows/test_import_streams.py",
    "import ddxplus": "tests/flows/test_import_streams.py",
    "import hotpotqa": "tests/flows/test_import_streams.py",
    "import streambench": "tests/streambench/test_released_set.py",
    "import wikidata": "tests/flows/test_import_wikidata.py",
    "import wikipedia": "tests/flows/test_import_wikipedia.py",
    "import templates": "tests/flows/test_own_templates.py",
    "run streambench-evaluation-page@hotpotqa": "tests/flows/adding/test_new.py",
    "import own-tables": "tests/tanq/test_import_own_tables.py",
    "run tanq-items@cinema": "tests/tanq/test_import_own_tables.py",
    "import trivia": "tests/flows/test_own_import.py",
}
"""First words of commands that need more than the sample -> the test that runs these commands.

tests/test_tutorial.py runs the commands of the tutorial.
"""
PLUGGED = "import trivia"
"""An importer defined in docs/plugs.md."""
ON_THE_SAMPLE = (
    "status",
    "plan --json",
    "compare films-weak films-good",
    "lineage data/reports/",
    "lineage data/grammar/films",
    "lineage dvc.lock",
    "run longform",
    "run --replay",
    "run grammar.",
    "run streambench",
    "stage grammar.contracts films",
    "graph",
    "doctor",
    "report",
    "plan longform",
    "plan tanq",
    "review export",
    "publish films films-dataset",
    "publish films-good --to",
    "ledger stats",
)
"""First words of commands that are run on the sample."""


TUTORIAL = "docs/tutorial.md"
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")

COMMANDS = list_documented()
SHORT = "MissingParameter"
"""Errors for a command that a sentence mentions without its arguments."""


def begins(command: DocumentedCommand, words: str) -> bool:
    """Return whether a command begins with the given words; the last word may be a prefix."""
    return " ".join(command.words).startswith(words)


def read_strictly(words: Sequence[str]) -> None:
    """Parse a command like the command line. Parser errors are raised; a group alone is valid."""
    own, name = typer.main.get_command(app), "benchloom"
    while words and hasattr(own, "commands") and not words[0].startswith("-"):
        name, *words = words
        assert name in own.commands, f"there is no command {name}"
        own = own.commands[name]
    if words and not EAGER & set(words):
        own.make_context(name, list(words))


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if not begins(command, PLUGGED)], ids=str
)
def test_it_is_a_command_with_such_options(command: DocumentedCommand) -> None:
    try:
        read_strictly(command.words)
    except Exception as error:
        if command.block or type(error).__name__ != SHORT:
            raise


def list_run() -> list[DocumentedCommand]:
    """List the distinct commands that can run on the sample."""
    chosen = {
        command.words: command
        for command in COMMANDS
        if (command.words == ("run",) or any(begins(command, words) for words in ON_THE_SAMPLE))
        and not any(begins(command, words) for words in ELSEWHERE)
        and not PLACEHOLDER.search(" ".join(command.words))
        and command.page != TUTORIAL
    }
    return list(chosen.values())


def test_every_command_on_a_line_of_its_own_is_run_somewhere() -> None:
    there = {words: path for words, path in ELSEWHERE.items() if (ROOT / path).is_file()}
    assert there == ELSEWHERE
    run = {command.words for command in list_run()}
    untried = [
        str(command)
        for command in COMMANDS
        if command.block and command.words not in run
        if not any(begins(command, words) for words in ELSEWHERE) and command.page != TUTORIAL
    ]
    assert untried == []


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The whole sample, replayed and committed."""
    made = make_sample(tmp_path_factory.mktemp("documented"))
    made.run()
    return made


@pytest.mark.drill
@pytest.mark.parametrize("command", list_run(), ids=str)
def test_it_runs_on_the_sample(command: DocumentedCommand, sample: Sample) -> None:
    replayed = ["--replay"] if command.words[0] == "run" and "--replay" not in command.words else []
    done = sample.call("flows.cli", *command.words, *replayed)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout + done.stderr, "it says nothing"
