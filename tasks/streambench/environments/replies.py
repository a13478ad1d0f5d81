"""Read models' replies, and write texts for prompts, the same for all environments."""

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
"""Places in a reply at which a JSON object may begin."""
DEEPEST = 50


def check_reply(text: str) -> str:
    """Return a reply as it is. Raises Unparsed for an empty one."""
    if not text.strip():
        raise Unparsed("empty: there is no answer")
    return text


def cut_reasoning(text: str) -> str:
    """Return what follows the last line that begins with `Answer:`; the whole text without such a line."""
    found = list(ANSWER.finditer(text))
    answer = text[found[-1].end() :] if found else ""
    return answer if answer.strip() else text


def drop_labels(text: str) -> str:
    """Drop the labels that a prompt's past steps bear, and what follows them: a small model copies them.

    A text with a fence is left as it is.
    """
    if "```" in text:
        return text
    answer = WORDS_AFTER.split(text, maxsplit=1)[0]
    if label := LABEL.match(answer):
        answer = answer[label.end() :]
    return answer if answer.strip() else text


def find_last_block(text: str) -> str:
    """Find the last fenced block of a text, with its fence; empty if there is none that ends."""
    parts = text.split("```")
    return f"```{parts[-2 if len(parts) % 2 else -3]}```" if len(parts) > 2 else ""


def find_object(text: str) -> Mapping[str, object] | None:
    """Find the first JSON object in a text; None if there is none, or one nested too deep."""
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
    raise ValueError(f"{word} is no JSON")


DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def write_plain(text: str) -> str:
    """Write a text on one line, without half characters."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


@lru_cache(maxsize=4_096)
def write_text(text: str) -> str:
    """Write a text for a prompt: no hidden characters or role markers, one blank line in a row at most.

    The same ones come with many prompts: an item is asked by every run.
    """
    shown = split_roles(show_hidden(NEW_LINES.sub("\n", text))[0])[0]
    return BLANK_LINES.sub("\n\n", shown).strip("\n").strip()


def write_step(question: str, answer: str, words: str | None) -> str:
    """Write a past step. words: the feedback; None = an example, whose answer is right."""
    if words is None:
        return f"{question}\n{write_text(answer)}"
    return f"{question}\nYour answer: {write_text(answer)}\nFeedback: {words}"
