"""Stage: compute Tables 3 and 4 for a question set (TANQ, section 3.4), and count dropped rows by reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.reports.tables import round_figures
from tasks.tanq.build.skill_use import (
    APPROXIMATION,
    CONVERSION,
    DATE_TO_YEAR,
    FILTER_ENTITY,
    FILTER_NUMBER,
    FILTER_TIME,
    SKILLS,
    TIME_CALCULATION,
)
from tasks.tanq.build.tables import AnswerTable
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.seed_question import KINDS
from tasks.tanq.graph.showing import ITEM, QUANTITY, TEXT, TIME

VALUES = (ITEM, TIME, QUANTITY, TEXT)
"""The kinds of values in the order of TANQ's Table 3."""
NEEDS: Mapping[str, tuple[str, int, str]] = {
    FILTER_NUMBER: (QUANTITY, 1, "numbers"),
    FILTER_TIME: (TIME, 1, "dates"),
    FILTER_ENTITY: (ITEM, 1, "names of things"),
    DATE_TO_YEAR: (TIME, 1, "dates"),
    CONVERSION: (QUANTITY, 1, "numbers"),
    TIME_CALCULATION: (TIME, 2, "dates"),
    APPROXIMATION: (QUANTITY, 1, "numbers"),
}
"""Map each skill to the required kind of values, required number of columns, and a noun for the values."""
DEFINITIONS = {
    "types": "The table shows how many facts the cells of the answer tables contain, by kind of value. It "
    "includes rows that a filter removes. A fact in several cells counts once.",
    "no_skill": "No skill: questions without a filter, conversion, calculation or approximation.",
    "skills": "A question counts under each of its skills.",
    "tokens": "The tokens are the words of the question, split at spaces.",
    "rows": "The mean is over answer tables, without the rows that a filter removes.",
    "columns": "The mean is over answer tables, and includes the entity column.",
    "relations": "The mean is the average number of relations that a question adds to its list question.",
}
"""Definitions of counts that the TANQ paper does not define."""


def statistics(
    items: list[TanqItem],
    tables: list[AnswerTable],
    relations: list[Relation],
    list_questions_dropped: Path,
    extend_dropped: Path,
    proofs_dropped: Path,
    candidates_dropped: Path,
    verify_dropped: Path,
    tables_dropped: Path,
    rephrase_dropped: Path,
    skills_dropped: Path,
    items_dropped: Path,
    out: Path,
) -> Counts:
    """Write the statistics of a question set as JSON; shares are from 0 to 1.

    The statistics include TANQ's Tables 3 and 4, means, unused skills, and the dropped rows by reason.
    """
    lost = (
        list_questions_dropped,
        extend_dropped,
        proofs_dropped,
        candidates_dropped,
        verify_dropped,
        tables_dropped,
        rephrase_dropped,
        skills_dropped,
        items_dropped,
    )
    absent = explain_absent(items, tables, {relation.id: relation.kind for relation in relations})
    figures = {
        "items": len(items),
        "definitions": DEFINITIONS,
        "types": count_types(items),
        "kinds": share_out(Counter(item.kind for item in items), KINDS, len(items)),
        "skills": count_skills(items),
        "skills_per_question": count_numbers(items),
        "with_skill": sum(bool(item.skills) for item in items) / len(items) if items else None,
        "means": compute_means(items),
        "shapes": count_shapes(items),
        "absent_skills": absent,
        "proofs": len({proof.id for item in items for proof in item.proofs}),
        "answer_tables": len(tables),
        "dropped": {path.name.partition(".")[0]: count_reasons(path) for path in lost},
    }
    write_text(out, json.dumps(round_figures(figures), indent=1, ensure_ascii=False) + "\n")
    return Counts(len(items), len(items), {})


def count_types(items: Sequence[TanqItem]) -> dict[str, dict[str, float | int | None]]:
    """Count the facts in cells by the kind of value (TANQ, Table 3)."""
    kinds = {
        fact: column.kind
        for item in items
        for row in item.rows
        for column, cell in zip(item.columns, row.cells, strict=True)
        if column.relation
        for fact in cell.facts
    }
    return share_out(Counter(kinds.values()), VALUES, len(kinds))


def count_skills(items: Sequence[TanqItem]) -> dict[str, dict[str, float | int | None]]:
    """Count the questions without a skill, and the uses of each skill (TANQ, Table 4, middle).

    A question that uses a skill twice counts twice. Shares are relative to the number of questions.
    """
    counts = Counter(use.name for item in items for use in item.skills)
    counts["no_skill"] = sum(not item.skills for item in items)
    return share_out(counts, ("no_skill", *SKILLS), len(items))


def count_numbers(items: Sequence[TanqItem]) -> dict[str, dict[str, float | int | None]]:
    """Count questions by their number of skills."""
    most = max([3, *(len(item.skills) for item in items)])
    counts = Counter(str(len(item.skills)) for item in items)
    return share_out(counts, [str(number) for number in range(most + 1)], len(items))


def share_out(
    counts: Mapping[str, int], names: Sequence[str], total: int
) -> dict[str, dict[str, float | int | None]]:
    """Return each count with its share of the total; the share is None if the total is 0."""
    return {
        name: {
            "count": counts.get(name, 0),
            "share": counts.get(name, 0) / total if total else None,
        }
        for name in names
    }


def compute_means(items: Sequence[TanqItem]) -> dict[str, float | None]:
    """Return the mean number of tokens, rows, columns and relations per item; all None without items."""
    sizes = {
        "tokens": [len(item.question.split()) for item in items],
        "rows": [sum(row.filter_pass for row in item.rows) for item in items],
        "columns": [len(item.columns) + 1 for item in items],
        "relations": [len(item.relations) for item in items],
    }
    return {name: fmean(values) if values else None for name, values in sizes.items()}


def count_shapes(items: Sequence[TanqItem]) -> dict[str, float | int | None]:
    """Return the number of shapes, and the share of questions with the most frequent shape."""
    shapes = Counter(item.shape for item in items)
    return {
        "count": len(shapes),
        "largest_share": max(shapes.values()) / len(items) if items else None,
    }


def explain_absent(
    items: Sequence[TanqItem], tables: Sequence[AnswerTable], kinds: Mapping[str, str]
) -> dict[str, str]:
    """Map each unused skill to the reason why no item uses the skill.

    kinds: maps each relation to the kind of its values.
    """
    present = {use.name for item in items for use in item.skills}
    absent = {}
    for skill in SKILLS:
        if skill in present:
            continue
        kind, least, words = NEEDS[skill]
        able = sum(
            sum(kinds.get(relation) == kind for relation in table.relations) >= least for table in tables
        )
        columns = "a column" if least == 1 else "two columns"
        absent[skill] = (
            f"{able:,} of {len(tables):,} tables have {columns} of {words}, but in none of them can the "
            "skill change the table and leave enough rows"
            if able
            else f"none of the {len(tables):,} tables has {columns} of {words}"
        )
    return absent


def count_reasons(path: Path) -> dict[str, int]:
    """Count the dropped rows of a stage by reason."""
    return dict(sorted(Counter(row.reason for row in read_rows(path, Dropped)).items()))
