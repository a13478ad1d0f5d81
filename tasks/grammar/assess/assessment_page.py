"""An assessment's page: its figures laid out for the template, its rows for the browser of questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tasks.lineage.derivation import Derivation, Selection
from tasks.reports.frame import open_templates, summarise, write_folder

PARTS = ("assessment.css", "assessment.js")
FORM = "to_label.csv"
"""What people label answers in; the page links to it."""
RATES = ("accuracy", "robustness", "retrieval_db_accuracy", "lambda")


@dataclass(frozen=True)
class Headline:
    """A figure at the head of the page: a count, a rate, or a word; None where there is none."""

    label: str
    value: int | float | str | None
    note: str = ""


@dataclass(frozen=True)
class AssessmentPage:
    """All that a page shows. Texts may hold anything: the page escapes them.

    told: what figures.json holds. browser: the data of the question browser; calls: ledger key -> what was
    asked and answered. form: the CSV that people label answers in; unusable: the lines of their labels that
    could not be used, reason and detail.
    """

    name: str
    title: str
    subtitle: str
    figures: Sequence[Headline]
    told: Mapping[str, Any]
    about: Sequence[tuple[str, str]]
    browser: Mapping[str, Any]
    calls: Mapping[str, Any]
    form: str
    unusable: Sequence[tuple[str, str]]

    @property
    def people(self) -> Mapping[str, Any] | None:
        """How the judge's verdicts stand to people's; None where no labels were given."""
        people: Mapping[str, Any] | None = self.told["judge"]["people"]
        return people

    @property
    def a(self) -> str:
        """The first criterion."""
        return str(self.told["criteria"][0])

    @property
    def b(self) -> str:
        """The criterion that it is held against."""
        return str(self.told["criteria"][1])

    @property
    def warnings(self) -> Sequence[str]:
        """What stands at the page's head."""
        return list(self.told["judge"]["warnings"])

    @property
    def planted(self) -> Mapping[str, Any] | None:
        """How planted gaps were found again; None where nothing was withheld."""
        planted: Mapping[str, Any] | None = self.told["planted"]
        return planted

    @property
    def mutual(self) -> str:
        """Mutual gaps of the unbalanced set, by mode."""
        gaps = self.told["gaps"]["unbalanced"]
        return ", ".join(f"{counts['mutual']['gap']} ({mode})" for mode, counts in gaps.items())

    @property
    def tests(self) -> list[dict[str, Any]]:
        """A test a set and mode: its lines and the module that each rule names."""
        return [
            {
                "set": name,
                "mode": mode,
                "n_a": test["rates"].get("accuracy", {}).get("n_a", 0),
                "n_b": test["rates"].get("accuracy", {}).get("n_b", 0),
                "lines": [self._link(name, mode, _lay_out_rate(*each)) for each in test["rates"].items()],
                "faults": list(test["fault"].items()),
            }
            for name, modes in self.told["hypothesis"].items()
            for mode, test in modes.items()
        ]

    def _link(self, set_name: str, mode: str, line: dict[str, Any]) -> dict[str, Any]:
        """Say which selects of the browser lead from a module's shares to their answers.

        The browser tags a group by all texts asked, a test by its set's alone: where they differ in how
        many answers that makes, there is no link.
        """
        links = {}
        for side, criterion in (("a", self.a), ("b", self.b)):
            wanted = {"set": set_name, "criterion": criterion, "mode": mode, "rule": line["rule"]}
            found = sum(
                row["modes"][mode]["modules"][line["rule"]] == line["module"]
                for row in self.browser["questions"]
                if line["module"] and row["criterion"] == criterion
                if set_name in row["sets"] and mode in row["modes"]
            )
            if found and found == round(line[side] * line[f"n_{side}"]):
                links[side] = urlencode({**wanted, "module": line["module"]})
        return {**line, "links": links}

    @property
    def headline(self) -> dict[str, Any]:
        """The test that names the module at the page's head, by its one rule."""
        fault = self.told["fault"]
        place = (fault["set"], fault["mode"])
        test = next(each for each in self.tests if (each["set"], each["mode"]) == place)
        return {
            **test,
            "lines": [each for each in test["lines"] if each["rule"] in ("", fault["rule"])],
            "faults": [each for each in test["faults"] if each[0] == fault["rule"]],
        }

    @property
    def rates(self) -> list[dict[str, Any]]:
        """A block a set and mode, a line for all rows and for each criterion."""
        return [
            {
                "set": name,
                "mode": mode,
                "lines": [{"label": label, **figures} for label, figures in parts.items()],
            }
            for name, modes in self.told["rates"].items()
            for mode, parts in modes.items()
        ]

    @property
    def tags(self) -> list[dict[str, Any]]:
        """A chart a set and mode: groups by tag, under each criterion and over both."""
        return [
            {
                "set": name,
                "mode": mode,
                "lines": [
                    ("over both" if label == "mutual" else label, counts) for label, counts in lines.items()
                ],
                "most": max((sum(counts.values()) for counts in lines.values()), default=0) or 1,
            }
            for name, modes in self.told["gaps"].items()
            for mode, lines in modes.items()
        ]

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The paper's tables, each line with the rules and modes of its cells."""
        return [
            {**table, "lines": [{**line, "kinds": _list_kinds(line["cells"])} for line in table["lines"]]}
            for _, table in sorted(self.told["tables"].items())
        ]


