"""Check GRAMMAR's assessments for `bench.intervals`: rates, tests, losses, recovered gaps, tables 1, 3, 4."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bench.intervals_checks import Checks, divide, draw_clusters, draw_ratio
from bench.intervals_rows import read_json, read_table
from tasks.artifacts.parquet import read_rows
from tasks.grammar.assess.ablation import DocumentAblation, ablate_corpus
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment import join_rows
from tasks.grammar.assess.judged import tag_rows
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.systems.contract import Document

SETS, MODES = ("balanced", "unbalanced"), ("open", "closed")
PAPER = ("siblings", "siblings_overlap", "gold", "gold_contained")


@dataclass(frozen=True)
class Row:
    """A scored row. enough: context rule -> whether the context was sufficient. module: rule -> module."""

    group: str
    criterion: str
    cluster: str
    correct: bool
    gap: bool
    enough: Mapping[str, bool | None]
    module: Mapping[str, str | None]
    sufficient: bool | None


def check_assessment(path: Path, root: Path, checks: Checks) -> None:
    """Recompute the intervals and p values of an assessment's figures.json."""
    figures = read_json(path)
    folder = path.parent
    assessment = GrammarRows(folder, root)
    for name in SETS:
        for mode in MODES:
            for part, told in figures["rates"][name][mode].items():
                rows = assessment.choose(mode, name, () if part == "all" else (part,))
                _check_rates(f"{folder.name} rates {name} {mode} {part}", told, rows, checks)
    _check_tests(folder.name, figures, assessment, checks)
    fault = figures["fault"]
    rows = assessment.choose(fault["mode"], "balanced")
    losses = figures["losses"]
    enough = [row for row in rows if row.sufficient]
    for part, over in [
        *((part, rows) for part in losses["parts"]),
        *([(losses["of_enough"], enough)] if losses["of_enough"] else []),
    ]:
        marks = [
            (row.module["sufficiency"] or "not told") == part["module"] and not row.correct for row in over
        ]
        drawn, clusters = draw_ratio(marks, [1] * len(over), [row.cluster for row in over])
        told = None if part["low"] is None else (part["low"], part["high"])
        checks.check_drawn(f"{folder.name} losses {part['module']}", told, drawn, clusters, part["share"])
    if figures["planted"]:
        _check_planted(folder.name, figures["planted"], assessment, checks)
    _check_tables(folder, figures, assessment, checks)
    if figures["judge"]["people"] is not None:
        checks.leave_open(
            f"{folder.name} people", "people's labels: not written here, none are in the sample"
        )


class GrammarRows:
    """The rows of an assessment. The shipped rule determines the module that caused a wrong answer."""

    def __init__(self, folder: Path, root: Path) -> None:
        shared = folder.parent
        params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
        withheld = params["assessments"][folder.name].get("withheld")
        questions = read_rows(shared / "questions.parquet", AskedQuestion)
        documents = read_rows(shared / "documents.parquet", Document)
        corpus = ablate_corpus(documents, questions, withheld and DocumentAblation(**withheld))
        self.rows = join_rows(
            read_rows(folder / "judgements.parquet", Judgement),
            read_rows(folder / "answers.parquet", AssessedAnswer),
            questions,
            corpus,
            read_rows(shared / "answer_facts.parquet", AnswerFacts),
        )

    def choose(
        self,
        mode: str,
        own: str = "",
        criteria: Collection[str] = (),
        groups: Collection[str] | None = None,
    ) -> list[Row]:
        """Select the scored rows of a set by criteria and groups (by default all)."""
        kept = [
            row
            for row in self.rows
            if row.judgement is not None
            and str(row.judgement) in ("Correct", "Incorrect")
            and (not own or row.is_in(own))
            and (not criteria or row.criterion in criteria)
            and (groups is None or row.group in groups)
        ]
        right = [
            str(row.judgement) == "Correct"
            and not (
                mode == "closed"
                and row.true is not None
                and row.retrieved is not None
                and not row.true <= row.retrieved
            )
            for row in kept
        ]
        good: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
        for row, correct in zip(kept, right, strict=True):
            if correct:
                good[row.group].append(row.retrieved or frozenset())
        modules = {tagged.judged.id: tagged for tagged in tag_rows(kept, mode)}  # type: ignore[arg-type]
        shown = all(row.retrieved is not None for row in kept) and any(row.retrieved for row in kept)
        rows = []
        for row, correct in zip(kept, right, strict=True):
            own = row.retrieved or frozenset()
            enough: dict[str, bool | None] = {
                "siblings": correct or own in good[row.group],
                "siblings_overlap": correct or any(own & other or own == other for other in good[row.group]),
                "gold": None if row.true is None else own == row.true,
                "gold_contained": None
                if row.true is None
                else own == row.true or (bool(row.true) and row.true <= own),
            }
            rows.append(
                Row(
                    row.group,
                    row.criterion,
                    row.template or row.group,
                    correct,
                    not good[row.group],
                    enough if shown else dict.fromkeys(PAPER),
                    _Modules(modules[row.id].find_module),
                    row.enough if shown else None,
                )
            )
        return rows


