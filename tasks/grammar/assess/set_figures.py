"""The figures of one set of judged rows: rates, tests, tags, wrong rows by module, gaps found again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tasks.grammar.assess.ablation import Withheld, diagnose, plant_gaps
from tasks.grammar.assess.contrast import compare_criteria, name_fault
from tasks.grammar.assess.judged import (
    GAP,
    MODES,
    MODULES,
    NON_ROBUST,
    ROBUST,
    RULES,
    JudgedRow,
    TaggedRow,
    check_identity,
    measure,
    tag_rows,
)
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import find_wilson_interval

Criteria = tuple[str, str]
"""A against B."""


def rate_set(rows: Sequence[JudgedRow], criteria: Sequence[str], intervals: Bootstrap) -> dict[str, Any]:
    """Rates of one set: of all its rows, tagged together, and of each criterion by itself."""
    parts = {"all": rows, **{name: [r for r in rows if r.criterion == name] for name in criteria}}
    rates: dict[str, Any] = {}
    for mode in MODES:
        rates[mode] = {}
        for name, part in parts.items():
            figures = measure(part, mode, intervals)
            scored = sum(row.judgement is not None for row in part)
            # accuracy = R (1 - lambda), Eq. 3: measure() raises where it does not hold.
            rates[mode][name] = {"n": len(part), "n_scored": scored, **figures}
            rates[mode][name]["identity"] = check_identity(figures)
    return rates


def contrast_set(rows: Sequence[JudgedRow], criteria: Criteria, intervals: Bootstrap) -> dict[str, Any]:
    """Test criterion A against B; tags over both together, so that gaps are mutual."""
    tests: dict[str, Any] = {}
    for mode in MODES:
        contrasts = compare_criteria(tag_rows(rows, mode), *criteria, intervals.draws, intervals.seed)
        tests[mode] = {
            "rates": {name: asdict(contrast) for name, contrast in contrasts.items()},
            "fault": {rule: name_fault(contrasts, rule) for rule in RULES},
        }
    return tests


def attribute_wrong(rows: Sequence[JudgedRow], criteria: Sequence[str]) -> dict[str, Any]:
    """Count wrong rows by the module that they are put down to."""
    return {
        mode: {
            rule: {
                name: _count_modules(
                    [row for row in tagged if name == "all" or row.judged.criterion == name], rule
                )
                for name in ("all", *criteria)
            }
            for rule in RULES
        }
        for mode in MODES
        for tagged in [tag_rows(rows, mode)]
    }


def _count_modules(tagged: Sequence[TaggedRow], rule: str) -> dict[str, int]:
    wrong = [row for row in tagged if not row.correct]
    count = Counter(row.find_module(rule) or "not told" for row in wrong)
    return {"wrong": len(wrong), **{name: count[name] for name in (*MODULES, "not told")}}


def count_gaps(rows: Sequence[JudgedRow], criteria: Sequence[str]) -> dict[str, Any]:
    """Count groups by tag: under each criterion by itself, and over both, where a gap is a mutual one."""
    counts: dict[str, Any] = {}
    for mode in MODES:
        counts[mode] = {}
        for name in (*criteria, "mutual"):
            part = [row for row in rows if name == "mutual" or row.criterion == name]
            tags = Counter({tagged.judged.group: tagged.tag for tagged in tag_rows(part, mode)}.values())
            counts[mode][name] = {tag: tags[tag] for tag in (GAP, NON_ROBUST, ROBUST)}
    return counts


def diagnose_gaps(rows: Sequence[JudgedRow], withheld: Withheld | None) -> dict[str, Any] | None:
    """Hold gap groups against the documents that were withheld.

    Rule `gap`: a group without a correct answer, as in the paper. Rule `gap_without_document`: of these, the
    ones none of whose questions retrieved a true document; the others had theirs, and did not use it.
    """
    if withheld is None:
        return None
    plant = plant_gaps({row.group: row.true for row in rows}, withheld)
    told: dict[str, Any] = {
        "share": withheld.share,
        "documents": len(plant.documents),
        "planted": sorted(plant.planted),
        "touched": sorted(plant.touched),
        "rules": {},
    }
    for mode in MODES:
        tagged = tag_rows(rows, mode)
        scored = {row.judged.group for row in tagged}
        gaps = {row.judged.group for row in tagged if row.tag == GAP}
        found = {
            row.judged.group
            for row in tagged
            if (row.judged.retrieved or frozenset()) & (row.judged.true or frozenset())
        }
        for rule, called in (("gap", gaps), ("gap_without_document", gaps - found)):
            result = diagnose(plant, scored, called)
            told["rules"].setdefault(rule, {})[mode] = {
                "recall": result.recall,
                "recall_interval": _interval(result.found, result.planted),
                "precision": result.precision,
                "precision_interval": _interval(result.found, result.called),
                **asdict(result),
            }
    return told


def _interval(part: int, whole: int) -> list[float] | None:
    if not whole:
        return None
    return list(find_wilson_interval(part, whole))
