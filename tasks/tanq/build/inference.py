"""Check whether a text supports a statement, by rules or by asking a model (step 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from tasks.judging.quoting import clean
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.settings import Settings
from tasks.sources.wikipedia.article import CELL, INFOBOX
from tasks.tanq.build.statements import find_saying, names_relation
from tasks.tanq.graph.relations import Relation
from tasks.tanq.labels import Support

THREE = {"Yes": Support.SUPPORTED, "No": Support.REFUTED, "Unknown": Support.NOT_ENOUGH}
TWO = {"Yes": Support.SUPPORTED, "No": Support.NOT_ENOUGH}
"""Map each reply of a model to its label.

With two labels, No means only that the text does not support the statement.
"""
KINDS = {CELL: "table row", INFOBOX: "infobox"}
LONGEST = 900
"""Maximum number of characters of a proof in the prompt."""
DENIED = re.compile(
    r"\b(?:not(?! (?:only|just|merely|to be confused))|cannot|"
    r"no(?!\.| (?:more|less|fewer|later|earlier) than)|never|neither|nor|none|hardly|unlike|except|excluding|"
    r"instead of|rather than|without|wrongly|mistakenly|falsely|erroneously|incorrectly|lost|ceased|"
    r"failed to)\b|n['\u2019]t\b"
)
PAST = re.compile(
    r"\b(?:(?:former(?:ly)?|previous(?:ly)?|historical(?:ly)?|once)\b"
    r"(?! (?:known|called|named|spel|romani[sz]|written))|"
    r"until|was the|were the|proposed|claim(?:s|ed)?|planned(?! (?:city|capital))|moved from|replaced|"
    r"before \d{4}|used to|had been|served as|erstwhile|one-time|ex-(?=capital)|"
    r"(?:was|were) (?:its|their|briefly|capital))\b"
)
BORDER = "P47"
AT_SEA = re.compile(
    r"\b(?:maritime|sea|marine)\b[^.;]{0,12}(?:border|boundar)(?!.*(?:border|boundar))", re.DOTALL
)
"""Matches the text before a mention if the last border named in that text is a maritime border."""
PRESENT = re.compile(r"\b(?:is|are|shares)\b")
BEHIND, AHEAD = 70, 30
"""Numbers of characters searched before and after a mention for words that change the mention's meaning."""
FAR = 160
"""Number of characters before a mention that are searched for negations in the same clause."""
PATTERNS: Mapping[str, str] = {
    "P36": r"\bcapital(?: city)?(?: and[^.;,]{0,40})?,? (?:is|of)(?: the)? {}"
    r"|{} is the (?:\w+ and )?capital(?: city)?(?: and[^.;]{0,40})?(?: of (?!its)|[.,])",
    "P47": r"\bborder(?:s|ed|ing)\b(?:(?!maritime|\bsea\b|parted|strait|ocean)[^.;]){0,160}{}",
    "P30": r"\b(?:country|nation|state|island|republic|located|situated)\b[^.;]{0,40}\bin\b[^.;]{0,30}{}",
    "P2046": r"\b(?:total|land|has an|its|whose) area (?:of|is)[^.;,\d]{0,30}{}",
    "P1082": r"\bpopulation (?:of|is|was)[^.;\d]{0,30}{}|{} (?:inhabitants|residents)",
    "P37": r"\bofficial (?:and \w+ )?languages?(?: is| are|:)[^.;]{0,60}{}",
    "P38": r"\bcurrency(?: is|:)[^.;]{0,20}{}",
    "P569": r"\((?:born )?{}",
    "P570": r"[\u2013-] {}\)",
    "P19": r"\bborn (?:(?!died)[^.;]){0,60}\bin {}",
    "P20": r"\bdied (?:(?!born)[^.;]){0,60}\bin {}",
    "P57": r"\bdirected by (?:[^.;]{0,25} and )?{}",
}
"""Map each property to a pattern for texts that state the relation directly; the mention replaces {}."""