class _Modules(dict[str, Any]):
    """Determines a row's module by a rule on first access."""

    def __init__(self, find: Callable[[str], str | None]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, rule: str) -> str | None:
        return self.find(rule)


def _check_rates(place: str, told: Mapping[str, Any], rows: Sequence[Row], checks: Checks) -> None:
    if not rows:
        return
    labels = [row.cluster for row in rows]
    every, kept = [1] * len(rows), [not row.gap for row in rows]
    for name, over, under in (
        ("accuracy", [row.correct for row in rows], every),
        ("robustness", [row.correct for row in rows], kept),
        ("lambda", [row.gap for row in rows], every),
    ):
        drawn, clusters = draw_ratio(over, under, labels)
        checks.check_drawn(f"{place} {name}", told["ci"][name], drawn, clusters, told[name])
        expected = (sum(under), clusters)
        same = (told["over"][name]["n"], told["over"][name]["clusters"]) == expected
        checks.add(
            "n and clusters of rates", f"{place} {name}", same=same, told=told["over"][name], found=expected
        )
    groups = list(dict.fromkeys((row.group, row.cluster, row.gap) for row in rows))
    names = [cluster for _, cluster, _ in groups]
    drawn, clusters = draw_ratio([not gap for _, _, gap in groups], [1] * len(groups), names)
    interval, value = told["ci"]["retrieval_db_accuracy"], told["retrieval_db_accuracy"]
    checks.check_drawn(f"{place} Acc_retrieval_db", interval, drawn, clusters, value)
    _check_tags(place, told, rows, checks)
    for rule in PAPER:
        found, intervals = told["context"][rule], told["ci"]["context"][rule]
        if found is None:
            continue
        enough = [bool(row.enough[rule]) for row in rows]
        for name, over, under in (
            ("accuracy", enough, every),
            (
                "robustness",
                [is_enough and stays for is_enough, stays in zip(enough, kept, strict=True)],
                kept,
            ),
        ):
            drawn, clusters = draw_ratio(over, under, labels)
            checks.check_drawn(f"{place} {rule} {name}", intervals[name], drawn, clusters, found[name])


def _check_tags(place: str, told: Mapping[str, Any], rows: Sequence[Row], checks: Checks) -> None:
    """Check the intervals of the group counts by tag."""
    seen: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for row in rows:
        seen[row.group, row.cluster].add(row.correct)
    index, weights = draw_clusters([cluster for _, cluster in seen])
    for name, wanted in (("gap", {False}), ("robust", {True}), ("non_robust", {True, False})):
        marks = [found == wanted for found in seen.values()]
        drawn = weights @ np.bincount(index, weights=marks, minlength=weights.shape[1])
        checks.check_drawn(f"{place} {name}_groups", told["ci"][f"{name}_groups"], drawn, weights.shape[1])


