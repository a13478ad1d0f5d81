"""Text frames for constrained decoding: ordered parts with alternative wordings to choose from."""

from __future__ import annotations

import json
from collections.abc import Sequence

Parts = Sequence[Sequence[str]]
"""Parts in order, each a choice of texts."""


def write_frame(parts: Parts, end: str = "?") -> str:
    """Write the GBNF of a text of these parts."""
    rules = (f"({' | '.join(json.dumps(choice, ensure_ascii=False) for choice in part)})" for part in parts)
    return f"root ::= {' '.join(rules)} {json.dumps(end)}"


def read_first(parts: Parts, end: str = "?") -> str:
    """Return the text of the first choices: what the prompts give as an example of what is meant."""
    return "".join(part[0] for part in parts) + end
