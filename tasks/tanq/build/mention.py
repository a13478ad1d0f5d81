"""Find the other end of a fact in a text: a thing's name, an amount or a date (step 2).

What is found is a mention, no proof yet: the text may say something else of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tasks.tanq.build.mention_dates import DateEnd, find_date
from tasks.tanq.build.mention_names import NamedEnd, find_name
from tasks.tanq.build.mention_numbers import AmountEnd, find_amount

End = NamedEnd | AmountEnd | DateEnd


def find_mention(text: str, end: End, headers: Sequence[str] = ()) -> str:
    """Find the first words of a text that mention an end; empty if none do.

    headers: of a cell or an infobox entry, where the unit of its amount may stand.
    """
    if isinstance(end, NamedEnd):
        found = find_name(text, end)
    elif isinstance(end, AmountEnd):
        found = find_amount(text, end, headers)
    else:
        found = find_date(text, end)
    return text[slice(*found)] if found else ""
