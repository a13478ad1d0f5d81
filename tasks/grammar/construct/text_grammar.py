"""A GBNF grammar for a text with each placeholder exactly once and a number of words between two bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence

WORD = 'word ::= [A-Za-z] [a-z]{0,13} ("\'s")?'
OPENINGS = (
    "Could you please",
    "Can you",
    "May I",
    "What",
    "Which",
    "Who",
    "When",
    "How",
    "Where",
    "In which",
)


def write_text_grammar(ways: Sequence[Sequence[str]], minimum: int, maximum: int, sentences: bool) -> str:
    """Write the grammar as a machine whose states count the words and know which placeholders have come.

    ways: for each placeholder, the phrases that may bring it in, brackets and all: so that a text says
    what kind of thing it is. sentences: one question that holds all placeholders and takes no more
    than the least number of words, then one sentence about why it is asked. Left to itself, or with
    the reason first, a small model fills the rest with other questions. Else a fragment without a full
    stop. A phrase counts as one word. No digit, bracket, quote or underscore can be written elsewhere.
    """
    longest = maximum
    maximum -= max(len(way.split()) - 1 for phrases in ways for way in phrases) * len(ways)
    marks = [f"m{index}" for index in range(len(ways))]
    rules = [WORD, 'gap ::= ","? " "']
    for mark, phrases in zip(marks, ways, strict=True):
        rules.append(f"{mark} ::= {' | '.join(json.dumps(each, ensure_ascii=False) for each in phrases)}")
    if sentences:
        opened = [f'"{each} " word s0x{len(each.split()) + 1}' for each in OPENINGS]
        rules.append(f"root ::= {' | '.join(opened)}")
        rules += _write_states(marks, 6, minimum + len(marks), '"? I " word r')
        # Held to fewer words, a reason would be cut off in the middle and pass; so it is too long instead.
        rules += [f"r{count} ::= {_write_reason(count, minimum, longest)}" for count in range(1, longest + 1)]
    else:
        rules.append(f"root ::= {_write_step(0, 0, '', marks, maximum)}")
        rules += [*_write_states(marks, minimum, maximum, "end"), 'end ::= ("." | "?")?']
    return "\n".join(rules)


def _write_states(marks: Sequence[str], minimum: int, maximum: int, end: str) -> list[str]:
    """Write a rule for each state; a state with every placeholder and enough words may end.

    An end that goes on to other rules (`... r`) is told how many words there are by then.
    """
    every = (1 << len(marks)) - 1
    rules = []
    for count in range(1, maximum + 1):
        for seen in range(every + 1):
            if maximum - count < len(marks) - seen.bit_count():
                continue
            choices = [_write_step(seen, count, "gap ", marks, maximum)]
            if seen == every and count >= minimum:
                choices.append(f"{end}{count + 2}" if end.endswith("r") else end)
            if any(choices):
                rules.append(f"s{seen}x{count} ::= {' | '.join(each for each in choices if each)}")
    return rules


def _write_step(seen: int, count: int, gap: str, marks: Sequence[str], maximum: int) -> str:
    """Write what may come next: a word where the placeholders still have room, or one of them."""
    missing = [index for index in range(len(marks)) if not seen >> index & 1]
    steps = [f"{gap}word s{seen}x{count + 1}"] if maximum - count - 1 >= len(missing) else []
    if count < maximum:
        steps += [f'{gap}{marks[index]} ("\'s")? s{seen | 1 << index}x{count + 1}' for index in missing]
    return " | ".join(steps)


def _write_reason(count: int, minimum: int, maximum: int) -> str:
    steps = [f"gap word r{count + 1}"] if count < maximum else []
    return " | ".join([*steps, '"."'] if count >= minimum else steps)
