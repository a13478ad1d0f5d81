"""Parse models' replies and format texts for prompts, for all environments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from tasks.judging.quoting import NEW_LINES, show_hidden, split_roles
from tasks.models.ask import Unparsed
from tasks.scoring.items import is_deeper

ANSWER = re.compile(r"^[ \t*#>]*(?:final +)?answer[ \t*]*:[ \t*]*", re.IGNORECASE | re.MULTILINE)
LABEL = re.compile(
    r"\s*(?:(?:(?:your|the|improved|final|new) +)*answer(?: +\d+)?|sql(?: +query)?|query) *:\s*",
    re.IGNORECASE,
)
WORDS_AFTER = re.compile(r"^(?:feedback|remarks(?: \d+)?) *:", re.IGNORECASE | re.MULTILINE)
BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
MOST_BRACES = 50
"""Maximum number of opening braces to try as the start of a JSON object."""
# Maximum nesting depth of a JSON object in a reply.
DEEPEST = 50


def check_reply(text: str) -> str:
    """Return a reply unchanged. Raises Unparsed if the reply is empty."""
    if not text.strip():
        raise Unparsed("empty: there is no answer")
    return text


def cut_reasoning(text: str) -> str:
    """Return the text after the last line-initial `Answer:`, or the whole text if no answer follows."""
    found = list(ANSWER.finditer(text))
    answer = text[found[-1].end() :] if found else ""
    return answer if answer.strip() else text


def drop_labels(text: str) -> str:
    """Remove a leading label, and feedback after the answer; small models copy both from the prompt.

    A text with a fenced block is returned unchanged.
    """
    if "```" in text:
        return text
    answer = WORDS_AFTER.split(text, maxsplit=1)[0]
    if label := LABEL.match(answer):
        answer = answer[label.end() :]
    return answer if answer.strip() else text


def find_last_block(text: str) -> str:
    """Return the last complete fenced block of a text, with its fence; empty if there is none."""
    parts = text.split("```")
    return f"```{parts[-2 if len(parts) % 2 else -3]}```" if len(parts) > 2 else ""


def find_object(text: str) -> Mapping[str, object] | None:
    """Return the first JSON object in a text; None if there is none, or if it is nested too deeply."""
    for place, brace in enumerate(re.finditer(r"\{", text)):
        if place == MOST_BRACES:
            return None
        try:
            found, _ = DECODER.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return None if is_deeper(found, DEEPEST) else found
    return None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not valid JSON")


# strict=False accepts line breaks within strings. By default, Python also parses NaN and Infinity, which are
# not JSON.
DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def write_plain(text: str) -> str:
    """Return a text on one line, without lone surrogates."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


@lru_cache(maxsize=4_096)
def write_text(text: str) -> str:
    """Sanitise a text for prompts: replace hidden characters, break role markers, merge blank lines.

    Results are cached, since the same item appears in the prompts of many runs.
    """
    shown = split_roles(show_hidden(NEW_LINES.sub("\n", text))[0])[0]
    return BLANK_LINES.sub("\n\n", shown).strip("\n").strip()


def write_step(question: str, answer: str, words: str | None) -> str:
    """Return the text of a past step. words: the feedback; None for an example with a correct answer."""
    if words is None:
        return f"{question}\n{write_text(answer)}"
    return f"{question}\nYour answer: {write_text(answer)}\nFeedback: {words}"
