"""What a reply of one sentence must look like."""

from __future__ import annotations

import re

from tasks.models.ask import Unparsed


def read_question(text: str, least: int, most: int) -> str:
    """Read a reply that is one question of so many words. Raises Unparsed."""
    question = " ".join(text.strip().strip('"').split())
    if not question.endswith("?") or question.count("?") > 1:
        raise Unparsed("it is not one sentence with one question mark")
    if re.search(r"[<>{}|`]|\b(SELECT|FROM|JOIN)\b", question):
        raise Unparsed("it has SQL or signs in it")
    count = len(question.split())
    if not least <= count <= most:
        raise Unparsed(f"it has {count} words; {least} to {most} are wanted")
    return question
