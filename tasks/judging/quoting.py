"""How text under judgement is shown to a judge: fenced, marked line by line, with nothing hidden in it.

A text that somebody else wrote may pretend that it has ended, that it is the system's message, or
that it is the verdict. What is shown here can do none of this by its form: no line of it begins
where the judge's own text begins, its fence is no part of it, and it holds no token that a chat
template reads as a change of speaker. What it SAYS it still says: docs/judging.md tells the limits.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

LIMIT = 6000
MARK_DIGITS = 8
LINE = "> "
"""What every line of a quoted text begins with."""

NEW_LINES = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
JOINERS = ("\u200c", "\u200d")
"""They shape letters of many scripts and join emoji; between ASCII characters they only hide something."""
HIDDEN = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # controls, but for tab and new line
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\ud800-\udfff"
)
UNSEEN = re.compile(
    f"[{HIDDEN}]+"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"  # one variation selector picks a glyph, several carry bytes
)
SURROGATE = re.compile("[\ud800-\udfff]")

ROLE_MARKERS = re.compile(
    "<(?=[|\uff5c][^|\uff5c<>\\s]{1,40}[|\uff5c]>)"  # <|im_start|> and its like
    r"|<(?=/?(?:s|bos|eos|think|start_of_turn|end_of_turn)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)
"""Where a chat template's token for another speaker begins; a blank there makes it plain text."""


@dataclass(frozen=True)
class Quoted:
    """A text as a prompt shows it. `str()` of it is `text`, so that a prompt may take either."""

    text: str
    mark: str
    """What its fence is made of: `<<<mark` before, `mark>>>` after; empty without the guard."""
    hidden: int = 0
    """Invisible characters that were taken out."""
    roles: int = 0
    """Role markers that were split."""
    cut: int = 0
    """Characters left out where the text was too long."""

    def __str__(self) -> str:
        return self.text


def quote(text: str, *, guard: bool = True, limit: int = LIMIT) -> Quoted:
    """Show a text so that it cannot pass for anything but a quotation.

    guard: False gives the plain text, to measure what the guard is worth. limit: characters; of a
    longer text the first two thirds and the end are shown, and the gap is said. The same text gives
    the same quotation.
    """
    if not guard:
        return Quoted(SURROGATE.sub("\ufffd", text), "")
    shown, hidden = show_hidden(NEW_LINES.sub("\n", text))
    shown, roles = split_roles(shown)
    lines, cut = _cut(shown, limit)
    mark = make_mark(shown)
    return Quoted("\n".join([f"<<<{mark}", *lines, f"{mark}>>>"]), mark, hidden, roles, cut)


def clean(text: str) -> str:
    """Make a text one harmless line of a prompt: no line ends, hidden characters or role markers.

    For short things such as a title, or passages that are shown one a line; what is judged is quoted.
    """
    return split_roles(show_hidden(" ".join(NEW_LINES.sub("\n", text).split()))[0])[0]


def split_roles(text: str) -> tuple[str, int]:
    """Put a blank into every role marker, and count them."""
    return ROLE_MARKERS.subn(lambda found: f"{found[0]} ", text)


def make_mark(text: str) -> str:
    """Make a mark that does not occur in a text, from the text's own hash."""
    turn = 0
    while (mark := hashlib.sha256(f"{turn} {text}".encode()).hexdigest()[:MARK_DIGITS]) in text.lower():
        turn += 1
    return mark


def show_hidden(text: str) -> tuple[str, int]:
    """Put a note where invisible characters were, and count them; a joiner that shapes letters stays."""
    count = 0

    def show(found: re.Match[str]) -> str:
        nonlocal count
        around = text[max(0, found.start() - 1) : found.end() + 1]
        if found[0] in JOINERS and len(around) == 3 and not re.search("[\x00-\x7f]", around):
            return found[0]
        count += len(found[0])
        return f"[{len(found[0])} hidden]"

    return UNSEEN.sub(show, text), count


def _cut(text: str, limit: int) -> tuple[list[str], int]:
    over = len(text) - limit
    if over <= 0:
        return _mark_lines(text), 0
    head, tail = text[: limit * 2 // 3], text[len(text) - (limit - limit * 2 // 3) :]
    return [*_mark_lines(head), f"[{over} characters are left out here]", *_mark_lines(tail)], over


def _mark_lines(text: str) -> list[str]:
    return [f"{LINE}{line}".rstrip(" ") for line in text.split("\n")]
