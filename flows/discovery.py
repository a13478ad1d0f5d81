"""Find the flows of a project: flows/<paper>.py declares the flow of tasks/<paper>/."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from flows.stage import Flow, Scope, Stage
from tasks.errors import BadInput

FOLDER = Path(__file__).parent


@cache
def list_flows() -> tuple[Flow, ...]:
    """List the flows, sorted by name.

    Raises BadInput unless flows/<paper>.py declares exactly one flow, which is named <paper>.
    """
    pages = (place.stem for place in sorted(FOLDER.glob("*.py")))
    return tuple(_load(name) for name in pages if (FOLDER.parent / "tasks" / name).is_dir())


def find_flow(name: str) -> Flow | None:
    """Find a flow by its name; return None if there is none."""
    return next((flow for flow in list_flows() if flow.name == name), None)


def find_flow_of(stage: str) -> Flow | None:
    """Find the flow that declares a stage; return None for a stage that the user added to dvc.yaml."""
    return next((flow for flow in list_flows() if flow.find(stage)), None)


def find_stage(name: str) -> Stage | None:
    """Find a declared stage; return None for a stage that the user added to dvc.yaml."""
    return next((stage for flow in list_flows() if (stage := flow.find(name))), None)


def find_section_of(stage: str) -> str:
    """Return the section of params.yaml whose entries a stage runs for; empty if the stage runs only once."""
    declared = find_stage(stage)
    return declared.scope.over if declared is not None else ""


def list_stages() -> tuple[Stage, ...]:
    """List the stages of all flows, in the order of declaration."""
    return tuple(stage for flow in list_flows() for stage in flow.stages)


def list_scopes() -> tuple[Scope, ...]:
    """List the distinct scopes (groups of stages) of all flows."""
    return tuple(dict.fromkeys(stage.scope for stage in list_stages()))


def list_evaluating() -> tuple[Scope, ...]:
    """List the scopes (groups of stages) that evaluate systems."""
    return tuple(scope for scope in list_scopes() if scope.evaluates)


def _load(name: str) -> Flow:
    page = importlib.import_module(f"flows.{name}")
    flows = [value for value in vars(page).values() if isinstance(value, Flow)]
    if len(flows) != 1 or flows[0].name != name:
        raise BadInput(
            f"flows/{name}.py",
            f"must declare one flow named {name!r}, because tasks/{name}/ exists",
            hint="see docs/architecture.md",
        )
    return flows[0]
