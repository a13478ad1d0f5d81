"""Parse replies with labelled parts (`SQL: ...`); Markdown around labels is tolerated."""

from __future__ import annotations

import re
from collections.abc import Sequence

SIGNS = r"[*_`#>\- \t]*"
"""Pattern for the characters that Markdown may put around a label."""
LISTED = rf"^{SIGNS}(?:\d+[.)]{SIGNS})?"
AFTER = rf"{SIGNS}:(?:\*\*|__)?[ \t]*"
"""Pattern for the colon after a label.

Only these characters are removed after the colon, because a value may begin with a minus sign.
"""


def split_parts(reply: str, labels: Sequence[str]) -> list[tuple[str, str]]:
    """Split a reply at lines that begin with a label; text before the first label is left out."""
    names = {label.lower(): label for label in labels}
    _, *pieces = re.split(make_label_pattern(labels), reply.replace("\r\n", "\n"))
    return [(names[label.lower()], text) for label, text in zip(pieces[::2], pieces[1::2], strict=True)]


def make_label_pattern(labels: Sequence[str]) -> str:
    """Return a pattern for the start of a line: a label, an optional number, and a colon."""
    heads = "|".join(map(re.escape, labels))
    return rf"(?im){LISTED}({heads})(?:[ \t]*\d+)?{AFTER}"
