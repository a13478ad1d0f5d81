"""Names of things within a sentence: some take the article."""

from __future__ import annotations

import re

WITH_ARTICLE = re.compile(
    r"(United (States|Kingdom|Arab Emirates|Nations)\b.*|.*\b(Islands|Antilles)"
    r"|Netherlands|Philippines|Maldives|Bahamas|Gambia|Comoros|Seychelles|Caribbean|Middle East|Americas"
    r"|Isle of .*|.*\bRepublic( of .*)?|(Soviet|European) Union|.* Sea|.* Ocean)"
)


def say_name(label: str) -> str:
    """Name a thing within a sentence: `the Netherlands`, `Peru`."""
    return f"the {label}" if WITH_ARTICLE.fullmatch(label) else label


def say_value(shown: str, condition: str) -> str:
    """Name a value with the article, if a condition by it has it: `the euro`, as in `use the {}`."""
    return f"the {shown}" if "the {}" in condition else say_name(shown)
