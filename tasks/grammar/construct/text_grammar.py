"""Write a GBNF grammar for a text with each placeholder exactly once and a bounded number of words."""

from __future__ import annotations

import json
from collections.abc import Sequence

OPENINGS = ("What", "Which", "Who", "When", "How", "Where", "In which")
ASKING = ("what", "which", "who", "when", "how", "where")
TURNS = (" and ", ", and ", " because ", ", so ", " where ", " while ")
"""What leads from the given circumstance to the model's own words."""
GOES_ON = (4, 11)
"""The model's own words about the circumstance, the least and the most."""


def write_text_grammar(
    phrases: Sequence[Sequence[str]], minimum: int, maximum: int, form: str = "", letters: str = ""
) -> str:
    """Write the grammar of a fragment as a state machine that counts words and tracks the placeholders used.

    phrases: for each placeholder, the phrases that may introduce it, brackets included, so that a text says
    what kind of thing it is; each counts as one word. No digit, bracket, quote or underscore can be written
    elsewhere. form: `given` begins with a placeholder, `wanted` with a word, `asking` with a question word.
    letters: those beyond ASCII that words may have.
    """
    maximum -= _count_further(phrases)
    marks, rules = _write_marks(phrases, letters)
    start = _write_step(0, 0, "", marks, maximum)
    if form == "given":
        start = " | ".join(step for step in start.split(" | ") if not step.startswith("word"))
    elif form == "wanted":
        start = "word s0x1"
    elif form == "asking":
        start = " | ".join(f'"{word}" s0x1' for word in ASKING)
    rules.append(f"root ::= {start}")
    return "\n".join([*rules, *_write_states(marks, minimum, maximum, "end"), 'end ::= ("." | "?")?'])


def write_message_grammar(
    phrases: Sequence[Sequence[str]],
    minimum: int,
    maximum: int,
    circumstance: str,
    opening: str,
    letters: str = "",
) -> str:
    """Write the grammar of two sentences: the circumstance with a few words more, and the question.

    Only the question can hold placeholders, and it comes last, so that nothing else is asked.
    opening: its first words; empty leaves the choice among question words. phrases, letters: as above.
    """
    marks, rules = _write_marks(phrases, letters)
    given = len(circumstance.split())
    least = max(minimum - given - GOES_ON[0] - 1, 5)
    most = max(maximum - given - GOES_ON[1] - 1 - _count_further(phrases), least + len(marks) + 4)
    openings = (opening,) if opening else OPENINGS
    turns = " | ".join(json.dumps(turn) for turn in TURNS)
    rules += [
        f"turn ::= {turns}",
        f"root ::= {json.dumps(circumstance, ensure_ascii=False)} turn word "
        f'(" " word){{{GOES_ON[0] - 1},{GOES_ON[1] - 1}}} ". " ask',
        "ask ::= " + " | ".join(f'"{words} " word s0x{len(words.split()) + 1}' for words in openings),
        *_write_states(marks, least, most, "end"),
        'end ::= "?"',
    ]
    return "\n".join(rules)


def _write_marks(phrases: Sequence[Sequence[str]], letters: str) -> tuple[list[str], list[str]]:
    marks = [f"m{index}" for index in range(len(phrases))]
    rules = [f'word ::= [A-Za-z{letters}] [a-z{letters}]{{0,13}} ("\'s")?', 'gap ::= ","? " "']
    for mark, group in zip(marks, phrases, strict=True):
        rules.append(f"{mark} ::= {' | '.join(json.dumps(phrase, ensure_ascii=False) for phrase in group)}")
    return marks, rules


def _count_further(phrases: Sequence[Sequence[str]]) -> int:
    """Count the words that phrases may have beyond the one that each counts as."""
    return max(len(phrase.split()) - 1 for group in phrases for phrase in group) * len(phrases)


def _write_states(marks: Sequence[str], minimum: int, maximum: int, end: str) -> list[str]:
    """Write a rule for each state; a state with every placeholder and enough words may end."""
    every = (1 << len(marks)) - 1
    rules = []
    for count in range(1, maximum + 1):
        for seen in range(every + 1):
            if maximum - count < len(marks) - seen.bit_count():
                continue
            choices = [_write_step(seen, count, "gap ", marks, maximum)]
            if seen == every and count >= minimum:
                choices.append(end)
            if any(choices):
                rules.append(f"s{seen}x{count} ::= {' | '.join(choice for choice in choices if choice)}")
    return rules


def _write_step(seen: int, count: int, gap: str, marks: Sequence[str], maximum: int) -> str:
    """Write what may follow: a word, if the missing placeholders still fit after it, or one of them."""
    missing = [index for index in range(len(marks)) if not seen >> index & 1]
    steps = [f"{gap}word s{seen}x{count + 1}"] if maximum - count - 1 >= len(missing) else []
    if count < maximum:
        steps += [f'{gap}{marks[index]} ("\'s")? s{seen | 1 << index}x{count + 1}' for index in missing]
    return " | ".join(steps)
