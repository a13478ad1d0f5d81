"""Text frames for constrained decoding: sequences of parts with alternative wordings."""

from __future__ import annotations

import json
from collections.abc import Sequence

Parts = Sequence[Sequence[str]]
"""The parts of a text in order; a part is a list of alternative wordings."""


def write_frame(parts: Parts, end: str = "?") -> str:
    """Return the GBNF grammar of all texts with one wording of each part."""
    rules = (f"({' | '.join(json.dumps(choice, ensure_ascii=False) for choice in part)})" for part in parts)
    return f"root ::= {' '.join(rules)} {json.dumps(end)}"


def read_first(parts: Parts, end: str = "?") -> str:
    """Return the text with the first wording of each part, as an example for prompts."""
    return "".join(part[0] for part in parts) + end
