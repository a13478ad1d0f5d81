"""Set the parameters of a preview: as many SQL templates as its questions need.

A whole run asks for every kind of template until there are enough, and a preview of three questions would ask
as much. No stage reads this module, and no request of a whole run depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

QUESTIONS_A_TEMPLATE = 4
LEAST_TEMPLATES = 2
"""A text is checked against another template than its own."""
REQUESTS_A_TEMPLATE = 2
SPARE = 2
"""How many times the groups that are read are made: some templates have no answers, or no texts."""


def shrink(params: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return the parameters by which the flow makes about `limit` questions.

    With N questions it makes T = N / 4 templates, at least two. It sends at most 2 T requests for SQL, and T
    for texts of each criterion.
    """
    grammar = dict(read(params, "grammar"))
    templates = max(LEAST_TEMPLATES, math.ceil(limit / QUESTIONS_A_TEMPLATE))
    kinds = read(grammar, "sql_templates").get("kinds")
    if isinstance(kinds, Mapping) and all(map(is_countable, kinds.values())):
        sql = read(grammar, "sql_templates")
        ranked = rank_kinds(kinds, sql.get("only"), read(params, "databases"))
        grammar["sql_templates"] = {**sql, "kinds": share_templates(kinds, ranked, templates)}
    sql = read(grammar, "sql_templates")
    if sql.get("dialect") == "any":
        coverage = {**read(sql, "coverage"), "rounds": 1, "requests": templates}
        grammar["sql_templates"] = {**sql, "coverage": coverage}
    criteria = read(grammar, "text_templates").get("criteria")
    if isinstance(criteria, Mapping) and all(
        isinstance(criterion, Mapping) for criterion in criteria.values()
    ):
        single = {name: {**criterion, "samples": 1} for name, criterion in criteria.items()}
        grammar["text_templates"] = {**read(grammar, "text_templates"), "criteria": single}
        grammar["balanced"] = {**read(grammar, "balanced"), "texts": 1}
    # A preview reads the first N groups: without a cap they would all be of the first template.
    fill_in, most = read(grammar, "fill_in"), math.ceil(SPARE * limit / templates)
    if isinstance(grammar.get("fill_in", {}), Mapping) and type(fill_in.get("cap", 0)) in (int, type(None)):
        grammar["fill_in"] = {**fill_in, "cap": min(fill_in.get("cap") or most, most)}
    return {**params, "grammar": grammar}


def read(section: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping within a section; an empty one if there is none.

    What is not valid is left as it is: the stage that reads it names it with its line.
    """
    part = section.get(name)
    return part if isinstance(part, Mapping) else {}


def is_countable(kind: object) -> bool:
    """Return whether a kind of template says how many templates and requests it has."""
    counts = [kind.get(name) for name in ("templates", "requests")] if isinstance(kind, Mapping) else [None]
    return all(type(count) is int and count >= 0 for count in counts)


def rank_kinds(kinds: Mapping[str, Any], only: list[str] | None, databases: Mapping[str, Any]) -> list[str]:
    """List kinds, those first that the most databases ask for. only: for databases that name none."""
    usual = only or list(kinds)
    asked = [read(databases, name).get("kinds") or usual for name in databases]
    return sorted(kinds, key=lambda name: -sum(name in names for names in asked))


def share_templates(kinds: Mapping[str, Any], ranked: list[str], templates: int) -> dict[str, Any]:
    """Give templates to kinds in turn, in the order of their rank, and requests for them."""
    counts = dict.fromkeys(kinds, 0)
    room = sum(kind["templates"] for kind in kinds.values())
    while sum(counts.values()) < min(templates, room):
        for name in ranked:
            if counts[name] < kinds[name]["templates"] and sum(counts.values()) < templates:
                counts[name] += 1
    return {
        name: {
            **kind,
            "templates": counts[name],
            "requests": min(kind["requests"], REQUESTS_A_TEMPLATE * counts[name]),
        }
        for name, kind in kinds.items()
    }