def _check_tests(name: str, figures: Mapping[str, Any], assessment: GrammarRows, checks: Checks) -> None:
    """Check differences between two criteria, their p values, and Holm's correction in each family."""
    families: defaultdict[str, list[tuple[str, float | None, float]]] = defaultdict(list)
    a, b = figures["criteria"]
    for set_name in SETS:
        for mode in MODES:
            rows = assessment.choose(mode, set_name, (a, b))
            for rate, told in figures["hypothesis"][set_name][mode]["rates"].items():
                place = f"{name} {set_name} {mode} {rate}"
                drawn, clusters = _draw_contrast(rows, rate, a, b)
                interval = None if told["low"] is None else (told["low"], told["high"])
                checks.check_drawn(place, interval, drawn, clusters)
                checks.check_p(place, told["p_value"], drawn, clusters)
                rule = rate.split(".")[1] if "." in rate else ""
                if told["p_value"] is None or rate.startswith(("robustness", "context")):
                    continue
                for family in [(rule in PAPER and "paper") or rule] if rule else ["sufficiency", "paper"]:
                    shown = told["p_holm"] if rule or family == "sufficiency" else None
                    families[family].append((place, shown, told["p_value"]))
    for tests in families.values():
        wanted = Checks()
        wanted.check_holm(
            [test for test, _, _ in tests], [two for _, two, _ in tests], [p for _, _, p in tests]
        )
        unseen = {place for place, shown, _ in tests if shown is None}
        checks.counts["Holm's p"] += len(tests) - len(unseen)
        checks.wrong += [line for line in wanted.wrong if line.partition(":")[0] not in unseen]


def _draw_contrast(rows: Sequence[Row], rate: str, a: str, b: str) -> tuple[Any, int]:
    kind, _, rest = rate.partition(".")
    rule, _, module = rest.partition(".")
    kept = [kind == "accuracy" or kind == "module" or not row.gap for row in rows]
    marks = [
        row.module[rule] == module
        if kind == "module"
        else bool(row.enough[rule])
        if kind == "context"
        else row.correct
        for row in rows
    ]
    index, weights = draw_clusters([row.cluster for row in rows])
    sides, under = [], np.zeros(weights.shape[1])
    for criterion in (a, b):
        own = [stays and row.criterion == criterion for row, stays in zip(rows, kept, strict=True)]
        over = np.bincount(index, weights=[x and y for x, y in zip(marks, own, strict=True)])
        below = np.bincount(index, weights=own)
        under += below
        sides.append(divide(weights @ over, weights @ below))
    return sides[0] - sides[1], int((under > 0).sum())


def _check_planted(name: str, planted: Mapping[str, Any], assessment: GrammarRows, checks: Checks) -> None:
    for rule, modes in planted["rules"].items():
        for mode, told in modes.items():
            rows = assessment.choose(mode)
            scored = {row.group for row in rows} - {*planted["touched"]}
            called = {row.group for row in rows if row.gap} & scored
            if rule == "gap_without_document":
                called -= {
                    row.group
                    for row in assessment.rows
                    if (row.retrieved or frozenset()) & (row.true or frozenset())
                }
            lost = {*planted["planted"]} & scored
            found = len(called & lost)
            if lost:
                checks.check_wilson(
                    f"{name} planted {rule} {mode} recall", told["recall_interval"], found, len(lost)
                )
            if called:
                place = f"{name} planted {rule} {mode} precision"
                checks.check_wilson(place, told["precision_interval"], found, len(called))


