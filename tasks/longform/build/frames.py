"""The ways in which a model that decodes by a grammar may word a question.

A small model left to itself names half of what it is told to, or garbles it. So it chooses among these parts;
what it may say otherwise is up to the parsers, which serve every other model. `A` stands for one group and
`B` for the other, with what they are groups of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tasks.longform.build.words import say_amount
from tasks.longform.rows import Focus

Parts = Sequence[Sequence[str]]
"""Parts in order, each a choice of texts."""
DEFINITE = (
    ("Do", "On average, do", "By the records, do", "Taken as a whole, do"),
    (" ROWS with the GROUP A",),
    (" have", " show"),
    (
        " both a higher average FIRST and a higher average SECOND",
        " a higher average FIRST and also a higher average SECOND",
    ),
    (" than ROWS with the GROUP B", " than those with the GROUP B"),
    (
        "",
        " when all records are taken together",
        " if one also looks at how many records stand behind each",
        ", counting only records in which the figure is known",
    ),
)
OPEN = (
    ("How do", "In the records, how do", "Taken as a whole, how do"),
    (
        " ROWS with the GROUP A compare with those with the GROUP B",
        " ROWS with the GROUP A and with the GROUP B compare",
    ),
    (" in their average FIRST and their average SECOND", " in average FIRST and in average SECOND"),
    ("", ", in the range of these figures", ", in the number of records behind them"),
    (", and which of the two KEYWORD", ", and which of them KEYWORD by these figures"),
)
SHORT_DEFINITE = (
    (
        "Are both FIRST and SECOND higher, on average, for ROWS with the GROUP A than for those with B",
        "On average, are FIRST and SECOND both higher for ROWS with the GROUP A than for those with B",
        "Do ROWS with the GROUP A come out higher than those with B, on average, in both FIRST and SECOND",
    ),
)
SHORT_OPEN = (
    ("Which KEYWORD", "By the records, which KEYWORD", "On the whole, which KEYWORD"),
    (
        ": ROWS with the GROUP A or with the GROUP B",
        ", ROWS with the GROUP A or those with the GROUP B",
        ": ROWS with A or with B as their GROUP",
    ),
)


def write_frame(parts: Parts, focus: Focus, groups: Sequence[str], keyword: str) -> str:
    """Write the GBNF of a question in the parts' order. Measures after the second are joined to it."""
    names = [say_amount(measure)[0] for measure in focus.measures]
    filled = {
        "ROWS": focus.table_words, "GROUP": focus.group_words, "KEYWORD": keyword, "FIRST": names[0],
        "SECOND": " and ".join(names[1:]) or names[0],
    }  # fmt: skip
    rules = []
    for part in parts:
        choices = []
        for text in part:
            said = _place(text, groups)
            for name, value in filled.items():
                said = said.replace(name, value)
            choices.append(said)
        rules.append(f"({' | '.join(json.dumps(choice, ensure_ascii=False) for choice in choices)})")
    return f'root ::= {" ".join(rules)} "?"'


def _place(text: str, groups: Sequence[str]) -> str:
    """Put the groups in the places of the single letters A and B."""
    values = dict(zip("AB", groups, strict=True))
    return re.sub(r"\b[AB]\b", lambda found: values[found[0]], text)
