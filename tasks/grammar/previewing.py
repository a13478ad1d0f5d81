"""Reduce the parameters for a preview, so that it requests only as many SQL templates as its questions need.

A full run requests every kind of template until there are enough templates. With the same parameters, a
preview of three questions would send as many requests as a full run. No stage imports this module, so full
runs are not affected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

QUESTIONS_A_TEMPLATE = 4
"""The number of questions per SQL template in a preview."""
LEAST_TEMPLATES = 2
"""The minimum number of SQL templates, because the back-check needs a second template."""
REQUESTS_A_TEMPLATE = 2
"""The maximum number of SQL requests per template."""
SPARE = 2
"""A preview fills this many groups for each group it needs, because some templates yield no questions."""


def shrink(params: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return the parameters for a preview with about `limit` questions.

    For N questions, the flow makes T = N / 4 SQL templates, at least two. The flow sends at most 2 T requests
    for SQL, and T requests for texts per criterion.
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
    # A preview reads the first N groups. Without a cap, all of these groups would be from the first template.
    fill_in, most = read(grammar, "fill_in"), math.ceil(SPARE * limit / templates)
    if isinstance(grammar.get("fill_in", {}), Mapping) and type(fill_in.get("cap", 0)) in (int, type(None)):
        grammar["fill_in"] = {**fill_in, "cap": min(fill_in.get("cap") or most, most)}
    return {**params, "grammar": grammar}


def read(section: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the mapping under a name in a section, or an empty mapping.

    Invalid values are not reported here, because the stage that reads them reports the line.
    """
    part = section.get(name)
    return part if isinstance(part, Mapping) else {}


def is_countable(kind: object) -> bool:
    """Return whether `templates` and `requests` of a kind of template are non-negative integers."""
    counts = [kind.get(name) for name in ("templates", "requests")] if isinstance(kind, Mapping) else [None]
    return all(type(count) is int and count >= 0 for count in counts)


def rank_kinds(kinds: Mapping[str, Any], only: list[str] | None, databases: Mapping[str, Any]) -> list[str]:
    """Return the kinds of template, sorted by the number of databases that use them, highest first.

    Databases without the setting `kinds` use the kinds in `only`, or every kind if `only` is empty.
    """
    usual = only or list(kinds)
    asked = [read(databases, name).get("kinds") or usual for name in databases]
    return sorted(kinds, key=lambda name: -sum(name in names for names in asked))


def share_templates(kinds: Mapping[str, Any], ranked: list[str], templates: int) -> dict[str, Any]:
    """Distribute `templates` over the kinds in order of rank, and reduce the requests of each kind."""
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
