"""The page on which people decide: one file, whose policy allows its own script and style alone."""

from __future__ import annotations

from dataclasses import dataclass

from flows.review.items import ReviewedArtifact
from tasks.reports.frame import render_alone

STYLES = ("report.css", "review.css")
SCRIPTS = ("core.js", "review.js")


@dataclass(frozen=True)
class ReviewPage:
    """The content of the page. count: number of items. editable: names of the columns to word anew."""

    artifact: str
    count: int
    editable: tuple[str, ...]


def render_review(artifact: ReviewedArtifact, count: int) -> str:
    """Render the page; its items come by the server, one at a time, and are never markup."""
    content = ReviewPage(artifact.path, count, artifact.editable)
    return render_alone("review.html", content, home="", styles=STYLES, scripts=SCRIPTS)