OWN_PAGES = Path(__file__).parents[1] / "pages"


def _lay_out_rate(name: str, rate: Mapping[str, Any]) -> dict[str, Any]:
    low, high = rate["low"], rate["high"]
    kind, _, rest = name.partition(".")
    rule, _, module = rest.partition(".")
    label = {
        "accuracy": "answered right",
        "robustness": "answered right, without mutual gaps",
        "context": f"context enough ({rule}), without mutual gaps",
        "module": f"wrong by the {module} ({rule})",
    }[kind]
    interval = None if low is None else (low, high)
    return {
        **rate,
        "label": label,
        "rule": rule,
        "module": module,
        "head": kind == "accuracy",
        "interval": interval,
    }


def _list_kinds(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(", ".join(filter(None, (each["rule"], each["mode"]))) for each in cells))


def write_assessment(page: AssessmentPage, out: Path) -> None:
    """Write the page's folder: index.html, its styles and scripts, its data, its figures."""
    write_folder(
        out,
        open_templates("tasks.grammar").get_template("assessment.html"),
        [OWN_PAGES / each for each in PARTS],
        record=write_figures(page),
        rows=("questions", page.browser),
        calls=page.calls,
        form=(FORM, page.form),
        flow="grammar",
        name=page.name,
        title=page.title,
        subtitle=page.subtitle,
        figures=page.figures,
        warnings=page.warnings,
        page=page,
    )


def write_figures(page: AssessmentPage) -> str:
    """Write the figures as one JSON object, each with the rows that it was computed from."""
    told = page.told
    record = {
        **summarise(
            "assessment",
            flow="grammar",
            name=page.name,
            title=page.title,
            subtitle=page.subtitle,
            finding=_say_fault(told["fault"]),
            warnings=page.warnings,
        ),
        "figures": [
            {
                "label": each.label,
                "note": each.note,
                "value": round(each.value, 3),
                "basis": _base("all", each.label),
            }
            for each in page.figures
            if isinstance(each.value, (int, float))
        ],
        "fault": told["fault"],
        "judge": {"people": _tell_people(page.people)},
        "rates": {
            name: {
                mode: {
                    part: {rate: {"value": figures[rate], "basis": _base(part, rate)} for rate in RATES}
                    for part, figures in parts.items()
                }
                for mode, parts in modes.items()
            }
            for name, modes in told["rates"].items()
        },
        "tables": {
            number: {
                "title": table["title"],
                "lines": [
                    {
                        "label": line["label"],
                        "cells": [
                            {**each, "basis": _base_cell(number, column, each)}
                            for column, each in zip(table["columns"], line["cells"], strict=True)
                        ],
                    }
                    for line in table["lines"]
                ],
            }
            for number, table in told["tables"].items()
        },
    }
    return json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _say_fault(fault: Mapping[str, Any]) -> str:
    place = f"{fault['set']} set, {fault['mode']} mode, {fault['rule']}"
    return f"module at fault: {fault['module'] or 'not told'} ({place})"


def _tell_people(people: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Tell what stands behind the agreement with people: the judgements, and the labels of these answers."""
    if people is None:
        return None
    rows = (Selection("human_labels"), Selection("judgements"))
    figures = {
        name: {"value": people[name], "basis": Derivation(f"{name} of judge and people", rows).to_json()}
        for name in ("agreement", "kappa")
    }
    alpha = {"value": people["raters_alpha"], "basis": Derivation("Krippendorff's alpha", rows[:1]).to_json()}
    return {**people, **figures, "raters_alpha": alpha}


def _base(part: str, measure: str) -> dict[str, Any]:
    """Name the rows of a rate: judgements and answers, of one criterion or of all."""
    where = {} if part == "all" else {"criterion": part}
    return Derivation(measure, tuple(Selection(each, where) for each in ("judgements", "answers"))).to_json()


def _base_cell(number: str, column: str, cell: Mapping[str, Any]) -> dict[str, Any] | None:
    """Name the rows of a table's cell. Table 2 counts the dataset: its artifacts are not this stage's."""
    if number == "2":
        return None
    if number == "1":
        return Derivation(column, (Selection("baselines"), Selection("judgements"))).to_json()
    part = column if number == "3" else "all"
    return _base(part, f"{cell['rule']}, {cell['mode']}")
