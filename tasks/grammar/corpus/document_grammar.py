"""Write a GBNF grammar for a paragraph that states each fact and contains no other names or numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tasks.english import make_singular
from tasks.grammar.construct.names import UNITS
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.plain_patterns import join
from tasks.models.ask import Unparsed

WORD = 'w ::= [a-z]{1,14} ("-" [a-z]{2,10})?'
"""The grammar of a lower-case word, possibly hyphenated."""
TURNS = ("which", "so", "and", "a", "as")
"""The words that may begin the rest of a sentence after the fact."""


def write_part_grammar(kind: str, name: str, facts: Sequence[ProfileFact], *, mentions: bool = True) -> str:
    """Write the decoding grammar of one sentence per fact, in order.

    A sentence begins with one of a few phrasings of the fact. The sentence may end after the phrasing, or
    continue in lower-case words. Without this restriction to lower case, a small model invents a director, a
    second year or prizes. The grammar does not let the model write the words before the value, because these
    words would make no sense.

    `mentions` also allows the entity's name and the values of facts in the continuation. If `mentions`
    is false, a small model that tries to write a name produces fragments of words.
    """
    turns = " | ".join(_quote(turn) for turn in TURNS)
    rules = [WORD]
    if mentions:
        texts = [name, *(value for fact in facts for value in (*fact.values, join(fact.values)))]
        rules.append("m ::= w | " + " | ".join(_quote(text) for text in dict.fromkeys(texts)))
        rules.append(f'tail ::= ", " ({turns}) (" " m){{4,16}} "."')
    else:
        rules.append(f'tail ::= ", " ({turns}) (" " w){{5,18}} "."')
    for number, fact in enumerate(facts):
        heads = " | ".join(_quote(head) for head in list_heads(kind, name, fact))
        rules.append(f's{number} ::= ({heads}) ("." | tail)')
    rules.append("root ::= " + ' " " '.join(f"s{number}" for number in range(len(facts))))
    return "\n".join(rules)


def parse_paragraph(text: str, maximum: int) -> str:
    """Parse a reply as one plain paragraph with up to `maximum` words. Raises Unparsed."""
    text = " ".join(text.split())
    words = len(text.split())
    if not 1 <= words <= maximum:
        raise Unparsed(f"length: {words} words; expected 1 to {maximum}")
    if re.search(r"[#*_`\[\]{}<>|]", text):
        raise Unparsed("form: expected a paragraph without Markdown or brackets")
    return text


def list_heads(kind: str, name: str, fact: ProfileFact) -> list[str]:
    """List the phrasings of a fact, such as `The runtime of the film Locke is 85 minutes`."""
    words = fact.attribute.split()
    unit = words[-1] if len(words) > 2 and words[-2] == "in" and words[-1] in UNITS else ""
    attribute = " ".join(words[:-2]) if unit else fact.attribute
    several = len(fact.values) > 1
    noun, verb = (_make_plural(attribute), "are") if several else (attribute, "is")
    value = f"{join(fact.values)} {unit}".strip()
    return [
        f"The {noun} of the {kind} {name} {verb} {value}",
        f"The {noun} of {name} {verb} {value}",
        f"The {kind} {name} has the {noun} {value}",
    ]


def _make_plural(words: str) -> str:
    if make_singular(words) != words:
        return words
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
