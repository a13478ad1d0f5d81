"""All flows by name. A new paper is one line here, a page of steps, and its stages in dvc.yaml."""

from __future__ import annotations

from flows.grammar import GRAMMAR
from flows.ragcheck import RAGCHECK
from flows.steps import Paper, Step

PAPERS: tuple[Paper, ...] = (GRAMMAR, RAGCHECK)


def find_paper(name: str) -> Paper | None:
    """Find a flow by its name."""
    return next((paper for paper in PAPERS if paper.name == name), None)


def find_step(stage: str) -> Step:
    """Find how a stage is to be run; a stage of the user's own is run once."""
    found = (paper.find(stage) for paper in PAPERS)
    return next((step for step in found if step is not None), Step(stage))
