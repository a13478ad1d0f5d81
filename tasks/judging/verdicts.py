"""Reads a judge's verdict, strictly: what is not plainly one verdict is none.

A reply is read from its end. Its last line that is not blank must be the verdict, `Verdict: Correct`
or `Score: 4`, or the whole reply must be the bare verdict. So an earlier verdict line, whoever wrote
it, cannot count, and words after the verdict (a second thought, a quotation) leave the reply
unscored. A verdict line inside something that is still open at the reply's end (a fence, a
quotation, a comment) may be a quoted answer that was cut off: unscored too.
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
"""The first line of a text that `quoting.quote` fenced."""
BLOCK_QUOTE = re.compile(r" {0,3}>")
TAG = re.compile(
    r"<(/?)(?:quote|blockquote|q|pre|code|answer|response|context|reference|document|think|thinking)\b[^<>]*>",
    re.IGNORECASE,
)
TELLING = 8
"""Characters of a line whose repetition at the end of another is no chance."""
CLOSERS = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』"}


def parse_label(
    text: str, labels: Sequence[str], *, field: str = "Verdict", shown: Sequence[str] = ()
) -> str:
    """Read the label that a reply ends with; case apart, it must be one of `labels`.

    shown: the texts that the judge was shown. Where the reply repeats one, what is in it opens no
    quotation, and a verdict line that is plainly the text's own is no verdict. Raises Unparsed.
    """
    known = {label.lower(): label for label in labels}
    found = find_value(text, "|".join(re.escape(label) for label in known), field, r"\.?", shown)
    return known[found.lower()]


def parse_score(text: str, low: int, high: int, *, field: str = "Score", shown: Sequence[str] = ()) -> int:
    """Read the whole number from low to high that a reply ends with. shown: as for `parse_label`.

    No fraction, sign, leading zero or digit of another script is read. Raises Unparsed.
    """
    values = "|".join(str(value) for value in range(high, low - 1, -1))
    return int(find_value(text, values, field, "", shown))


def find_value(text: str, values: str, field: str, end: str, shown: Sequence[str]) -> str:
    """Find the value in a reply's last line. values, end: patterns. Raises Unparsed."""
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
    """Take out of a reply the texts that it repeats whole, as they are or as JSON writes them."""
    for quoted in sorted(shown, key=len, reverse=True):
        for form in (quoted, json.dumps(quoted)[1:-1], json.dumps(quoted, ensure_ascii=False)[1:-1]):
            text = text.replace(form, " ") if form else text
    return text


def _match(pattern: str, line: str) -> str | None:
    """Match a line without its blanks; four of them, or a tab, would make it a block of code."""
    found = re.fullmatch(rf" {{0,3}}(?:{pattern})[ \t]*", line, re.IGNORECASE | re.ASCII)
    group = found.groupdict() if found else {}
    return next(group[name] for name in ("value", "inner") if group.get(name)) if found else None


def find_open(lines: Sequence[str]) -> str:
    """Name what is still open after these lines; empty where nothing is.

    Fences and our own quotation marks are read first: nothing within them opens or closes anything.
    """
    own: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in lines:
        if closing is not None:
            closing = None if closing.fullmatch(line) else closing
        elif mark := MARK.fullmatch(line.strip(BLANKS)):
            closing = re.compile(rf"[ \t]*{mark[1]}>>>[ \t]*")
        elif (fence := FENCE.fullmatch(line)) and not (fence[1][0] == "`" and "`" in fence[2]):
            closing = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*")
        elif not BLOCK_QUOTE.match(line):
            own.append(line)
    if closing is not None:
        return "a fence"
    said = "\n".join(own)
    if said.rfind("<!--") > said.rfind("-->"):
        return "a comment"
    if sum(-1 if tag[1] else 1 for tag in TAG.finditer(said)) > 0:
        return "a tag"
    return "a quotation" if is_quoting(said) else ""


def is_quoting(text: str) -> bool:
    """Tell whether a quotation is open at the end of a text.

    A straight quotation mark opens one after a blank or a bracket only, so that 5" is a length, and
    closes one before anything but a letter or a digit.
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

    It is where a line there begins with it (it may be cut off), and the line before that one is also what
    stands before it in the reply, or that is at least its end; and where any line there begins with it,
    and the reply introduces it by a colon or speaks against a verdict line just before. named: a
    verdict's pattern.
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
                previous == above or (len(above) >= TELLING and previous.endswith(above))
            ):
                return True
    return False


def _bare(line: str) -> str:
    return line.strip(" \t\r>*")
