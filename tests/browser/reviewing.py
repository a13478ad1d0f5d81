"""The page of `benchloom review serve`: served in a process of its own, and driven by two reviewers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.judging.decisions import load_decisions

SERVE = [sys.executable, "-c", "from flows.cli import main; main()", "review", "serve"]
ROOT = str(Path(__file__).parents[2])
ARTIFACT = "data/trial/sample/condense.parquet"
DECISIONS = "data/labels/review/trial-sample-condense.jsonl"
QUESTIONS = ("Which film won?", "Does Paramount stand out?", "Is Delta later than United?", "Who is ahead?")
KEPT = {"Anna": ["accept", "edit", "reject"], "Ben": ["accept", "edit", "reject"]}


@dataclass(frozen=True)
class ReviewedQuestion:
    """A row to review."""

    id: str
    text: str
    origin: tuple[Origin, ...]


@contextmanager
def serve_review(
    artifact: str, *words: str, root: Path | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve an artifact of a project (else of the working directory); give its URL and the process."""
    # What is installed is the launcher alone: away from the checkout the code is found here.
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    server = subprocess.Popen(
        [*SERVE, artifact, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url or server.stderr is None, server.stderr.read()
        yield url, server
    finally:
        server.kill()
        server.communicate()


def make_project(root: Path) -> Path:
    """Make a project with four questions to review."""
    root.mkdir()
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).write_text("{}\n")
    rows = [ReviewedQuestion(f"q{number}", text, ()) for number, text in enumerate(QUESTIONS)]
    write_rows(root / ARTIFACT, ReviewedQuestion, rows)
    return root


def review(page: Page, name: str) -> None:
    """Accept one question, edit one, reject one, and load the page anew, as one reviewer."""
    page.fill("#name", name)
    page.keyboard.press("Enter")
    heading = page.locator("#item h2")
    expect(heading).to_contain_text("1 of 4")
    page.keyboard.press("a")
    expect(heading).to_contain_text("2 of 4")
    page.keyboard.press("e")
    page.fill("#item textarea", f"{name} asks this?")
    page.keyboard.press("Control+Enter")
    expect(heading).to_contain_text("3 of 4")
    page.keyboard.press("r")
    expect(heading).to_contain_text("4 of 4")
    expect(page.locator("#said")).to_have_text("Saved.")
    page.reload()
    expect(page.locator("#count")).to_have_text("3 of 4 decided")


def list_lost(root: Path) -> list[str]:
    """Name the reviewers who decided something else than KEPT says is in the file."""
    standing = load_decisions(root / DECISIONS).standing
    found = {name: sorted(acts[name].decision for acts in standing.values() if name in acts) for name in KEPT}
    return [f"review: {name} decided {found[name]}" for name in KEPT if found[name] != KEPT[name]]
