"""Write a GBNF grammar for a text with each placeholder exactly once and a bounded number of words."""

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


def write_text_grammar(phrases: Sequence[Sequence[str]], minimum: int, maximum: int, sentences: bool) -> str:
    """Write the grammar as a state machine that counts words and tracks which placeholders were used.

    phrases: for each placeholder, the phrases that may introduce it, brackets included, so that a text says
    what kind of thing it is; each counts as one word. No digit, bracket, quote or underscore can be written
    elsewhere.

    sentences: if true, one question of at most `minimum` words with all placeholders, then one sentence that
    says why it is asked; without the second, or with it first, a small model adds other questions. If false,
    a fragment.
    """
    longest = maximum
    maximum -= max(len(phrase.split()) - 1 for group in phrases for phrase in group) * len(phrases)
    marks = [f"m{index}" for index in range(len(phrases))]
    rules = [WORD, 'gap ::= ","? " "']
    for mark, group in zip(marks, phrases, strict=True):
        rules.append(f"{mark} ::= {' | '.join(json.dumps(phrase, ensure_ascii=False) for phrase in group)}")
    if sentences:
        opened = [f'"{opening} " word s0x{len(opening.split()) + 1}' for opening in OPENINGS]
        rules.append(f"root ::= {' | '.join(opened)}")
        rules += _write_states(marks, 6, minimum + len(marks), '"? I " word r')
        # Up to `longest`, not `maximum`: a reason cut off there would pass the checks, one too long does not.
        rules += [f"r{count} ::= {_write_reason(count, minimum, longest)}" for count in range(1, longest + 1)]
    else:
        rules.append(f"root ::= {_write_step(0, 0, '', marks, maximum)}")
        rules += [*_write_states(marks, minimum, maximum, "end"), 'end ::= ("." | "?")?']
    return "\n".join(rules)


def _write_states(marks: Sequence[str], minimum: int, maximum: int, end: str) -> list[str]:
    """Write a rule for each state; a state with every placeholder and enough words may end.

    An `end` that continues with other rules (`... r`) gets the number of words so far appended.
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
                rules.append(f"s{seen}x{count} ::= {' | '.join(choice for choice in choices if choice)}")
    return rules


def _write_step(seen: int, count: int, gap: str, marks: Sequence[str], maximum: int) -> str:
    """Write what may follow: a word, if the missing placeholders still fit after it, or one of them."""
    missing = [index for index in range(len(marks)) if not seen >> index & 1]
    steps = [f"{gap}word s{seen}x{count + 1}"] if maximum - count - 1 >= len(missing) else []
    if count < maximum:
        steps += [f'{gap}{marks[index]} ("\'s")? s{seen | 1 << index}x{count + 1}' for index in missing]
    return " | ".join(steps)


def _write_reason(count: int, minimum: int, maximum: int) -> str:
    steps = [f"gap word r{count + 1}"] if count < maximum else []
    return " | ".join([*steps, '"."'] if count >= minimum else steps)
