"""Quote untrusted text in a judge's prompt: fenced, prefixed line by line, without hidden characters.

A judged text may imitate the end of a quotation, a system message or a verdict. Quoting prevents this: every
line has a prefix, the text does not contain its fence, and no token changes the role in a chat template. The
meaning of the text is unchanged; docs/judging.md lists the limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks.judging.verdicts import make_mark

LIMIT = 6000
"""Default maximum length of a quoted text, in characters."""
MARK_DIGITS = 8
"""Number of hex digits in the mark of a fence."""
LINE = "> "
"""The prefix of every quoted line."""

# All line breaks of `str.splitlines`: the text after a missed line break would have no prefix.
NEW_LINES = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
JOINERS = ("\u200c", "\u200d")
"""Zero-width joiners, which many scripts and emoji use; next to ASCII characters, they only hide text."""
HIDDEN = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # control characters except tab and new line
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
    "\ud800-\udfff"
)
UNSEEN = re.compile(
    f"[{HIDDEN}]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}}"  # several variation selectors can hide bytes
)
SURROGATE = re.compile("[\ud800-\udfff]")

ROLE_MARKERS = re.compile(
    "<(?=[|\uff5c][^|\uff5c<>\\s]{1,40}[|\uff5c]>)"  # <|im_start|> and similar tokens
    r"|<(?=/?(?:s|bos|eos|think|start_of_turn|end_of_turn)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)
"""Matches the first character of a chat template's role token.

A space after this character breaks the token.
"""


@dataclass(frozen=True)
class Quoted:
    """A quoted text; `str()` returns its `text`."""

    text: str
    mark: str
    """The mark of the fence: the text is between `<<<mark` and `mark>>>`; empty if `guard` is False."""
    hidden: int = 0
    """Number of invisible characters that were replaced."""
    roles: int = 0
    """Number of role markers that were split."""
    omitted: int = 0
    """Number of characters omitted from a text that exceeds the limit."""

    def __str__(self) -> str:
        return self.text


def quote(text: str, *, guard: bool = True, limit: int = LIMIT) -> Quoted:
    """Quote a text for a prompt, deterministically.

    guard: False returns the plain text, to measure the effect of quoting. limit: maximum length in
    characters. A longer text is shortened to its beginning (two thirds of the limit) and its end (one third),
    with a note between them.
    """
    if not guard:
        # A request is UTF-8, which cannot encode a lone surrogate.
        return Quoted(SURROGATE.sub("\ufffd", text), "")
    shown, hidden = show_hidden(NEW_LINES.sub("\n", text))
    shown, roles = split_roles(shown)
    lines, omitted = _truncate(shown, limit)
    mark = make_mark(shown, MARK_DIGITS)
    return Quoted("\n".join([f"<<<{mark}", *lines, f"{mark}>>>"]), mark, hidden, roles, omitted)


def clean(text: str) -> str:
    """Return a text as one line for a prompt, without line breaks, hidden characters or role markers.

    Use this for titles, and for passages that are shown one per line. For judged text, use `quote` instead.
    """
    return split_roles(show_hidden(" ".join(NEW_LINES.sub("\n", text).split()))[0])[0]


def split_roles(text: str) -> tuple[str, int]:
    """Insert a space into every role marker; return (text, number of markers)."""
    return ROLE_MARKERS.subn(lambda found: f"{found[0]} ", text)


def show_hidden(text: str) -> tuple[str, int]:
    """Replace invisible characters with a note; return (text, number of characters replaced).

    A single joiner between two non-ASCII characters is not replaced.
    """
    count = 0

    def show(found: re.Match[str]) -> str:
        nonlocal count
        around = text[max(0, found.start() - 1) : found.end() + 1]
        if found[0] in JOINERS and len(around) == 3 and not re.search("[\x00-\x7f]", around):
            return found[0]
        count += len(found[0])
        return f"[{len(found[0])} hidden]"

    return UNSEEN.sub(show, text), count


def _truncate(text: str, limit: int) -> tuple[list[str], int]:
    over = len(text) - limit
    if over <= 0:
        return _mark_lines(text), 0
    head, tail = text[: limit * 2 // 3], text[len(text) - (limit - limit * 2 // 3) :]
    return [*_mark_lines(head), f"[{over} characters are left out here]", *_mark_lines(tail)], over


def _mark_lines(text: str) -> list[str]:
    return [f"{LINE}{line}".rstrip(" ") for line in text.split("\n")]
