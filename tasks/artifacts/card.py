"""Write a dataset card: Markdown with the YAML metadata that dataset hubs read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from tasks.artifacts.markdown import draw_list, draw_table, escape
from tasks.artifacts.statistics import (
    ArtifactStatistics,
    group_by_prompt,
    is_checksum,
    list_models,
    sum_calls,
)

HUB_LICENCES = frozenset(
    {
        "apache-2.0",
        "bsd-2-clause",
        "bsd-3-clause",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-nc-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc0-1.0",
        "cdla-permissive-2.0",
        "gpl-3.0",
        "mit",
        "odbl",
        "pddl",
        "unlicense",
    }
)
"""Licence ids that hubs know. For any other licence, the card has the id `other` and the licence's name."""
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""Upper limits of dataset hubs' size categories, in rows."""


@dataclass(frozen=True)
class DatasetSource:
    """A source of a dataset, as listed in the card; empty fields are omitted from the card."""

    title: str
    licence: str
    url: str = ""
    attribution: str = ""
    description: str = ""


@dataclass(frozen=True)
class DatasetConfig:
    """A configuration of a dataset: its name, file in the folder, number of rows and description."""

    name: str
    file: str
    rows: int
    description: str


@dataclass(frozen=True)
class CardSection:
    """A section of the card with a heading, a note and a table."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


@dataclass(frozen=True)
class DatasetCard:
    """The content of a dataset card.

    `sets`: the configurations, starting with the default. `columns`: column of the default configuration
    -> its meaning. `made`: the steps that produced the dataset. `rebuild`: shell commands. `limits`: known
    limitations. `dollars`: cost of the calls in US dollars, None if no price is known.
    """

    title: str
    summary: str
    language: str
    tasks: Sequence[str]
    tags: Sequence[str]
    sources: Sequence[DatasetSource]
    sets: Sequence[DatasetConfig]
    artifacts: Sequence[ArtifactStatistics]
    columns: Mapping[str, str]
    made: Sequence[str]
    rebuild: Sequence[str]
    limits: Sequence[str]
    sections: Sequence[CardSection] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    dollars: float | None = None


def write_card(card: DatasetCard) -> str:
    """Write the card as Markdown. The card contains no timestamp, so equal content produces equal text."""
    parts = [
        "---\n"
        + yaml.safe_dump(_make_metadata(card), sort_keys=False, allow_unicode=True, width=1_000)
        + "---",
        f"# {escape(card.title)}",
        card.summary,
        *_write_sets(card),
        *_write_sources(card),
        "## How it was made",
        "\n".join(f"{number}. {step}" for number, step in enumerate(card.made, start=1)),
        *_write_stages(card),
        *(part for section in card.sections for part in _write_section(section)),
        *_write_models(card),
        *_write_parameters(card),
        "## How to rebuild it",
        "```sh\n" + "\n".join(card.rebuild) + "\n```",
        "## Limits",
        draw_list(card.limits),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _make_metadata(card: DatasetCard) -> dict[str, object]:
    licences = list(dict.fromkeys(source.licence for source in card.sources))
    known = len(licences) == 1 and licences[0].lower() in HUB_LICENCES
    head: dict[str, object] = {"license": licences[0].lower() if known else "other"}
    if not known:
        head["license_name"] = " and ".join(licences) or "unknown"
    return head | {
        "language": [card.language],
        "pretty_name": card.title,
        "size_categories": [_size_of(card.sets[0].rows)],
        "task_categories": list(card.tasks),
        "tags": list(card.tags),
        "configs": [
            {
                "config_name": config.name,
                **({"default": True} if config is card.sets[0] else {}),
                "data_files": [{"split": "test", "path": config.file}],
            }
            for config in card.sets
        ],
    }


def _write_sets(card: DatasetCard) -> Iterable[str]:
    yield "## What is in it"
    yield draw_table(
        ("set", "rows", "file", "contents"),
        [(f"`{config.name}`", config.rows, f"`{config.file}`", config.description) for config in card.sets],
    )
    yield f"Columns of `{card.sets[0].name}`:"
    yield draw_list(f"`{name}`: {meaning}" for name, meaning in card.columns.items())


def _write_sources(card: DatasetCard) -> Iterable[str]:
    yield "## Sources and licence"
    for source in card.sources:
        title = f"[{escape(source.title)}]({source.url})" if source.url else f"**{escape(source.title)}**"
        sentences = [
            f"{title}, licence {escape(source.licence)}.",
            escape(source.description),
            escape(source.attribution),
        ]
        yield " ".join(sentence for sentence in sentences if sentence)


def _write_stages(card: DatasetCard) -> Iterable[str]:
    yield "## Rows, drops and calls by stage"
    rows = []
    for artifact in card.artifacts:
        totals = sum_calls(artifact.calls)
        made_from = ", ".join(f"{name} {count}" for name, count in artifact.sources.items())
        drops = sum(artifact.dropped.values())
        rows.append(
            (
                artifact.name,
                made_from or "-",
                artifact.rows,
                drops,
                totals.calls,
                totals.prompt_tokens,
                totals.completion_tokens,
            )
        )
    yield draw_table(
        ("artifact", "made from (rows)", "kept", "dropped", "calls", "tokens in", "tokens out"), rows
    )
    drops_by_reason = [
        (artifact.name, f"`{reason}`", count)
        for artifact in card.artifacts
        for reason, count in artifact.dropped.items()
    ]
    if drops_by_reason:
        yield "### Drops by reason"
        yield draw_table(("artifact", "reason", "rows"), drops_by_reason)


def _write_identity(identity: str) -> str:
    if not identity:
        return ""
    return f", {'SHA-256' if is_checksum(identity) else 'served as'} `{identity}`"


def _write_models(card: DatasetCard) -> Iterable[str]:
    groups = group_by_prompt(card.artifacts)
    if not groups:
        return
    yield "## Models and prompts"
    yield draw_list(
        f"`{model}` as {' and '.join(roles)}{_write_identity(identity)}"
        for model, identity, roles in list_models(card.artifacts)
    )
    yield draw_table(
        ("stage", "prompt", "digest", "role", "calls", "not parsed"),
        [
            (
                stage,
                f"`{call.prompt}`",
                f"`{call.prompt_digest[:16]}`",
                call.role,
                totals.calls,
                totals.unparsed,
            )
            for stage, call, totals in groups
        ],
    )
    totals = sum_calls(call for artifact in card.artifacts for call in artifact.calls)
    estimated = f" (calls with estimated token counts: {totals.estimated:,})" if totals.estimated else ""
    price = f", {card.dollars:.2f} US dollars" if card.dollars is not None else ""
    yield (
        f"In total: {totals.calls:,} model calls, {totals.prompt_tokens:,} input tokens, "
        f"{totals.completion_tokens:,} output tokens{estimated}{price}."
    )


def _write_parameters(card: DatasetCard) -> Iterable[str]:
    if card.parameters:
        yield "## Parameters"
        text = yaml.safe_dump(dict(card.parameters), sort_keys=True, allow_unicode=True, width=100)
        yield f"```yaml\n{text}```"


def _write_section(section: CardSection) -> Iterable[str]:
    yield f"## {section.title}"
    yield section.note
    yield draw_table(section.header, section.rows)


def _size_of(rows: int) -> str:
    if rows < SIZES[0]:
        return "n<1K"
    names = ("1K", "10K", "100K", "1M", "10M")
    for low, high, size in zip(names, names[1:], SIZES[1:], strict=False):
        if rows < size:
            return f"{low}<n<{high}"
    return "10M<n<100M"
