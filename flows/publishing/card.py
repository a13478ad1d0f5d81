"""Write the card of a published dataset, and complete it with the Hugging Face library."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.code import find_function, to_path
from flows.discovery import list_flows
from flows.publishing.choice import Choice
from flows.publishing.folder import LEDGER, LICENCES
from flows.run.loading import locate_module
from flows.run.node import Node
from flows.settings import get_section
from tasks.artifacts.card import HUB_LICENCES, DatasetCard, DatasetConfig, DatasetSource, write_card
from tasks.artifacts.markdown import draw_list, escape
from tasks.artifacts.statistics import read_statistics

OWN_CARD = "dataset/README.md"
"""Path, in an entry's folder, of the dataset card that one of the flow's stages writes.

This card is more detailed than a card made from the flow's declaration.
"""
CONTENT, SOURCES = "What is in it", "Sources and licence"
BY_STAGE = "Rows, drops and calls by stage"
FROM_DECLARATION = (
    CONTENT, SOURCES, BY_STAGE, "Models and prompts", "Parameters",
    "How to rebuild it",
)  # fmt: skip
"""Headings of sections that describe the published artifacts; they are not copied from the flow's card."""
MEANING = re.compile(r"^- `(\w+)`: (.+)$", re.MULTILINE)
"""Matches the line of a card that documents a column: its name and meaning."""
CREATIVE_COMMONS = re.compile(r"CC[ -]?(0|BY(?:-(?:SA|NC|ND))*)[ -](\d\.\d)", re.IGNORECASE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
NOT_SHOWN = frozenset({"databases", "systems"})
"""Sections of params.yaml, at any depth, that contain paths and connections; cards omit them."""
LIMITS = (
    "The folder does not contain dropped rows. The tables above count dropped rows by reason.",
    "The replies in `ledger/` are the unchanged texts of the models.",
)


@dataclass(frozen=True)
class OwnCard:
    """The contents of a flow's own card: metadata, title, summary and sections."""

    metadata: Mapping[str, Any]
    summary: str
    sections: Mapping[str, str]


def make_card(
    root: Path, choice: Choice, sources: Sequence[DatasetSource], params: Mapping[str, Any], version: str,
    *, language: str, calls: int, layout: str = "",
) -> str:  # fmt: skip
    """Return the text of a dataset's card.

    `calls`: number of ledger entries. `layout`: name of the subfolder in the layout of a paper's release; ''
    if there is no subfolder.
    """
    own = read_own_card(root / choice.folder / OWN_CARD)
    flow = next(flow for flow in list_flows() if flow.find(choice.lead.stage))
    key = choice.entry.rpartition(".")[2]
    artifacts = [read_statistics(root / node.artifact) for node in choice.sets]
    title = own.metadata.get("pretty_name") or f"{flow.title}: {key}"
    lead = artifacts[0]
    text = write_card(
        DatasetCard(
            title=title,
            summary=own.summary
            or f"{lead.rows:,} rows of `{lead.name}`, from the entry `{choice.entry}` of a Benchloom "
            "project, "
            "with the artifacts from which these rows were made.",
            language=own.metadata.get("language", [language])[0],
            tasks=("question-answering",),
            tags=own.metadata.get("tags") or (flow.name, "synthetic"),
            sources=sources,
            sets=[
                DatasetConfig(
                    artifact.name, f"data/{artifact.name}.parquet", artifact.rows, describe_stage(root, node)
                )
                for artifact, node in zip(artifacts, choice.sets, strict=True)
            ],
            artifacts=artifacts,
            columns=list_columns(root / choice.lead.artifact, own),
            made=[f"`{node.stage}`: {describe_stage(root, node)}" for node in choice.stages],
            rebuild=list_rebuilding(choice, calls),
            limits=LIMITS,
            parameters=list_parameters(choice.stages, params),
        )
    )
    head, sections = split_sections(text)
    sections |= {name: part for name, part in own.sections.items() if name not in FROM_DECLARATION}
    sections["Files"] = describe_files(choice, calls, layout)
    sections["Citation"] = cite(title, choice, sources, version)
    return complete_card(head, sections, sources)


def complete_card(head: str, sections: Mapping[str, str], sources: Sequence[DatasetSource]) -> str:
    """Return a card's text from its sections, and set the licence in the format that hubs use."""
    from huggingface_hub import DatasetCard as HubCard

    card = HubCard("\n\n".join([head, *(f"## {name}\n\n{part}" for name, part in sections.items())]) + "\n")
    licences = list(dict.fromkeys(re.sub(r"\s+", "-", source.licence.lower()) for source in sources))
    if licences and set(licences) <= HUB_LICENCES:
        card.data["license"] = licences if len(licences) > 1 else licences[0]
        card.data.pop("license_name")
    else:
        card.data["license_name"], card.data["license_link"] = "licences-of-the-sources", LICENCES
    return str(card)


def write_licences(sources: Iterable[DatasetSource]) -> str:
    """Return the text of LICENSE.md: the licence and attribution of each source."""
    return (
        f"# Licences of the sources\n\n{draw_list(map(describe_source, sources))}\n\n"
        "README.md lists the stages that selected and joined rows of these sources, and made questions and "
        "answers from these rows. Passages that are quoted as evidence are unchanged.\n"
    )


def describe_source(source: DatasetSource) -> str:
    """Describe a source on one line: title, licence with a link to its text, and attribution."""
    links = [
        f"https://creativecommons.org/publicdomain/zero/{number}/"
        if kind == "0"
        else f"https://creativecommons.org/licenses/{kind.lower()}/{number}/"
        for kind, number in CREATIVE_COMMONS.findall(source.licence)
    ]
    parts = (
        f"{escape(source.title)}: {escape(source.licence)}",
        source.url,
        escape(source.description),
        f"Attribution: {escape(source.attribution)}." if source.attribution else "",
        *links,
    )
    return " ".join(filter(None, parts))


def read_own_card(path: Path) -> OwnCard:
    """Read the flow's own card; an empty card if there is none."""
    from huggingface_hub import DatasetCard as HubCard

    if not path.is_file():
        return OwnCard({}, "", {})
    card = HubCard(path.read_text(encoding="utf-8"))
    head, sections = split_sections(card.text.strip())
    summary = "\n\n".join(part for part in head.split("\n\n") if not part.startswith("# "))
    return OwnCard(vars(card.data), summary.strip(), sections)


def split_sections(text: str) -> tuple[str, dict[str, str]]:
    """Split Markdown into the text before the first section, and the sections by heading."""
    head, *parts = HEADING.split(text)
    return head.strip(), {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


def describe_stage(root: Path, node: Node) -> str:
    """Return the first line of the docstring of a stage's function; a default text if there is none."""
    path = root / to_path(locate_module(node.stage))
    function = find_function(path, node.stage.rpartition(".")[2])
    documented = ast.get_docstring(function) if function else None
    return documented.splitlines()[0].rstrip(".") if documented else f"the rows of `{node.stage}`"


def list_columns(path: Path, own: OwnCard) -> dict[str, str]:
    """List a file's columns: name -> type, with the meaning if the flow's own card documents it."""
    meanings = dict(MEANING.findall(own.sections.get(CONTENT, "")))
    return {
        field.name: f"`{field.type}`" + (f", {meanings[field.name]}" if field.name in meanings else "")
        for field in pq.read_schema(path)
    }


def list_parameters(nodes: Sequence[Node], params: Mapping[str, Any]) -> dict[str, object]:
    """List the parameters that determined the artifacts, without paths and connections."""
    names = sorted({name for node in nodes for name in node.params})
    return {name: get_section(params, name) for name in names if not NOT_SHOWN & set(name.split("."))}


def list_rebuilding(choice: Choice, calls: int) -> list[str]:
    """List the commands that rebuild the dataset in the project."""
    asked = [f"benchloom ledger import {LEDGER}   # the recorded replies"] if calls else []
    return [*asked, f"benchloom run --replay {choice.lead.name}   # byte for byte, without model calls"]


def make_folder_card(
    root: Path, choice: Choice, title: str, sources: Sequence[DatasetSource], version: str,
    *, language: str, layout: str,
) -> str:  # fmt: skip
    """Return the card of a folder that no entry of params.yaml produced. root: the folder."""
    artifacts = [read_statistics(root / node.artifact) for node in choice.sets]
    lead = artifacts[0]
    card = DatasetCard(
        title=f"{title}: {Path(choice.entry).name}",
        summary=f"{lead.rows:,} rows of `{lead.name}`, from the folder `{choice.entry}` of a Benchloom "
        "project.",
        language=language,
        tasks=("question-answering",),
        tags=(layout,),
        sources=sources,
        sets=[
            DatasetConfig(
                artifact.name,
                f"data/{artifact.name}.parquet",
                artifact.rows,
                f"the rows of `{artifact.name}`",
            )
            for artifact in artifacts
        ],
        artifacts=(),
        columns=list_columns(root / choice.lead.artifact, OwnCard({}, "", {})),
        made=[
            f"`{artifact.name}`: {artifact.rows:,} rows, unchanged from the folder" for artifact in artifacts
        ],
        rebuild=[f"benchloom import {layout} FOLDER   # this folder"],
        limits=(
            "The items were not made by a stage of the project. They come from the sources listed above.",
        ),
    )
    head, sections = split_sections(write_card(card))
    del sections[BY_STAGE]
    sections["Files"] = describe_files(choice, 0, layout)
    sections["Citation"] = cite(card.title, choice, sources, version)
    return complete_card(head, sections, sources)


def describe_files(choice: Choice, calls: int, layout: str = "") -> str:
    """Return a Markdown list of the folder's files, and of the excluded artifacts with the reasons."""
    return draw_list(
        [
            "`data/NAME.parquet` and `data/NAME.jsonl`: the same rows in two formats",
            *(["`data/NAME.calls.parquet`: the model calls that produced these rows"] if calls else []),
            *([f"`{LEDGER}`: {calls:,} recorded replies, for `benchloom ledger import`"] if calls else []),
            *([f"`{layout}/`: the items in the layout of the paper's release"] if layout else []),
            f"`{LICENCES}`: the licences and attributions of the sources",
            "`SHA256SUMS`: the checksum of every file (`sha256sum -c SHA256SUMS`)",
            *(f"excluded: `{Path(path).stem}` ({why})" for path, why in sorted(choice.left_out.items())),
        ]
    )


def cite(title: str, choice: Choice, sources: Sequence[DatasetSource], version: str) -> str:
    """Return instructions for citing the dataset, with the attributions of its sources."""
    named = "; ".join(dict.fromkeys(filter(None, (source.attribution for source in sources))))
    key = re.sub(r"[^a-z0-9]+", "-", choice.entry.lower())
    note = f"Made by Benchloom {version} from: {', '.join(source.title for source in sources)}"
    fields = [("title", title), ("note", note)]
    body = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields)
    attribution = f"If you use the dataset, credit: {escape(named)}.\n\n" if named else ""
    return f"{attribution}```bibtex\n@misc{{{key},\n{body}\n}}\n```"
