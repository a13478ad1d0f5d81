"""What there is to tell of an artifact: rows kept and dropped, where they come from, calls and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tasks.artifacts.parquet import count_rows


@dataclass(frozen=True)
class CallStatistics:
    """One call of a model, without its texts. estimated: its tokens were counted by ourselves."""

    id: str
    role: str
    model: str
    identity: str
    """The checksum of an embedded model's file, else empty."""
    prompt: str
    prompt_digest: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    parsed: bool


@dataclass(frozen=True)
class ArtifactStatistics:
    """One artifact. name: its file's stem; rows: kept; dropped: reason -> rows.

    sources: earlier artifact -> how many of its rows the rows here, kept or dropped, come from.
    """

    name: str
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[CallStatistics, ...] = ()


@dataclass(frozen=True)
class CallTotals:
    """Calls summed up. unparsed: answers that no parser took."""

    calls: int
    unparsed: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int


def read_statistics(artifact: Path) -> ArtifactStatistics:
    """Read an artifact's facts from its Parquet file and from the dropped rows and calls beside it."""
    drops = name_beside(artifact, "dropped")
    calls = name_beside(artifact, "calls")
    dropped: Counter[str] = Counter()
    if drops.is_file():
        dropped.update(pq.read_table(drops, columns=["reason"])["reason"].to_pylist())
    return ArtifactStatistics(
        artifact.stem,
        count_rows(artifact),
        dict(sorted(dropped.items())),
        _count_sources([artifact, drops]),
        tuple(
            CallStatistics(**call)
            for call in pq.read_table(
                calls, columns=[column.name for column in fields(CallStatistics)]
            ).to_pylist()
        )
        if calls.is_file()
        else (),
    )


def name_beside(artifact: Path, kind: str) -> Path:
    """Name the file of dropped rows (`dropped`) or calls (`calls`) that stands beside an artifact."""
    return artifact.with_name(f"{artifact.stem}.{kind}.parquet")


def sum_calls(calls: Iterable[CallStatistics]) -> CallTotals:
    """Sum calls up; a call that several stages use was paid once and counts once."""
    each_once = {call.id: call for call in calls}.values()
    return CallTotals(
        len(each_once),
        sum(not call.parsed for call in each_once),
        sum(call.prompt_tokens for call in each_once),
        sum(call.completion_tokens for call in each_once),
        sum(call.estimated for call in each_once),
    )


def group_by_prompt(facts: Iterable[ArtifactStatistics]) -> list[tuple[str, CallStatistics, CallTotals]]:
    """Group calls by artifact, prompt and model: (artifact, one call of the group, their tally)."""
    groups: dict[tuple[str, ...], list[CallStatistics]] = {}
    for artifact in facts:
        for call in artifact.calls:
            key = (artifact.name, call.prompt, call.prompt_digest, call.role, call.model)
            groups.setdefault(key, []).append(call)
    return [(key[0], calls[0], sum_calls(calls)) for key, calls in groups.items()]


def list_models(facts: Sequence[ArtifactStatistics]) -> list[tuple[str, str, tuple[str, ...]]]:
    """List the models that were asked by name: (model, checksum or nothing, its roles)."""
    roles: dict[tuple[str, str], set[str]] = {}
    for artifact in facts:
        for call in artifact.calls:
            roles.setdefault((call.model, call.identity), set()).add(call.role)
    return [(*model, tuple(sorted(roles[model]))) for model in sorted(roles)]


def _count_sources(paths: Iterable[Path]) -> dict[str, int]:
    references: set[str] = set()
    for path in paths:
        if path.is_file() and "origin" in pq.read_schema(path).names:
            references.update(_list_row_origins(path))
    return dict(sorted(Counter(reference.partition("#")[0] for reference in references).items()))


def _list_row_origins(path: Path) -> Iterable[str]:
    # Flattened in Arrow: a table of a million rows never becomes a million dictionaries.
    for batch in pq.ParquetFile(path).iter_batches(columns=["origin"]):
        origins: Any = batch.column(0).flatten()
        kinds, references = (origins.field(name).to_pylist() for name in ("kind", "reference"))
        yield from (reference for kind, reference in zip(kinds, references, strict=True) if kind == "row")
