"""Parse a judge's verdict strictly: a reply that is not clearly one verdict counts as unscored.

The last non-blank line must be the verdict, `Verdict: Correct` or `Score: 4`, or the whole reply must be the
bare verdict. So an earlier verdict line, whoever wrote it, does not count, and text after the verdict leaves
the reply unscored. So does a verdict line inside a fence, quotation or comment that is still open at the end:
it may be quoted from the response.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from tasks.models.ask import Unparsed

BLANKS = " \t"
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
MARK = re.compile(r"<<<([0-9a-f]{8})")
"""The opening fence of a text quoted by `quoting.quote`."""
BLOCK_QUOTE = re.compile(r" {0,3}>")
TAG = re.compile(
    r"<(/?)(?:quote|blockquote|q|pre|code|answer|response|context|reference|document|think|thinking)\b[^<>]*>",
    re.IGNORECASE,
)
MIN_ECHO = 8
"""Minimum length in characters of a line whose repetition at the end of another is no coincidence."""
CLOSERS = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』"}


def parse_label(
    text: str, labels: Sequence[str], *, field: str = "Verdict", shown: Sequence[str] = ()
) -> str:
    """Parse the label that a reply ends with; it must be one of `labels`, ignoring case.

    shown: the texts that the judge was shown. Quotation marks inside a repeated one are ignored, and a
    verdict line repeated from one is no verdict. Raises Unparsed.
    """
    known = {label.lower(): label for label in labels}
    found = find_value(text, "|".join(re.escape(label) for label in known), field, r"\.?", shown)
    return known[found.lower()]


def parse_score(text: str, low: int, high: int, *, field: str = "Score", shown: Sequence[str] = ()) -> int:
    """Parse the integer from low to high that a reply ends with. shown: as for `parse_label`.

    Fractions, signs, leading zeros and digits of other scripts are refused. Raises Unparsed.
    """
    values = "|".join(str(value) for value in range(high, low - 1, -1))
    return int(find_value(text, values, field, "", shown))


def find_value(text: str, values: str, field: str, end: str, shown: Sequence[str]) -> str:
    """Find the value in a reply's last line.

    values, end: regular expressions of the value and of what may follow it. Raises Unparsed.
    """
    bare = rf"(?P<bold>\*{{0,2}})(?P<value>{values}){end}(?P=bold){end}"
    name = re.escape(field)
    within = rf"(?P<all>\*{{1,2}}){name}:[ \t]*(?P<inner>{values}){end}(?P=all){end}"
    before_it = rf"(?P<strong>\*{{0,2}}){name}(?:(?P=strong):|:(?P=strong))[ \t]*{bare}"
    named = rf"(?:#{{1,6}} +)?(?:{before_it}|{within})"
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip(BLANKS):
        lines.pop()
    if not lines:
        raise Unparsed("no_verdict: the reply is empty")
    *before, last = lines
    alone = not any(line.strip(BLANKS) for line in before)
    found = _match(named, last) or (_match(bare, last) if alone else None)
    if found is None:
        raise Unparsed(f"no_verdict: the last line is no `{field}: ...` with one allowed value")
    if opened := find_open(remove_shown("\n".join(before), shown).split("\n")):
        raise Unparsed(f"quoted_verdict: the last line stands in {opened} that is not closed")
    if not alone and is_echo(before, last, shown, named):
        raise Unparsed("quoted_verdict: the last line is the quoted text's own")
    return found


def remove_shown(text: str, shown: Sequence[str]) -> str:
    """Remove from a reply the shown texts that it repeats in full, plain or JSON-escaped."""
    for quoted in sorted(shown, key=len, reverse=True):
        for form in (quoted, json.dumps(quoted)[1:-1], json.dumps(quoted, ensure_ascii=False)[1:-1]):
            text = text.replace(form, " ") if form else text
    return text


def _match(pattern: str, line: str) -> str | None:
    """Match a line indented by at most three spaces (more, or a tab, would make it a code block)."""
    found = re.fullmatch(rf" {{0,3}}(?:{pattern})[ \t]*", line, re.IGNORECASE | re.ASCII)
    group = found.groupdict() if found else {}
    return next(group[name] for name in ("value", "inner") if group.get(name)) if found else None


def find_open(lines: Sequence[str]) -> str:
    """Name the construct that is still open after these lines; empty if there is none.

    Fences and quoted texts are read first: nothing inside them opens or closes anything.
    """
    outside: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in lines:
        if closing is not None:
            closing = None if closing.fullmatch(line) else closing
        elif mark := MARK.fullmatch(line.strip(BLANKS)):
            closing = re.compile(rf"[ \t]*{mark[1]}>>>[ \t]*")
        elif (fence := FENCE.fullmatch(line)) and not (fence[1][0] == "`" and "`" in fence[2]):
            closing = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*")
        elif not BLOCK_QUOTE.match(line):
            outside.append(line)
    if closing is not None:
        return "a fence"
    prose = "\n".join(outside)
    if prose.rfind("<!--") > prose.rfind("-->"):
        return "a comment"
    if sum(-1 if tag[1] else 1 for tag in TAG.finditer(prose)) > 0:
        return "a tag"
    return "a quotation" if is_quoting(prose) else ""


def is_quoting(text: str) -> bool:
    """Tell whether a quotation is open at the end of a text.

    A straight quotation mark opens one only after white space or a bracket (5" is a length), and closes one
    unless a letter or digit follows.
    """
    closers = ""
    for found in re.finditer(r'["“”„«»「」『』]', text):
        sign, before, after = (
            found[0],
            text[max(0, found.start() - 1) : found.start()],
            text[found.end() : found.end() + 1],
        )
        if closers:
            if sign in closers and (sign != '"' or not after.isalnum()):
                closers = ""
        elif sign != '"' or not before or before.isspace() or before in "([{:=*":
            closers = CLOSERS.get(sign, "")
    return bool(closers)


def is_echo(before: Sequence[str], last: str, shown: Sequence[str], named: str) -> bool:
    """Tell whether a reply's last line is repeated from a text that the judge was shown.

    It is if a line of the text begins with it (the repetition may be truncated) and either the line before
    it in the reply is, or ends with, the line before it in the text, or the reply introduces it by a colon or
    contradicts a verdict line just before it. before: the reply's lines before the last. named: the pattern
    of a verdict line.
    """
    previous_line = next(line for line in reversed(before) if line.strip(BLANKS))
    previous, verdict = _bare(previous_line), _bare(last)
    against = _match(named, previous_line) is not None and previous != verdict
    for text in shown:
        lines = [bare for line in text.split("\n") if (bare := _bare(line))]
        if (against or previous.endswith(":")) and any(line.startswith(verdict) for line in lines):
            return True
        for above, line in pairwise(lines):
            if line.startswith(verdict) and (
                previous == above or (len(above) >= MIN_ECHO and previous.endswith(above))
            ):
                return True
    return False


def _bare(line: str) -> str:
    return line.strip(" \t\r>*")
