"""Whether a name is fictitious: generic, or not recognised by the model as something particular."""

from __future__ import annotations

from dataclasses import replace

from tasks.models.ask import Answer, Ask, Unparsed
from tasks.models.logprobs import compare_choices

LIKELIEST = 8
"""Tokens whose probability is asked for: yes and no are among them, in whatever case."""


async def ask_recognised(name: str, kind: str, ask: Ask, *, row: str, sure: float) -> Answer[bool]:
    """Ask the judge whether it knows one particular thing of this name (appendix G.2, section 5).

    kind: what the name stands for ("company"). sure: the share of yes beyond which a name is recognised,
    where the endpoint gives probabilities: a small model says yes to everything, and to what it knows more
    surely. The answer's value is None where it said neither yes nor no.
    """
    answer = await ask(
        "closed_check",
        {"name": name, "kind": kind},
        role="judge",
        row=row,
        parse=parse_verdict,
        grammar='root ::= "Yes" | "No"',
        max_tokens=4,
        top_logprobs=LIKELIEST,
    )
    shares = compare_choices(answer.logprobs, ("yes", "no"))
    return answer if shares is None or answer.value is None else replace(answer, value=shares["yes"] > sure)


def parse_verdict(text: str) -> bool:
    """Read yes or no, strictly. Raises Unparsed."""
    word = text.strip().strip(".*\"'").lower()
    if word not in ("yes", "no"):
        raise Unparsed("no_verdict: neither yes nor no")
    return word == "yes"
