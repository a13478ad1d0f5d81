"""Create entries for `benchloom add model` and `add judge`: test an endpoint and assign its roles."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flows.adding.addition import Addition, require_model_name, require_name, require_new, trying
from flows.adding.hosted import OPENAI_ADDRESS, OPENAI_KEY, OPENAI_URL
from flows.parameters import Parameters, refuse, suggest, validate
from flows.run.model_settings import read_mapping, read_models
from flows.settings import get_section
from tasks.errors import BadInput
from tasks.grammar.construct.sql_templates import FREE
from tasks.models.abilities import Abilities, EndpointTrial
from tasks.models.ask import Role
from tasks.models.opening import open_client
from tasks.models.sending.budget import Budget
from tasks.models.settings import EmbeddedModel, Endpoint, Price

EMBEDDED: Mapping[str, object] = {"kind": "embedded", "in_flight": 1, "deadline_s": 3600, "timeout_s": 600}
"""Settings of an embedded model, which is slow and answers one call at a time."""
EMBEDDER, GENERATOR, JUDGE, ALL = "embedder", "generator", "judge", "all"
FREE_SQL: Mapping[tuple[str, ...], object] = {
    ("grammar", "sql_templates", "dialect"): "any",
    ("grammar", "second_reading", "by"): "model",
}
"""Settings for a generator that writes SQL without a grammar.

