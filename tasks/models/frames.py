"""Text frames for constrained decoding: a sequence of parts, each with alternative wordings."""

from __future__ import annotations

import json
from collections.abc import Sequence

Parts = Sequence[Sequence[str]]
"""The parts of a text in order; each part lists its alternative wordings."""


def write_frame(parts: Parts, end: str = "?") -> str:
    """Write the GBNF grammar of all texts that choose one wording for each part."""
    rules = (f"({' | '.join(json.dumps(choice, ensure_ascii=False) for choice in part)})" for part in parts)
    return f"root ::= {' '.join(rules)} {json.dumps(end)}"


def read_first(parts: Parts, end: str = "?") -> str:
    """Return the text made of each part's first wording; prompts show it as an example."""
    return "".join(part[0] for part in parts) + end
