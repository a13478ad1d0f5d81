"""GBNF grammars for judges' replies, used if the endpoint supports them (`constrain: grammar`)."""

from __future__ import annotations

import json
from collections.abc import Sequence

FEEDBACK = 240
"""Maximum length of feedback in characters; stops small models that do not end by themselves."""


def judge_grammar(labels: Sequence[str], *, field: str = "Verdict", feedback: bool = False) -> str:
    r"""Build the grammar of a reply that ends with `Verdict: <label>`.

    feedback: allow a line of free text before the verdict, so that the judge takes it into account; it costs
    a small local model many seconds per call. Otherwise the reply is the verdict line alone, as
    `verdicts.parse_label` reads it. For scores: `judge_grammar("012345", field="Score")`.
    """
    choices = " | ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    line = f"{json.dumps(f'{field}: ', ensure_ascii=False)} ({choices})"
    if not feedback:
        return f"root ::= {line}"
    return f'root ::= feedback "\\n" {line}\nfeedback ::= [^\\n\\r]{{1,{FEEDBACK}}}'
