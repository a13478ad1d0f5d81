"""What both pages of ragcheck have in common: their folder, the calls they show, drops told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from jinja2 import ChoiceLoader, PackageLoader

from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.ragcheck.rows import Question
from tasks.reports.embed import write_data
from tasks.reports.page import PAGES, PAGES_FOLDER
from tasks.reports.record import RECORD
from tasks.systems.contract import Passage

OWN_FOLDER = Path(__file__).parent / "pages"
TEMPLATES = PAGES.overlay(
    loader=ChoiceLoader([PackageLoader("tasks.ragcheck", "pages"), PackageLoader("tasks.reports", "pages")])
)
SHARED = ("report.css", "assessment.css", "core.js")
OWN = ("ragcheck.css", "ragcheck.js")
FORM = "to_rate.csv"
"""What people rate answers in; the page links to it."""
TOLD_OF_A_CALL = (
    "stage", "role", "model", "prompt", "epoch", "messages", "decoding", "text", "prompt_tokens",
    "completion_tokens", "parsed", "problem",
)  # fmt: skip


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
    form: str = "",
) -> None:
    """Write a page's folder: index.html, styles, scripts, data, and the summary for the front page.

    Texts may hold anything: the template escapes them, and the data can close no tag. form: a CSV to fill
    in, where the page has one.
    """
    html = TEMPLATES.get_template(template).render(
        name=name, title=title, subtitle=subtitle, figures=figures, **told
    )
    with draft_folder(out) as folder:
        (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
        for part in SHARED:
            (folder / part).write_bytes((PAGES_FOLDER / part).read_bytes())
        for part in OWN:
            (folder / part).write_bytes((OWN_FOLDER / part).read_bytes())
        summary = {
            "flow": "ragcheck",
            "name": name,
            "title": title,
            "subtitle": subtitle,
            "figures": [{"label": each.label, "value": each.value, "note": each.note} for each in figures],
        }
        text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
        (folder / RECORD).write_text(text, encoding="utf-8", newline="\n")
        if form:
            (folder / FORM).write_text(form, encoding="utf-8-sig", newline="")
        write_data(folder / "rows.js", "rows", browser)
        write_data(folder / "calls.js", "calls", calls)


def read_calls(paths: Iterable[Path]) -> dict[str, Any]:
    """Read calls by their ledger key, without what makes an embedding's row long."""
    calls: dict[str, Any] = {}
    for path in paths:
        for record in pq.read_table(path, columns=["id", *TOLD_OF_A_CALL]).to_pylist():
            if record["prompt"]:
                calls[record.pop("id")] = {**record, "messages": json.loads(record["messages"])}
    return dict(sorted(calls.items()))


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
