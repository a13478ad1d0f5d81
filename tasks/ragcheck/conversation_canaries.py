"""Stage: have the judge of conversations (Part II) grade canaries, which are answers with known grades."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.artifacts.rows import Drafts
from tasks.judging.canaries import CanaryRow
from tasks.models.ask import Ask
from tasks.ragcheck.canaries import grade_canaries
from tasks.ragcheck.entries import Continuity


async def conversation_canaries(
    entry: Continuity, settings: Mapping[str, object], ask: Ask
) -> Drafts[CanaryRow]:
    """Have the judge of Part II grade every canary.

    Calls that Part I already recorded are reused.
    """
    return await grade_canaries([entry.judge], settings, ask)
