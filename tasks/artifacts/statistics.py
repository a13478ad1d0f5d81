"""Compute the statistics of an artifact: kept and dropped rows, sources, model calls and tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import pyarrow.parquet as pq

from tasks.artifacts.parquet import count_rows

CHECKSUM = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class CallStatistics:
    """A recorded model call, without the texts that were sent and received.

    `estimated`: whether the token counts are estimates.
    """

    id: str
    role: str
    model: str
    identity: str
    """The identity in the ledger key, which distinguishes models of the same name; may be empty.

    For an embedded model, the identity is the file's checksum. For any other model, the identity may contain
    the served model's name and added parameters.
    """
    prompt: str
    prompt_digest: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    parsed: bool


@dataclass(frozen=True)
class ArtifactStatistics:
    """Statistics of one artifact. `name`: the file's stem. `rows`: number of kept rows.

    `dropped`: reason -> number of dropped rows. `sources`: earlier artifact -> number of rows that this
    artifact's rows (kept or dropped) name as origins.
    """

    name: str
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[CallStatistics, ...] = ()


@dataclass(frozen=True)
class CallTotals:
    """Totals over calls.

    `unparsed`: number of answers that could not be parsed. `estimated`: number of calls with estimated
    tokens.
    """

    calls: int
    unparsed: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int


def read_statistics(artifact: Path) -> ArtifactStatistics:
    """Read an artifact's statistics from its file and from its files of dropped rows and calls."""
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
    """Return the path of a file next to an artifact. `kind`: `dropped` (rows) or `calls`."""
    return artifact.with_name(f"{artifact.stem}.{kind}.parquet")


def sum_calls(calls: Iterable[CallStatistics]) -> CallTotals:
    """Return the totals over calls; a call that several stages used was billed once and counts once."""
    distinct = {call.id: call for call in calls}.values()
    return CallTotals(
        len(distinct),
        sum(not call.parsed for call in distinct),
        sum(call.prompt_tokens for call in distinct),
        sum(call.completion_tokens for call in distinct),
        sum(call.estimated for call in distinct),
    )


def group_by_prompt(artifacts: Iterable[ArtifactStatistics]) -> list[tuple[str, CallStatistics, CallTotals]]:
    """Group calls by artifact, prompt, role and model.

    Each group is (artifact, one call of the group, totals over the calls of the group).
    """
    groups: dict[tuple[str, ...], list[CallStatistics]] = {}
    for artifact in artifacts:
        for call in artifact.calls:
            key = (artifact.name, call.prompt, call.prompt_digest, call.role, call.model)
            groups.setdefault(key, []).append(call)
    return [(key[0], calls[0], sum_calls(calls)) for key, calls in groups.items()]


def is_checksum(identity: str) -> bool:
    """Return whether a call's identity is a checksum, as in calls to embedded models.

    The identity of a model behind an API is the served model's name with the added parameters, or empty.
    """
    return CHECKSUM.fullmatch(identity) is not None


def list_models(artifacts: Sequence[ArtifactStatistics]) -> list[tuple[str, str, tuple[str, ...]]]:
    """List the models that were called, sorted by name, as (model, identity or "", roles)."""
    roles: dict[tuple[str, str], set[str]] = {}
    for artifact in artifacts:
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
    # Flattened in Arrow, so that a table with a million rows does not become a million dictionaries.
    for batch in pq.ParquetFile(path).iter_batches(columns=["origin"]):
        origins = batch.column(0).flatten()
        kinds, references = (origins.field(name).to_pylist() for name in ("kind", "reference"))
        yield from (reference for kind, reference in zip(kinds, references, strict=True) if kind == "row")
