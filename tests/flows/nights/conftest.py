"""Fixtures: the project with the inputs of a nightly run, and an endpoint for its calls."""

import os
import shutil
from collections.abc import Iterator

import pytest

from flows.run.prefect_server import server_folder
from flows.run.servers import stop_servers
from tests.flows.asked import Asked
from tests.flows.night_model import NightModel
from tests.flows.nights.night_project import GROUND, commit, list_branches, run_git, set_param
from tests.flows.sample import Sample, make_sample
from tests.models.scenes import answering


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Sample:
    """The project with all inputs of a nightly run, replayed from the shipped ledger and committed."""
    sample = make_sample(tmp_path_factory.mktemp("night"), built=True)
    sample.run(*GROUND)
    (sample.root / os.fsdecode(b"a name that is no text\xe9\n")).write_text("of the user's")
    commit(sample, "Begin")
    return sample


@pytest.fixture
def model(built) -> Iterator[NightModel]:
    model = NightModel()
    model.counted = Asked(built.root / ".benchloom/drill.sqlite", model.answer)
    with answering(model.counted.handle) as url:
        params = built.root / "params.yaml"
        before = params.read_text()
        set_param(built, f"run.endpoints.qwen25-coder-1b5={{kind: openai, url: '{url}', in_flight: 16}}")
        set_param(built, "nightly.assessments=[films-weak]")
        yield model
        params.write_text(before)
    # Remove Prefect's database, too, which contains flow runs of earlier tests.
    stop_servers(server_folder(built.root))
    shutil.rmtree(server_folder(built.root) / "prefect", ignore_errors=True)
    shutil.rmtree(built.root / "data/nightly", ignore_errors=True)
    shutil.rmtree(built.root / ".benchloom/nightly", ignore_errors=True)
    run_git(built, "worktree", "prune")
    for branch in list_branches(built):
        run_git(built, "branch", "-q", "-D", branch)


@pytest.fixture
def without_rules(built: Sample) -> Iterator[None]:
    """Let the judge rate every answer, since rules would rate most of the model's answers as wrong."""
    params = built.root / "params.yaml"
    before = params.read_text()
    set_param(built, "grammar.judgements.rules=false")
    commit(built, "Ask the judge about every answer")
    yield
    params.write_text(before)
    commit(built, "Let rules decide first")
