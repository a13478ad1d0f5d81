"""What both pages of ragcheck have in common: their folder, drops told, how questions are shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.ragcheck.rows import Question
from tasks.reports.frame import open_templates, summarise, write_folder
from tasks.systems.contract import Passage

OWN_FOLDER = Path(__file__).parent / "pages"
TEMPLATES = open_templates("tasks.ragcheck")
OWN = ("ragcheck.css", "ragcheck.js")
FORM = "to_rate.csv"
"""What people rate answers in; the page links to it."""


@dataclass(frozen=True)
class Headline:
    """A count at the head of a page."""

    label: str
    value: int
    note: str = ""


def write_page(
    template: str,
    out: Path,
    *,
    name: str,
    title: str,
    subtitle: str,
    figures: Sequence[Headline],
    browser: Mapping[str, Any],
    calls: Mapping[str, Any],
    told: Mapping[str, Any],
    judges: Sequence[Mapping[str, Any]],
    form: str = "",
) -> None:
    """Write a page's folder, with the summary for the front page.

    judges: what believing.tell_judge says of each. form: a CSV to fill in, if there is one.
    """
    warnings = [f"{each['name']}: {line}" for each in judges for line in each["warnings"]]
    summary = {
        **summarise(
            "assessment", flow="ragcheck", name=name, title=title, subtitle=subtitle, warnings=warnings
        ),
        "figures": [{"label": each.label, "value": each.value, "note": each.note} for each in figures],
    }
    write_folder(
        out,
        TEMPLATES.get_template(template),
        [OWN_FOLDER / each for each in OWN],
        record=json.dumps(summary, ensure_ascii=False, indent=2) + "\n",
        rows=("rows", browser),
        calls=calls,
        form=(FORM, form),
        flow="ragcheck",
        name=name,
        title=title,
        subtitle=subtitle,
        figures=figures,
        warnings=warnings,
        judges=judges,
        **told,
    )


def count_drops(paths: Iterable[Path]) -> list[tuple[str, str, int]]:
    """Count dropped rows: (artifact, reason, how many)."""
    return [
        (path.name.partition(".")[0], reason, count)
        for path in paths
        for reason, count in sorted(Counter(each.reason for each in read_rows(path, Dropped)).items())
    ]


def list_calls(*origins: Sequence[Origin]) -> list[str]:
    """List the calls among origins, each once."""
    return list(dict.fromkeys(each.reference for one in origins for each in one if each.kind == "call"))


def show_passages(passages: Sequence[Passage]) -> list[list[Any]]:
    """Lay passages out for the browser: title, text, score."""
    return [[each.title or each.document, each.text, each.score] for each in passages]


def show_question(question: Question) -> dict[str, Any]:
    """Lay a question out for the browser."""
    return {
        "question": question.question,
        "reference": question.reference,
        "dataset": question.dataset,
        "key": question.key,
        "language": question.language,
        "history": [[each.question, each.answer] for each in question.history],
    }
