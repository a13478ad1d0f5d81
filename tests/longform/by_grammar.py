"""Write a text that a grammar of the longform flow allows, like a model with grammar-constrained decoding."""

import json
import random
import re

LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


def write_by_grammar(grammar: str, dice: random.Random | None = None) -> str:
    """Return a text with the first alternative of every choice, or with random alternatives."""
    body = grammar.removeprefix("root ::= ")
    texts, place = [], 0
    while place < len(body):
        if body[place] == "(":
            end = _find_end(body, place)
            choices = LITERAL.findall(body[place:end])
            texts.append(json.loads(dice.choice(choices) if dice else choices[0]))
            place = end
        elif found := LITERAL.match(body, place):
            texts.append(json.loads(found[0]))
            place = found.end()
        else:
            place += 1
    return "".join(texts)


def _find_end(body: str, place: int) -> int:
    while body[place] != ")":
        found = LITERAL.match(body, place)
        place = found.end() if found else place + 1
    return place