Any SELECT is allowed. The role `reader` checks what each text means.
"""
REASONING_TOKENS = 8192
"""Minimum `max_tokens` for a model that reasons before it replies: reasoning counts towards the limit."""
WORDS = {
    "json_schema": "JSON schema",
    "grammar": "GBNF grammar",
    "tools": "tools",
    "logprobs": "log probabilities",
}


@dataclass(frozen=True)
class ModelOptions:
    """The endpoint of a model, and its roles. Prices are in US dollars per million tokens."""

    endpoint: str | None = None
    key_env: str | None = None
    served_model: str | None = None
    roles: Sequence[str] = ()
    """Names of roles; an element may contain several names, separated by commas.

    An empty sequence or `all` means all roles except embedders.
    """
    input_price: float | None = None
    output_price: float | None = None
    tried: bool = True
    replace: bool = False


def add_model(params: Parameters, name: str, options: ModelOptions) -> Addition:
    """Test a model and return its entry under `run.endpoints` with its roles.

    Raises BadInput if the name is invalid or taken, or if the test fails.
    """
    require_model_name(name)
    keys = ("run", "endpoints", name)
    require_new(params, keys, replace=options.replace)
    roles = choose_roles(params, options.roles)
    return make_addition(params, "model", name, options, roles)


def add_judge(params: Parameters, name: str, options: ModelOptions, role: str = JUDGE) -> Addition:
    """Return the entries that make a model a judge.

    `name`: an endpoint in `run.endpoints`, or a new endpoint that the options describe. `role`: `judge`, or a
    new role for an additional judge. Raises BadInput if the options conflict with each other or with
    params.yaml, or if the test fails.
    """
    require_model_name(name)
    keys = ("run", "endpoints", name)
    if options.endpoint is not None:
        require_new(params, keys, replace=options.replace)
    elif options.served_model or options.key_env:
        option = "--served-model" if options.served_model else "--key-env"
        raise BadInput(
            option,
            "can be used only with --endpoint",
            hint="to change an existing endpoint, edit run.endpoints in params.yaml",
        )
    elif name not in read_models(params)[0].endpoints:
        raise refuse(
            params, keys, "is missing", hint=f"use --endpoint URL, or first run: benchloom add model {name}"
        )
    judges = choose_roles(params, (JUDGE,))
    if role != JUDGE:
        return add_further_judge(params, name, options, role)
    return make_addition(params, "judge", name, options, judges)


def add_further_judge(params: Parameters, name: str, options: ModelOptions, role: str) -> Addition:
    """Create a role for an additional judge, with the settings of the role `judge` except for the model."""
    require_name(role)
    require_new(params, ("roles", role), replace=options.replace)
    first: Mapping[str, object] = params["roles"][JUDGE]
    with_role = Parameters({**params, "roles": {**params["roles"], role: first}}, params.path)
    addition = make_addition(with_role, "judge", name, options, [role])
    changed = {keys[-1]: value for keys, value in addition.values.items() if keys[:2] == ("roles", role)}
    kept = {keys: value for keys, value in addition.values.items() if keys[:2] != ("roles", role)}
    return replace(
        addition,
        values={**kept, ("roles", role): {**first, **changed}},
        said=[
            *addition.said,
            f"to use this judge in an evaluation, list its role: judges: [{JUDGE}, {role}]",
        ],
    )


def make_addition(
    params: Parameters, kind: str, name: str, options: ModelOptions, roles: Sequence[str]
) -> Addition:
    """Test a model for the given roles; return its endpoint, its prices and the changes to the roles."""
    keys = ("run", "endpoints", name)
    fields = find_fields(params, name, options)
    declared: Endpoint = validate(Endpoint, fields, keys, params)
    endpoint = declared
    abilities: Abilities | None = None
    if options.tried:
        with trying(params, keys):
            embeds = bool(roles) and list_embedders(params, roles) == roles
            endpoint, abilities = try_model(params, name, endpoint, embeds=embeds)
    if endpoint.omit != declared.omit:
        fields["omit"] = list(endpoint.omit)
    if endpoint.token_limit != declared.token_limit:
        fields["token_limit"] = endpoint.token_limit
    values: dict[tuple[str, ...], object] = {keys: fields}
    if options.input_price is not None or options.output_price is not None:
        price = Price(
            input_usd_per_million=options.input_price or 0.0,
            output_usd_per_million=options.output_price or 0.0,
        )
        values["run", "prices", name] = price.model_dump(exclude_defaults=True)
    said = list_lines(endpoint, abilities, roles)
    for role in roles:
        changed = set_role(params, role, name, endpoint, abilities)
        values |= {("roles", role, key): value for key, value in changed.items()}
        if role == GENERATOR and writes_freely(params, changed):
            values |= FREE_SQL
            said += [f"{'.'.join(keys)}: {value}" for keys, value in FREE_SQL.items()]
    found = {} if abilities is None else describe_abilities(endpoint, abilities)
    return Addition(kind, name, values, found, said, "benchloom plan")


def find_fields(params: Parameters, name: str, options: ModelOptions) -> dict[str, object]:
    """Return the fields of a model's entry.

    The fields come from the given URL, from params.yaml, or from an OpenAI key in the environment. Raises
    BadInput if the model's URL is unknown.
    """
    given = {"key_env": options.key_env, "served_model": options.served_model}
    named = {key: value for key, value in given.items() if value is not None}
    run, models = read_models(params)
    if options.endpoint is not None:
        return {"kind": "openai", "url": options.endpoint, **named}
    if name in run.endpoints:
        return {**params["run"]["endpoints"][name], **named}
    if name in models:
        return dict(EMBEDDED)
    if options.key_env is None and os.environ.get(OPENAI_KEY):
        url = os.environ.get(OPENAI_ADDRESS) or OPENAI_URL
        return {"kind": "openai", "url": url, "key_env": OPENAI_KEY, **named}
    raise BadInput(
        f"model {name}",
        "has no URL",
        hint="give --endpoint URL --key-env VAR, or set OPENAI_API_KEY",
    )


def choose_roles(params: Parameters, wanted: Sequence[str]) -> list[str]:
    """Return the roles to assign to a model: the named roles, or by default all except embedders.

    Raises BadInput, with a line number, for a role that params.yaml lacks.
    """
    there = read_mapping(params, "roles", Role)
    named = [role for text in wanted for word in text.split(",") if (role := word.strip())]
    wanted = [] if ALL in named else named
    if unknown := next((role for role in wanted if role not in there), None):
        raise refuse(params, ["roles", unknown], "is not a role", hint=suggest(unknown, list(there)))
    embedders = list_embedders(params, there)
    return list(dict.fromkeys(wanted)) or [role for role in there if role not in embedders]


def list_embedders(params: Parameters, roles: Iterable[str]) -> list[str]:
    """Return the given roles that embed texts."""
    there = read_mapping(params, "roles", Role)
    models: Mapping[str, EmbeddedModel] = read_models(params)[1]
    onnx = {name for name, model in models.items() if model.kind == "embedded-onnx"}
    return [role for role in roles if role == EMBEDDER or there[role].model in onnx]


def try_model(
    params: Parameters, name: str, endpoint: Endpoint, *, embeds: bool
) -> tuple[Endpoint, Abilities]:
    """Call an endpoint; return the endpoint with adjusted settings, and the model's capabilities.

    Raises ModelFailed if the endpoint gives no usable reply, and BadInput for invalid settings.
    """
    run, models = read_models(params)

    def open_endpoint(chosen: Endpoint) -> Any:
        return open_client(run.model_copy(update={"endpoints": {name: chosen}}), models, Budget())

    trial = EndpointTrial(name, endpoint, open_endpoint)
    abilities = asyncio.run(trial.embed() if embeds else trial.run())
    return trial.endpoint, abilities


def set_role(
    params: Parameters, role: str, model: str, endpoint: Endpoint, abilities: Abilities | None
) -> dict[str, object]:
    """Return the settings of a role that change when the role is assigned to a model."""
    there = read_mapping(params, "roles", Role)[role]
    if abilities is not None and abilities.embeds:
        return {"model": model}
    can = abilities or Abilities()
    embedded = endpoint.kind == "embedded"
    constrain = can.choose_constrain(embedded=embedded, writes=role == GENERATOR)
    wanted: dict[str, object] = {"constrain": constrain, "logprobs": can.logprobs}
    if can.reasons:
        wanted["max_tokens"] = max(there.max_tokens, REASONING_TOKENS)
    return {"model": model, **{key: value for key, value in wanted.items() if value != getattr(there, key)}}


def writes_freely(params: Parameters, changed: Mapping[str, object]) -> bool:
    """Return whether a generator writes SQL without a grammar or a JSON schema.

    `changed`: the new settings of the generator's role. Returns False in a project without GRAMMAR's
    sections.
    """
    constrain = {**params["roles"][GENERATOR], **changed}.get("constrain", "none")
    return constrain in FREE and all(
        get_section(params, ".".join(keys[:-1])) is not None for keys in FREE_SQL
    )


def describe_abilities(endpoint: Endpoint, abilities: Abilities) -> dict[str, object]:
    """Return a model's capabilities and limits as a JSON object."""
    limits = {
        "context": abilities.context,
        "in_flight": endpoint.in_flight,
        "requests_per_minute": endpoint.requests_per_minute,
        "tokens_per_minute": endpoint.tokens_per_minute,
        "token_limit": endpoint.token_limit,
        "omit": list(endpoint.omit),
    }
    if abilities.embeds:
        return {"embedding": abilities.embeds, "limits": limits}
    can = {name: getattr(abilities, name) for name in WORDS}
    unanswered = list(abilities.unanswered)
    return {**can, "reasons": abilities.reasons, "unanswered": unanswered, "limits": limits}


