"""The GBNF grammars that a judge decodes by, where its endpoint can (`constrain: grammar`)."""

from __future__ import annotations

import json
from collections.abc import Sequence

FEEDBACK = 240
"""Characters of feedback at most; the grammar stops a small model that would go on."""


def judge_grammar(labels: Sequence[str], *, field: str = "Verdict", feedback: bool = False) -> str:
    r"""Write the grammar of a reply that ends with `Verdict: <label>`.

    feedback: let a line of free text stand before it, which costs a model on this machine about
    twenty seconds and makes it judge in the light of what it wrote. Without it the reply is the
    verdict line alone, as `verdicts.parse_label` reads it. Scores are labels too: `judge_grammar("012345",
    field="Score")`.
    """
    choices = " | ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    line = f"{json.dumps(f'{field}: ', ensure_ascii=False)} ({choices})"
    if not feedback:
        return f"root ::= {line}"
    return f'root ::= feedback "\\n" {line}\nfeedback ::= [^\\n\\r]{{1,{FEEDBACK}}}'
