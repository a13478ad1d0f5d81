"""Stage: export the dataset as a card and JSON Lines files (docs/reports.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from tasks.artifacts.card import CardSection, DatasetCard, DatasetConfig, DatasetSource, write_card
from tasks.artifacts.contracts import read_findings
from tasks.artifacts.export import draft_folder, write_jsonl
from tasks.artifacts.rows import Counts
from tasks.artifacts.statistics import name_beside, read_statistics
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.combinations import IDLE
from tasks.grammar.construct.sql_templates import CONSTRAIN, FREE
from tasks.grammar.publish.authorship import describe_authorship, describe_reading, list_own
from tasks.grammar.publish.difficulty import measure_set, read_known, tabulate_difficulty
from tasks.grammar.publish.needed_documents import describe_needed
from tasks.grammar.publish.yields import CriterionYield, count_distinct, count_yields
from tasks.reports.plurals import count_of
from tasks.settings import Settings

EVERY_VALUE_MATTERS = "grammar.fill_in.every_value_matters"
COLUMNS = {
    "id": "hash of the values that determine the question",
    "group": "id of the semantic group: all questions of a group have the same meaning and the same answer",
    "criterion": "the linguistic criterion of the text",
    "question": "the question",
    "answer": "the answer as text",
    "sql": "the SQL query that returned the answer",
    "sql_template": "id of the SQL template",
    "text_template": "id of the text template",
    "answer_rows": "the distinct rows of the query result, as a JSON list of lists",
    "origin": "the rows and model calls from which the question was made",
}
"""The descriptions of a question's columns, for the card."""
REBUILD = (
    "make reproduce             # replays the models' recorded replies, offline",
    "benchloom run grammar      # calls the model if a reply is not recorded",
)
"""The commands on the card that rebuild the dataset."""
DROPPED = re.compile(r"(\d+) of (\d+) combinations")
"""Matches two numbers in the detail of a dropped row: dropped combinations and all combinations."""


class Dataset(Settings):
    """The settings in params.yaml under `grammar.dataset`: details for the dataset card."""

    language: str = "en"
    """The language of the questions, as an ISO 639 code."""
    tags: tuple[str, ...] = ("grammar", "rag-evaluation", "text-to-sql", "synthetic")
    """The tags of the dataset."""


def dataset(
    glossary: Path,
    schema: Path,
    own_templates: Path,
    sql_templates: Path,
    text_templates: Path,
    back_check: Path,
    second_reading: Path,
    fill_in: Path,
    unbalanced: Path,
    balanced: Path,
    questions: Path,
    documents: Path,
    contracts: Path,
    database: DatabaseEntry,
    settings: Mapping[str, object],
    params: Dataset,
    out: Path,
) -> Counts:
    """Write a folder for `datasets.load_dataset`: README.md and one JSON Lines file per set.

    `settings` contains the parameters of the artifacts' stages, by dotted name. The card lists these
    parameters.
    """
    sets = {
        "balanced": balanced,
        "unbalanced": unbalanced,
        "groups": fill_in,
        "text_templates": second_reading,
        "sql_templates": sql_templates,
    }
    own = list_own(own_templates)
    sets |= {path.stem: path for path in own}
    wording, reading = describe_authorship(database), describe_reading(settings)
    asked = database.templates != "instead"
    made = (
        *list_own(glossary), schema, *own, sql_templates, text_templates, back_check,
        second_reading, fill_in, unbalanced, balanced,
    )  # fmt: skip
    artifacts = [read_statistics(path) for path in made]
    with draft_folder(out) as folder:
        rows = {name: write_jsonl(folder / f"{name}.jsonl", _read(path)) for name, path in sets.items()}
        card = DatasetCard(
            title=f"Questions about {database.title or database.name}",
            summary=_summarise(rows["balanced"], balanced, database),
            language=params.language,
            tasks=("question-answering",),
            tags=params.tags,
            sources=(_describe(database),),
            sets=[
                DatasetConfig(name, f"{name}.jsonl", count, wording.sets[name])
                for name, count in rows.items()
            ],
            artifacts=artifacts,
            columns=COLUMNS,
            made=(
                *wording.made,
                *reading.made,
                *([describe_choices(sql_templates, free=settings.get(CONSTRAIN) in FREE)] if asked else []),
                describe_idle(fill_in, sql_templates, sought=bool(settings.get(EVERY_VALUE_MATTERS, True))),
            ),
            rebuild=REBUILD,
            limits=(*wording.limits, *reading.limits),
            sections=(
                _describe_yields(
                    count_yields(text_templates, back_check, second_reading, unbalanced, balanced),
                    read=reading.done,
                ),
                describe_difficulty(sql_templates, balanced),
                *([needed] if (needed := describe_needed(questions, documents, fill_in)) else []),
                _describe_contracts(contracts),
            ),
            # Another part of the card describes the database, and its file path depends on the machine.
            parameters={name: settings[name] for name in settings if not name.startswith("databases")},
        )
        (folder / "README.md").write_text(write_card(card), encoding="utf-8", newline="\n")
    return Counts(sum(artifact.rows for artifact in artifacts), sum(rows.values()), {})


