"""Say how much a model chose itself: what it picked from, and what was left out since it asked nothing."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from tasks.artifacts.statistics import name_beside
from tasks.grammar.construct.combinations import IDLE

DROPPED = re.compile(r"(\d+) of (\d+) combinations")


def describe_choices(sql_templates: Path, *, free: bool) -> str:
    """Describe who composed templates and texts. free: whether the role's decoding is not constrained."""
    choices = [
        count for count in pq.read_table(sql_templates, columns=["choices"])["choices"].to_pylist() if count
    ]
    if free:
        return "Decoding is not constrained: the model wrote queries and texts itself, and code checked them."
    if not choices:
        return "No query was picked from a list."
    spread = f"{min(choices)} to {max(choices)}" if min(choices) < max(choices) else f"{min(choices)}"
    return (
        f"Decoding is held to what code composes: each of {len(choices)} queries was picked among {spread} "
        f"(median {median(choices):g}), each text among a few wordings that keep the rules."
    )


def describe_idle(fill_in: Path, sql_templates: Path, *, sought: bool) -> str:
    """Describe what share of the combinations was left out, as one of their values changed nothing.

    sought: whether such combinations were looked for (`every_value_matters`).
    """
    if not sought:
        return "Of several values in a question, some may be idle: the answer would be the same without them."
    placeholders = pq.read_table(sql_templates, columns=["id", "placeholders"]).to_pylist()
    several = {row["id"] for row in placeholders if len(row["placeholders"]) > 1}
    beside = name_beside(fill_in, "dropped")
    left_out = seen = 0
    templates = set()
    for row in (
        pq.read_table(beside, columns=["reason", "detail", "origin"]).to_pylist() if beside.is_file() else []
    ):
        found = DROPPED.match(row["detail"])
        template = row["origin"][0]["reference"].partition("#")[2]
        if row["reason"] == IDLE and found and template in several:
            left_out, seen = left_out + int(found[1]), seen + int(found[2])
            templates.add(template)
    if not seen:
        return "In every combination of several values, each value is needed: none was left out for that."
    return (
        f"Of the combinations of several values of {len(templates)} queries that were looked at, "
        f"{left_out:,} of {seen:,} ({left_out / seen:.0%}) were left out, since one value could go "
        "without changing the answer; of those that are kept every value is needed."
    )