def list_lines(endpoint: Endpoint, abilities: Abilities | None, roles: Sequence[str]) -> list[str]:
    """Format a model's capabilities and its roles as lines."""
    lines = [f"roles: {', '.join(roles)}"] if roles else []
    if abilities is None:
        return [*lines, "not tested: replies are checked by parsers only (constrain: none)"]
    if abilities.embeds:
        return [f"embeds texts as vectors of {abilities.embeds} numbers", *lines]
    can = [said for name, said in WORDS.items() if getattr(abilities, name)]
    cannot = [said for name, said in WORDS.items() if not getattr(abilities, name)]
    lines.insert(0, f"can: text{''.join(f', {said}' for said in can)}")
    if cannot:
        lines.insert(1, f"cannot: {', '.join(cannot)}")
    if abilities.unanswered:
        forms = ", ".join(WORDS[form] for form in abilities.unanswered)
        lines.append(
            f"no reply to a request for {forms}; if the endpoint failed, add the model again with --replace"
        )
    if abilities.reasons:
        lines.append(
            f"reasons before it answers, so max_tokens of its roles is at least {REASONING_TOKENS:,}"
        )
    window = f"a context of {abilities.context:,} tokens, " if abilities.context else ""
    lines.append(f"limits: {window}{endpoint.in_flight} calls at a time")
    if endpoint.omit:
        lines.append(f"the endpoint refuses {', '.join(endpoint.omit)}, so requests omit this")
    return lines