def _read(path: Path) -> Iterator[Mapping[str, object]]:
    for batch in pq.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


def _summarise(rows: int, balanced: Path, database: DatabaseEntry) -> str:
    texts, templates = (count_distinct(balanced, column) for column in ("text_template", "sql_template"))
    return (
        f"{rows:,} question/answer pairs about the relational database “{database.title or database.name}”. "
        f"The pairs have {texts:,} distinct texts for {templates:,} SQL templates. The "
        "questions in a group have the same "
        "meaning but different wording. You can test what a system knows, and how much the wording changes "
        "its answers. Every answer is the result of the SQL query in the same row. Benchloom made the "
        "dataset with the method GRAMMAR (Grounded and Modular Methodology for Assessment of Closed-Domain "
        "Retrieval-Augmented Language Models)."
    )


def _describe(database: DatabaseEntry) -> DatasetSource:
    return DatasetSource(
        database.title or database.name,
        database.licence or "unknown",
        database.source if database.source.startswith(("http://", "https://")) else "",
        database.attribution,
        " ".join(text for text in (database.description, _name_source(database)) if text),
    )


def _name_source(database: DatabaseEntry) -> str:
    is_text = bool(database.source) and not database.source.startswith(("http://", "https://"))
    return f"From: {database.source}." if is_text else ""


def _describe_yields(yields: Sequence[CriterionYield], *, read: bool) -> CardSection:
    rows = [
        (
            f"`{criterion_yield.criterion}`",
            criterion_yield.written,
            criterion_yield.confirmed,
            "-" if criterion_yield.rate is None else f"{criterion_yield.rate:.0%}",
            *([criterion_yield.read] if read else []),
            criterion_yield.unbalanced,
            criterion_yield.balanced,
        )
        for criterion_yield in yields
    ]
    header = (
        "criterion",
        "texts written",
        "confirmed",
        "share",
        *(["confirmed by the second reading"] if read else []),
        "questions, unbalanced",
        "questions, balanced",
    )
    return CardSection("Yield per criterion", header, rows)


def describe_difficulty(sql_templates: Path, balanced: Path) -> CardSection:
    """Return a table of the queries' structure, per template and per question, compared with public sets."""
    templates = {
        row["id"]: row["sql"] for row in pq.read_table(sql_templates, columns=["id", "sql"]).to_pylist()
    }
    asked = pq.read_table(balanced, columns=["sql_template"])["sql_template"].to_pylist()
    ours = {"SQL templates": templates.values(), "questions": [templates[template] for template in asked]}
    head, rows = tabulate_difficulty(
        [*(measure_set(name, queries) for name, queries in ours.items()), *read_known()]
    )
    return CardSection(
        "Difficulty",
        head,
        rows,
        "Percentages are shares of the queries in a column. Queries that differ only in names, values and "
        "aliases have the same skeleton.",
    )


def _describe_contracts(contracts: Path) -> CardSection:
    artifacts_of: dict[str, list[str]] = {}
    for finding in read_findings(contracts):
        if "." not in finding.artifact:
            artifacts_of.setdefault(finding.says, []).append(f"`{finding.artifact}`")
    return CardSection(
        "Contracts",
        ("contract", "artifacts"),
        [(says, ", ".join(artifacts)) for says, artifacts in sorted(artifacts_of.items())],
        "These contracts are checked with the Great Expectations library. If a contract is broken, Benchloom "
        "does not write the dataset.",
    )


def describe_choices(sql_templates: Path, *, free: bool) -> str:
    """Return sentences that state whether the model picked queries and texts from options, or wrote them.

    `free` states whether the generator's decoding is unconstrained.
    """
    choices = [
        count for count in pq.read_table(sql_templates, columns=["choices"])["choices"].to_pylist() if count
    ]
    if free:
        return (
            "Decoding was not constrained. The model wrote queries and texts freely, and code checked them."
        )
    if not choices:
        return "The model did not pick any query from a list of options."
    spread = f"{min(choices)} to {max(choices)}" if min(choices) < max(choices) else f"{min(choices)}"
    return (
        f"Decoding was constrained to options that code composed. The model picked each of {len(choices)} "
        f"queries from {spread} options (median {median(choices):g}). It picked each text from a few "
        "wordings that follow the rules."
    )


def describe_idle(fill_in: Path, sql_templates: Path, *, sought: bool) -> str:
    """Return sentences on the combinations left out because a value does not change the answer.

    `sought` states whether the fill-in looked for such combinations (`every_value_matters`).
    """
    if not sought:
        return "A question with several values may contain a value that does not change the answer."
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
        return (
            "If a question contains several values, leaving out any one value changes the answer. No "
            "combination of values was left out."
        )
    return (
        f"{left_out:,} of {seen:,} combinations of several values ({left_out / seen:.0%}) were left out, "
        "because the answer is the same without one of the values. These combinations are from "
        f"{count_of(len(templates), 'SQL template')}. In the other combinations, leaving out any one value "
        "changes the answer."
    )
