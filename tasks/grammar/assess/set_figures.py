"""Compute the figures of sets of judged rows: rates, tests, group tags, attribution, detected gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tasks.grammar.assess.ablation import DocumentAblation, diagnose_groups, plan_ablation
from tasks.grammar.assess.assessment_figures import GapRecovery, Interval, PlantedGaps
from tasks.grammar.assess.contrast import CriteriaTest, contrast_parts
from tasks.grammar.assess.judged import (
    ATTRIBUTIONS,
    GAP,
    MODES,
    MODULES,
    NON_ROBUST,
    ROBUST,
    JudgedRow,
    TaggedRow,
    check_identity,
    measure,
    tag_rows,
)
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import find_share_interval

Criteria = tuple[str, str]
"""Criteria A and B."""


def rate_set(
    rows: Sequence[JudgedRow], criteria: Sequence[str], intervals: Bootstrap
) -> dict[str, dict[str, dict[str, object]]]:
    """Compute the rates of all rows together (`all`), and of each criterion.

    Returns nested maps: mode -> `all` or criterion -> rates, in the format of figures.json.
    """
    parts = {"all": rows, **{name: [r for r in rows if r.criterion == name] for name in criteria}}
    rates: dict[str, dict[str, dict[str, object]]] = {}
    for mode in MODES:
        rates[mode] = {}
        for name, part in parts.items():
            figures = measure(part, mode, intervals)
            scored = sum(row.scored for row in part)
            # `measure` raises ArithmeticError unless accuracy = R (1 - lambda) (Eq. 3).
            counts = {"n": len(part), "n_scored": scored}
            rates[mode][name] = {**counts, **figures, "identity": check_identity(figures)}
    return rates


def contrast_sets(
    parts: Mapping[str, Sequence[JudgedRow]], criteria: Criteria, intervals: Bootstrap
) -> dict[str, dict[str, CriteriaTest]]:
    """Compare criteria A and B in each set and mode. Group tags cover both criteria together.

    `parts` contains the rows by set. Returns nested maps: set -> mode -> test.
    """
    tagged = {(name, mode): tag_rows(rows, mode) for name, rows in parts.items() for mode in MODES}
    tests = contrast_parts(tagged, *criteria, intervals)
    return {name: {mode: tests[name, mode] for mode in MODES} for name in parts}


def attribute_wrong(
    rows: Sequence[JudgedRow], criteria: Sequence[str]
) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Count wrong rows by module at fault.

    Returns nested maps: mode -> rule of attribution -> `all` or criterion -> module, `wrong` or `not told` ->
    number of rows.
    """
    return {
        mode: {
            rule: {
                name: _count_modules(
                    [row for row in tagged if name == "all" or row.judged.criterion == name], rule
                )
                for name in ("all", *criteria)
            }
            for rule in ATTRIBUTIONS
        }
        for mode in MODES
        for tagged in [tag_rows(rows, mode)]
    }


def _count_modules(tagged: Sequence[TaggedRow], rule: str) -> dict[str, int]:
    wrong = [row for row in tagged if not row.correct]
    count = Counter(row.find_module(rule) or "not told" for row in wrong)
    return {"wrong": len(wrong), **{name: count[name] for name in (*MODULES, "not told")}}


def count_gaps(rows: Sequence[JudgedRow], criteria: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Count groups by tag, for each criterion and over all rows (`mutual`).

    Returns nested maps: mode -> criterion or `mutual` -> tag -> number of groups.
    """
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for mode in MODES:
        counts[mode] = {}
        for name in (*criteria, "mutual"):
            part = [row for row in rows if name == "mutual" or row.criterion == name]
            tags = Counter({tagged.judged.group: tagged.tag for tagged in tag_rows(part, mode)}.values())
            counts[mode][name] = {tag: tags[tag] for tag in (GAP, NON_ROBUST, ROBUST)}
    return counts


def diagnose_gaps(rows: Sequence[JudgedRow], withheld: DocumentAblation | None) -> PlantedGaps | None:
    """Compare detected gaps with the gaps planted by an ablation; return None if there is no ablation.

    The rule `gap` detects each group without a correct answer, as in the paper. The rule
    `gap_without_document` detects only those groups for which the system also retrieved no true document.
    """
    if withheld is None:
        return None
    plan = plan_ablation({row.group: row.true for row in rows}, withheld)
    rules: dict[str, dict[str, GapRecovery]] = {}
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
            result = diagnose_groups(plan, scored, called)
            rules.setdefault(rule, {})[mode] = GapRecovery(
                recall=result.recall,
                recall_interval=_find_interval(result.found, result.planted),
                precision=result.precision,
                precision_interval=_find_interval(result.found, result.called),
                found=result.found,
                called=result.called,
                planted=result.planted,
            )
    return PlantedGaps(
        withheld.share, len(plan.documents), tuple(sorted(plan.planted)), tuple(sorted(plan.touched)), rules
    )


def _find_interval(part: int, whole: int) -> Interval | None:
    return find_share_interval(part, whole, "groups")[0] if whole else None