class Inference(Settings):
    """Settings for checking statements against proofs; part of `tanq.verify` in params.yaml."""

    labels: Literal[2, 3] = 3
    """Number of labels: 3 (supported, refuted, not enough information), or 2 (without refuted)."""
    guards: bool = True
    """Without a model call, reject proofs that deny or omit the relation, or that refer to the past."""
    rules: bool = False
    """Without a model call, accept a proof that matches a known pattern for the relation."""
    tries: int = Field(default=2, gt=0)
    """Maximum number of proofs that a model checks for each fact, best first."""


@dataclass(frozen=True)
class Evidence:
    """The evidence for a statement. text: the text in the prompt. mention: the matched words of the text.

    headers: the headers of a cell or infobox entry.
    """

    article: str
    kind: str
    text: str
    mention: str
    headers: tuple[str, ...] = ()


def decide_by_rule(evidence: Evidence, relation: Relation, params: Inference) -> Support | None:
    """Return the label of the evidence if a rule decides, or None if a model must decide."""
    if params.guards and find_objection(evidence, relation):
        return Support.NOT_ENOUGH
    return Support.SUPPORTED if params.rules and tells_outright(evidence, relation) else None


def find_objection(evidence: Evidence, relation: Relation) -> str:
    """Return the reason why a proof clearly does not support the fact, or an empty string.

    The reasons are `value`, `relation`, `denied`, `at_sea` and `past`.
    """
    place = evidence.text.find(evidence.mention)
    if not evidence.mention or place < 0:
        return "value"
    if not names_relation(" ".join((*evidence.headers, evidence.text)), relation):
        return "relation"
    if DENIED.search(_cut_clause(evidence, FAR)):
        return "denied"
    if relation.id == BORDER and AT_SEA.search(evidence.text[:place]):
        return "at_sea"
    now = PRESENT.search(find_saying(relation).template)
    return "past" if now and PAST.search(_cut_clause(evidence, BEHIND)) else ""


def tells_outright(evidence: Evidence, relation: Relation) -> bool:
    """Return whether a proof matches a pattern for the relation, or is the relation's infobox entry."""
    if evidence.kind == INFOBOX:
        return names_relation(" ".join(evidence.headers), relation)
    pattern = PATTERNS.get(relation.id)
    if pattern is None or evidence.kind == CELL:
        return False
    return bool(re.search(pattern.replace("{}", re.escape(evidence.mention)), evidence.text))


async def ask_inference(
    statement: str, evidence: Evidence, params: Inference, row: str, ask: Ask
) -> Answer[Support]:
    """Ask a model whether a proof supports a statement; the answer's value is a label, or None if unparsed.

    Raises ModelFailed, BudgetSpent or CallMissing.
    """
    replies = THREE if params.labels == 3 else TWO

    def parse(reply: str) -> Support:
        word = reply.strip().rstrip(".")
        if word not in replies:
            raise Unparsed(f"no_verdict: {word!r:.40} is not one of {', '.join(replies)}")
        return replies[word]

    return await ask(
        "verify",
        {
            "labels": params.labels,
            "statement": clean(statement),
            "article": clean(evidence.article),
            "kind": KINDS.get(evidence.kind, ""),
            "text": clean(_shorten(evidence)),
        },
        role="reader",
        row=row,
        parse=parse,
        grammar=f"root ::= {' | '.join(map(json.dumps, replies))}",
        max_tokens=4,
    )


def _shorten(evidence: Evidence) -> str:
    if len(evidence.text) <= LONGEST:
        return evidence.text
    start = max(0, evidence.text.find(evidence.mention) - LONGEST // 2)
    return f"... {evidence.text[start : start + LONGEST]} ..."


def _cut_clause(evidence: Evidence, behind: int) -> str:
    """Return a mention and the words around it that are in the same clause, in lower case.

    behind: maximum number of characters before the mention.
    """
    before, _, after = evidence.text.partition(evidence.mention)
    said = re.split(r"[.;:]\s", before[-behind:])[-1] + evidence.mention
    return (said + re.split(r"[.;:,]\s|\sand the\s", after[:AHEAD])[0]).lower()
