"""Add the answer files, models and endpoints from `benchloom evaluate` options to the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from flows.settings import get_section
from tasks.errors import BadInput
from tasks.models.settings import Endpoint
from tasks.systems.entries import OpenAiEntry, ReplayEntry, SystemEntry
from tasks.systems.evaluation import EvaluationOptions
from tasks.systems.replayed import digest_answers


def check_outside(options: EvaluationOptions) -> None:
    """Raise BadInput if an evaluation outside a project lacks a required system, judge or endpoint."""
    if options.answers is None and not options.by_model:
        raise BadInput(
            f"--system {options.system}",
            "requires a project with this system in params.yaml",
            hint="use --model NAME --endpoint URL or --answers FILE, or `cd` into a project",
        )
    if options.score in ("judge", "both") and not options.judge:
        raise BadInput(
            f"--score {options.score}",
            "needs --judge, because this folder is not in a project",
            hint="add --judge NAME --endpoint URL",
        )
    if (options.by_model or options.judge) and not options.endpoint:
        named = f"--model {options.system}" if options.by_model else f"--judge {options.judge}"
        raise BadInput(
            named,
            "requires a project with the model's URL in params.yaml",
            hint="use --endpoint URL, and --key-env NAME if the endpoint needs a key",
        )


def add_answers(root: Path, params: Mapping[str, object], name: str, file: Path) -> Mapping[str, object]:
    """Return the parameters with a system that replays the answers from a file.

    Raises BadInput if params.yaml already has a system of this name.
    """
    place = file.relative_to(root) if file.is_relative_to(root) else file
    entry = ReplayEntry(kind="replay", version=digest_answers(file), file=str(place))
    return {**params, "systems": _add_system(params, name, entry, "--answers")}


def add_model(params: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the parameters with a system that is only a model.

    The model gets a new role, which has the settings of the role `answerer`. Raises BadInput if params.yaml
    already has a system of this name.
    """
    role = f"model-{name}"
    entry = OpenAiEntry(kind="openai", role=role)
    return {
        **add_role(params, role, "answerer", name),
        "systems": _add_system(params, name, entry, "--model"),
    }


def add_role(params: Mapping[str, object], role: str, like: str, model: str) -> Mapping[str, object]:
    """Return the parameters with a new role for a model; its other settings come from the role `like`."""
    roles = cast("Mapping[str, Mapping[str, object]]", get_section(params, "roles") or {})
    return {**params, "roles": {**roles, role: {**(roles.get(like) or {}), "model": model}}}


def add_endpoint(params: Mapping[str, object], options: EvaluationOptions) -> Mapping[str, object]:
    """Return the parameters with an endpoint at the URL `--endpoint` for each model that an option names.

    If params.yaml already has an endpoint for the judge, the judge keeps that endpoint. Raises BadInput if
    `--endpoint` is not a URL, if no model needs an endpoint, or if params.yaml already has an endpoint for
    the evaluated model. Also raises BadInput for `--key-env` without `--endpoint`.
    """
    if not options.endpoint:
        if options.key_env:
            raise BadInput("--key-env", "needs --endpoint")
        return params
    run = cast("Mapping[str, object]", get_section(params, "run") or {})
    there = cast("Mapping[str, object]", run.get("endpoints") or {})
    # params.yaml may already have an endpoint for the judge.
    judges = [options.judge] if options.judge and options.judge not in there else []
    models = [*([options.system] if options.by_model else []), *judges]
    if not models:
        raise BadInput("--endpoint", "needs a model", hint="add --model NAME")
    endpoint = {"url": options.endpoint, **({"key_env": options.key_env} if options.key_env else {})}
    _check_endpoint(endpoint)
    for model in models:
        if model in there:
            raise BadInput(
                "--endpoint",
                f"params.yaml already has run.endpoints.{model}",
                hint="omit --endpoint, or name another model",
            )
    return {**params, "run": {**run, "endpoints": {**there, **dict.fromkeys(models, endpoint)}}}


def _check_endpoint(endpoint: Mapping[str, str]) -> None:
    try:
        Endpoint.model_validate(endpoint)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        option = "--key-env" if "key_env" in first["loc"] else "--endpoint"
        # The message omits the value, which may contain a password.
        raise BadInput(option, first["msg"].removeprefix("Value error, ")) from None


def _add_system(
    params: Mapping[str, object], name: str, entry: SystemEntry, option: str
) -> Mapping[str, object]:
    systems = cast("Mapping[str, object]", params.get("systems") or {})
    if name in systems:
        raise BadInput(
            f"{option} {name}",
            "is already the name of a system in params.yaml",
            hint="choose another name with --system",
        )
    return {**systems, name: entry.model_dump(mode="json", exclude_defaults=True)}
