"""A matcher for the subset of GBNF in Benchloom's grammars; it checks whether a model can write a text."""

import json
import re

TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[[^\]]*\]|\{\d+(?:,\d+)?\}|[()|?]|[A-Za-z]\w*)')


def accepts(grammar: str, text: str) -> bool:
    rules = parse_grammar(grammar)
    return len(text) in _match(rules, ("rule", "root"), text, 0, {})


def parse_grammar(grammar: str) -> dict:
    rules = {}
    for line in grammar.splitlines():
        name, _, body = line.partition(" ::= ")
        rules[name] = _parse(TOKEN.findall(body))
    return rules


def _parse(tokens):
    choices, current = [], []
    while tokens:
        token = tokens.pop(0)
        if token == ")":
            break
        if token == "|":
            choices.append(current)
            current = []
        elif token == "(":
            current.append(_parse(tokens))
        elif token == "?":
            current.append(("repeat", current.pop(), 0, 1))
        elif token[0] == "{":
            low, _, high = token[1:-1].partition(",")
            current.append(("repeat", current.pop(), int(low), int(high or low)))
        elif token[0] == '"':
            current.append(("text", json.loads(token)))
        elif token[0] == "[":
            current.append(("class", re.compile(token)))
        else:
            current.append(("rule", token))
    return ("any", [*choices, current])


def _match(rules, node, text, start, memory):
    kind, what = node[0], node[1]
    if kind == "text":
        return {start + len(what)} if text.startswith(what, start) else set()
    if kind == "class":
        return {start + 1} if what.match(text, start) else set()
    if kind == "rule":
        if (what, start) not in memory:
            memory[what, start] = _match(rules, rules[what], text, start, memory)
        return memory[what, start]
    if kind == "repeat":
        ends, found = {start}, {start} if node[2] == 0 else set()
        for count in range(1, node[3] + 1):
            ends = {end for begin in ends for end in _match(rules, what, text, begin, memory)}
            found |= ends if count >= node[2] else set()
        return found
    found = set()
    for choice in what:
        ends = {start}
        for part in choice:
            ends = {end for begin in ends for end in _match(rules, part, text, begin, memory)}
        found |= ends
    return found
