"""Stage: copy a database's existing questions, on which new questions are based.

In the paper, these questions are the basis of the step "control" (section 2.1).
"""

from __future__ import annotations

import json
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.longform.entries import SourceDatabase

HINT = 'write a JSON list of questions, such as ["How many cities?"]; use [] if there are no questions'
LONGEST = 300
"""Maximum number of characters in a question; longer questions are left out."""


def seeds(entry: SourceDatabase, out: Path) -> Counts:
    """Write a database's existing questions as JSON, without duplicates or questions longer than `LONGEST`.

    Raises BadInput if the file is not a JSON list of strings.
    """
    try:
        found = json.loads(entry.questions.read_text(encoding="utf-8"))
    # `json.loads` raises RecursionError for deeply nested lists.
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(entry.questions, "cannot be read as JSON", hint=HINT) from error
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise BadInput(entry.questions, "is not a list of strings", hint=HINT)
    short = [text for text in dict.fromkeys(" ".join(text.split()) for text in found) if len(text) <= LONGEST]
    write_text(out, json.dumps(short, ensure_ascii=False, indent=1) + "\n")
    return Counts(len(found), len(short), {"too_long_or_repeated": len(found) - len(short)})
