"""Stage: the judge of Part II tried on answers whose grade is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.artifacts.rows import Drafts
from tasks.judging.canaries import CanaryRow
from tasks.models.ask import Ask
from tasks.ragcheck.canaries import try_judges
from tasks.ragcheck.entries import Continuity


async def conversation_canaries(
    entry: Continuity, settings: Mapping[str, Any], ask: Ask
) -> Drafts[CanaryRow]:
    """Have the judge of Part II grade every canary; what it was asked in Part I it is not asked again."""
    return await try_judges([entry.judge], settings, ask)
