"""Tell responses that only say that the answer is not known."""

from __future__ import annotations

import re

LONGEST = 40
"""In words: what goes on for longer says something beside."""
ABSTAINS = re.compile(
    r"\b(?:(?:i|we) (?:(?:do|did) not|don't|didn't) (?:know|have|find)|(?:i|we) (?:am|are) not sure"
    r"|(?:i|we) (?:cannot|can't|can not|could not|am unable to|are unable to) (?:answer|say|tell|find)"
    r"|(?:is|are) not (?:known|given|stated|mentioned|provided|specified) (?:in|by)"
    r"|(?:documents?|contexts?|passages?|sources?|texts?) (?:do|does) not (?:say|mention|contain|state|tell)"
    r"|(?:there is )?no (?:information|answer) (?:about|on|is|was|in|to))",
    re.IGNORECASE,
)
ALONE = re.compile(
    r"(?:sorry,? (?:but )?)?(?:i|we) (?:do not|don't|did not|didn't) know(?: (?:that|this|the answer))?"
)
"""All of a response that answers nothing, in lower case."""


def is_abstention(response: str) -> bool:
    """Tell whether a response is no answer but says that there is none; an empty one is no answer either."""
    words = response.replace("\u2019", "'").split()
    return not words or (len(words) <= LONGEST and ABSTAINS.search(" ".join(words)) is not None)


def says_nothing_else(response: str) -> bool:
    """Tell whether a normalised response is an abstention and not a word beside it."""
    return ALONE.fullmatch(response.replace("\u2019", "'")) is not None
