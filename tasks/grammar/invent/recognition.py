"""Ask the judge whether it recognises a name, to keep only fictitious ones."""

from __future__ import annotations

from dataclasses import replace

from tasks.models.ask import Answer, Ask, Unparsed
from tasks.models.logprobs import compare_choices

LIKELIEST = 8
"""Number of tokens whose probability is requested: enough to have yes and no among them, in any case."""


async def ask_recognised(name: str, kind: str, ask: Ask, *, row: str, sure: float) -> Answer[bool]:
    """Ask the judge whether it knows a particular thing of this name (appendix G.2, section 5).

    kind: what the name stands for ("company"). sure: the probability of yes above which a name counts as
    recognised, if the endpoint returns probabilities: a small model says yes to every name, but with higher
    probability to names that it knows. The answer's value is None if the reply is neither yes nor no.
    """
    answer = await ask(
        "closed_check",
        {"name": name, "kind": kind},
        role="reader",
        row=row,
        parse=parse_verdict,
        grammar='root ::= "Yes" | "No"',
        max_tokens=4,
        top_logprobs=LIKELIEST,
    )
    shares = compare_choices(answer.logprobs, ("yes", "no"))
    return answer if shares is None or answer.value is None else replace(answer, value=shares["yes"] > sure)


def parse_verdict(text: str) -> bool:
    """Parse a reply that must be yes or no. Raises Unparsed."""
    word = text.strip().strip(".*\"'").lower()
    if word not in ("yes", "no"):
        raise Unparsed("no_verdict: neither yes nor no")
    return word == "yes"
