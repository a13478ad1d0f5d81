"""Embed what memories find items by: all keys of a stream once, before the first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.errors import ModelFailed
from tasks.models.ask import Ask
from tasks.streambench.build.items import StreamItem
from tasks.streambench.memory import Vector

NO_VECTOR: Vector = np.empty(0, np.float32)


async def embed_keys(items: Sequence[StreamItem], ask: Ask, role: str) -> Mapping[str, Vector]:
    """Embed the memory keys of items: item -> its vector, L2-normalised; of width 0 while planning.

    Raises ModelFailed, also for vectors of several widths, BudgetSpent, CallMissing.
    """
    keys = sorted({item.memory_key for item in items})
    vectors = await ask.embed(keys, role=role, row="memory_keys")
    widths = {len(vector) for vector in vectors} - {0}
    if len(widths) > 1:
        raise ModelFailed(f"{role}: vectors of different lengths came ({sorted(widths)})")
    found = {key: normalise(vector) for key, vector in zip(keys, vectors, strict=True)}
    return {item.id: found[item.memory_key] for item in items}


def normalise(values: Sequence[float]) -> Vector:
    """Scale a vector to unit length; one of zeros stays as it is."""
    vector = np.array(values, np.float64)
    length = float(np.sqrt((vector * vector).sum()))
    return (vector / length if length else vector).astype(np.float32)
