"""Generate realistic model replies by a seed: all kinds of fences, truncated, nested, nearly valid JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

FENCES = ("```", "```sql", "```SQL", "```python", "```py", "```sqlite", "``", "````", "```json")
BREAKS = ("\n", "\n", "\n", "", " ", "\r\n", "\n\n")
SQL = (
    "SELECT name FROM pets", "select name from pets", "SELECT id, age FROM pets WHERE age > 4",
    "name FROM pets",
    "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT 1;", "Select 1", "SELECT name FROM pets -- `it`", "",
    "SELECTED", "SELECT 'x' WHERE 0",
)  # fmt: skip
CODE = ("x = 1", "result = df.mean()", "    return y", "print('```')", "def f():\n    return {1: 2}", "")
WORDS = ("Here it is:", "Answer:", "Sure!", "so", "}", "{", "1. First", "34. Pneumonia", "12", "It is 7.", "")
NAMES = (("action", "action_input"), ("api", "arguments"), ("action", "input"))
APIS = ("add_date", "get_today_date", "search", "None")
ARGUMENTS: tuple[object, ...] = (
    {"days": 3}, {"days": "3 "}, {"days": 4}, {}, {"days": 3, "more": [1]}, '{"days": 3}', '{"days": 3',
    "[1]",
    "", None, ["days"], [1], 5, {"days": "a}b"}, "{}", '"x"',
)  # fmt: skip
ANSWERS: tuple[object, ...] = ("Paris", "the Paris.", "paris and Rome", "", "yes", "{Paris}", 'a "b"')
LABELS = ("34", "48", "49", "0", "007", "100", "٣", "3")


def write_replies(kind: str, count: int, seed: int = 7) -> Iterator[str]:
    """Yield `count` replies to items of a kind."""
    chance = random.Random(seed)
    write = {
        "sql": lambda: write_block(chance, SQL),
        "ds1000": lambda: write_block(chance, CODE),
        "toolbench": lambda: write_json(chance, write_call(chance)),
        "hotpotqa": lambda: write_json(chance, write_answer(chance)),
        "ddxplus": lambda: (
            f"{chance.choice(WORDS)} {chance.choice(LABELS)}{chance.choice(('.', ' .', ':', '. x'))}"
        ),
    }[kind]
    for _ in range(count):
        yield write()


def write_block(chance: random.Random, bodies: tuple[str, ...]) -> str:
    """Return words, fences and bodies in any order, most often words around a fenced body."""
    if chance.random() < 0.2:
        return chance.choice(bodies)
    parts = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        parts += [
            chance.choice((*WORDS, "", "", "", "")),
            chance.choice(BREAKS),
            chance.choice(FENCES),
            chance.choice(BREAKS),
            chance.choice(bodies),
            chance.choice(BREAKS),
            chance.choice(("```", "```", "```", "", "``")),
        ]
    return "".join([*parts, chance.choice(("", "", "", "\n", " Done.", "\nDone."))])


def write_call(chance: random.Random) -> object:
    """Return a call, or something like a call."""
    api, arguments = chance.choice(NAMES[:2]) if chance.random() < 0.9 else NAMES[2]
    return {api: chance.choice((*APIS[:3], *APIS, 5)), arguments: chance.choice(ARGUMENTS)}


def write_answer(chance: random.Random) -> object:
    """Return an answer object, or something like an answer."""
    answer = chance.choice(ANSWERS)
    return chance.choice(({"answer": answer}, {"answer": answer, "reasons": "{"}, {"reply": answer}, answer))


def write_json(chance: random.Random, value: object) -> str:
    """Return JSON within words; sometimes truncated, with single quotes, or between stray braces."""
    text = value if isinstance(value, str) else json.dumps(value, indent=chance.choice((None, None, 1)))
    if chance.random() < 0.1:
        text = text.replace('"', "'")
    if chance.random() < 0.1:
        text = text[: chance.randrange(len(text) + 1)]
    words = (chance.choice((*WORDS, *[""] * 12)) for _ in range(2))
    return f"{next(words)}{text}{next(words)}"
