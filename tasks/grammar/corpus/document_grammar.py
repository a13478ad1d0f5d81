"""A GBNF grammar for a paragraph that says each fact, and in which nothing else can be a name or a number."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tasks.grammar.construct.names import UNITS, make_singular
from tasks.grammar.corpus.entities import Fact

WORD = 'w ::= [a-z]{1,14} ("-" [a-z]{2,10})?'
TURNS = ("which", "so", "and", "a", "as")


def write_part_grammar(kind: str, name: str, facts: Sequence[Fact], *, mentions: bool = True) -> str:
    """Write the grammar of one sentence a fact, in order.

    A sentence begins with one of a few ways to say the fact and goes on in words of small letters: a
    small model left free gives a film another director, a second year and prizes that it never won; and
    where it must bring a value into a sentence of its own, it writes nonsense up to it.

    mentions: among these words may stand the thing's name and the values of its facts. Where they may
    not, a small model that is about to write one is left with pieces of words.
    """
    turns = " | ".join(_quote(each) for each in TURNS)
    rules = [WORD]
    if mentions:
        said = [name, *(value for fact in facts for value in (*fact.values, _list_values(fact.values)))]
        rules.append("m ::= w | " + " | ".join(_quote(each) for each in dict.fromkeys(said)))
        rules.append(f'tail ::= ", " ({turns}) (" " m){{4,16}} "."')
    else:
        rules.append(f'tail ::= ", " ({turns}) (" " w){{5,18}} "."')
    for number, fact in enumerate(facts):
        heads = " | ".join(_quote(each) for each in list_heads(kind, name, fact))
        rules.append(f"s{number} ::= ({heads}) tail")
    rules.append("root ::= " + ' " " '.join(f"s{number}" for number in range(len(facts))))
    return "\n".join(rules)


def list_heads(kind: str, name: str, fact: Fact) -> list[str]:
    """List the ways to say a fact: The runtime of the film Locke is 85 minutes."""
    words = fact.attribute.split()
    unit = words[-1] if len(words) > 2 and words[-2] == "in" and words[-1] in UNITS else ""
    attribute = " ".join(words[:-2]) if unit else fact.attribute
    several = len(fact.values) > 1
    said, verb = (_make_plural(attribute), "are") if several else (attribute, "is")
    value = f"{_list_values(fact.values)} {unit}".strip()
    return [
        f"The {said} of the {kind} {name} {verb} {value}",
        f"The {said} of {name} {verb} {value}",
        f"The {kind} {name} has the {said} {value}",
    ]


def _list_values(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ", ".join(values[:-1]) + f" and {values[-1]}"


def _make_plural(words: str) -> str:
    if make_singular(words) != words:
        return words
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