def _check_tables(folder: Path, figures: Mapping[str, Any], assessment: GrammarRows, checks: Checks) -> None:
    tables, name = figures["tables"], folder.name
    judged = {row.id: str(row.judgement) for row in assessment.rows if row.judgement is not None}
    for line in tables["1"]["lines"]:
        tried = [
            (row["verdict"] == "correct", judged[row["answer"]] == "Correct")
            for row in read_table(folder / "baselines.parquet")
            if row["method"].replace("_", " ") == line["label"][0]
            and str(row["verdict"]).lower() in ("correct", "incorrect")
            and judged.get(row["answer"]) in ("Correct", "Incorrect")
        ]
        both = sum(said and right for said, right in tried)
        for cell, whole in zip(
            line["cells"], (sum(s for s, _ in tried), sum(r for _, r in tried)), strict=False
        ):
            if whole:
                checks.check_wilson(f"{name} Table 1 {line['label'][0]}", cell["interval"], both, whole)
    actions = {
        "no action": ("unbalanced", False),
        "remove gap groups": ("unbalanced", True),
        "balance gap groups": ("balanced", False),
    }
    for line in tables["3"]["lines"]:
        action, rule, mode = line["label"]
        own, removed = actions[action]
        for criterion, cell in zip(tables["3"]["columns"], line["cells"], strict=True):
            rows = assessment.choose(mode, own, (criterion,))
            _check_cell(
                f"{name} Table 3 {line['label']} {criterion}",
                cell,
                rows,
                rule.rpartition(", ")[2],
                removed,
                checks,
            )
    alone = folder.parent / str(figures["llm_only"]) / "closed_domain.parquet"
    kept = {row["id"] for row in read_table(alone) if row["closed_domain"]}
    for line in tables["4"]["lines"]:
        label, mode = line["label"]
        if label.startswith("the model alone"):
            run = label.rpartition("(")[2].rstrip(")")
            own_groups = [
                row["closed_domain"] for row in read_table(folder.parent / run / "closed_domain.parquet")
            ]
            told = [not closed for closed in own_groups if closed is not None]
            if told:
                checks.check_wilson(
                    f"{name} Table 4 {label}", line["cells"][0]["interval"], sum(told), len(told)
                )
            continue
        inside = label.startswith("with ")
        rows = assessment.choose(mode, "balanced", groups=None if inside else kept)
        for column, cell in zip(tables["4"]["columns"], line["cells"], strict=True):
            if column.startswith("Acc") and rows and cell["value"] is not None:
                groups = list(dict.fromkeys((row.group, row.cluster, row.gap) for row in rows))
                drawn, clusters = draw_ratio(
                    [not gap for *_, gap in groups], [1] * len(groups), [group[1] for group in groups]
                )
                checks.check_drawn(
                    f"{name} Table 4 {label} {column}", cell["interval"], drawn, clusters, cell["value"]
                )
            else:
                _check_cell(
                    f"{name} Table 4 {label} {mode} {column}",
                    cell,
                    rows,
                    "judgement",
                    column.startswith("R "),
                    checks,
                )
    _check_note(folder, tables["4"]["notes"], checks)


def _check_cell(
    place: str, cell: Mapping[str, Any], rows: Sequence[Row], rule: str, removed: bool, checks: Checks
) -> None:
    if cell["value"] is None:
        return
    kept = [not removed or not row.gap for row in rows]
    marks = [row.correct if rule == "judgement" else bool(row.enough[rule]) for row in rows]
    over = [mark and stays for mark, stays in zip(marks, kept, strict=True)]
    drawn, clusters = draw_ratio(over, kept, [row.cluster for row in rows])
    checks.check_drawn(place, cell["interval"], drawn, clusters, cell["value"])
    checks.add("n and clusters of rates", place, same=cell["n"] == sum(kept), told=cell["n"], found=sum(kept))


def _check_note(folder: Path, notes: Sequence[str], checks: Checks) -> None:
    """Check the p value in the note on two wordings for the model without a retriever."""
    for text in notes:
        if found := re.search(
            r"answered in (\S+) alone and \d+ in (\S+) alone \(McNemar's exact test: p = ([^)]+)\)", text
        ):
            one, other = (
                {
                    row["id"]: not row["closed_domain"]
                    for row in read_table(folder.parent / run / "closed_domain.parquet")
                    if row["closed_domain"] is not None
                }
                for run in found.groups()[:2]
            )
            both = sorted({*one} & {*other})
            wanted = Checks()
            wanted.check_mcnemar("", None, [one[group] for group in both], [other[group] for group in both])
            p_value = float(wanted.wrong[0].rpartition(" ")[2]) if wanted.wrong else None
            same = p_value is not None and f"{p_value:.3g}" == found[3]
            checks.add("McNemar's p", f"{folder.name} Table 4, note", same=same, told=found[3], found=p_value)
