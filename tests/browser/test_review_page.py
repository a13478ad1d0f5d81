"""Tests of the review page in Chromium with two reviewers, and of rejected requests by strangers."""

from pathlib import Path

import pytest

from tasks.judging.decisions import load_decisions
from tests.browser.look import look_at_review
from tests.browser.reviewing import DECISIONS, make_project
from tests.browser.watch import open_chromium


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("review") / "reviewed")


@pytest.mark.browser
def test_two_people_review_and_strangers_are_refused(project: Path, tmp_path: Path) -> None:
    with open_chromium() as browser:
        assert look_at_review(browser, project, tmp_path) == []
    assert sorted(picture.name for picture in tmp_path.iterdir()) == ["review.png", "review_dark.png"]
    decisions = load_decisions(project / DECISIONS)
    assert [decisions.decide(f"q{number}").state for number in range(4)] == [
        "split", "split", "rejected", "undecided",
    ]  # fmt: skip
