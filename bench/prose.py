"""Check the words that people read against the rules of plain technical English: `python -m bench.prose`.

The rules are a small list of our own and proselint's. `[tool.prose]` of pyproject.toml names the files that
must pass, by kind of text. `--all` checks every file; paths check these files alone.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import accumulate
from typing import NamedTuple

from proselint.checks import __register__
from proselint.config import DEFAULT, Config
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

from bench.prose_texts import FILLED, KINDS, Text
from tests.documented import ROOT

LONGEST = 30
"""Maximum number of words in a sentence."""
SENTENCE = re.compile(r"\S.*?(?:[.!?][\"')]*(?=\s+[A-Z\"'(]|\s*\Z)|\Z)")
WORD = re.compile(r"[^\W_][\w'.,/@%-]*")
BANNED = {
    r"warned of": "has warnings",
    r"steady over": "consistent across",
    r"held against": "compared with",
    r"anew": "again",
    r"(?<!there )(?:is|are|was|were) no (?!longer|more|less|fewer|other|better|worse)\w+": "is not a",
    r"and else": "otherwise",
    r"(?:some|any|no)thing else than": "anything other than",
    r"(?:is|are) wanted": "expected X, got Y",
    r"of one's own": "your own",
    r"come[s]? to (?:no|an) end": "ends, fails",
    r"what became of": "grouped by outcome",
    r"(?:bear|bore|borne)s? out": "supports",
    r"in the place of": "instead of",
    r"without a word": "silently",
    r"gives? way": "fails",
    r"(?:there|here|where)(?:of|by|in|upon)": "name the thing",
    r"the house": "the shared code",
    r"strands?": "the field's term",
    r"(?:is|are) to be (?!\w+ing)\w+": "must be",
    r"at (?:its|their) word": "trusted",
    r"stands? on": "depends on",
}
"""Pattern of a disallowed phrase -> the phrase to use instead."""
OVERUSED = re.compile(r"\bof\s+(?:its|their)\s+own\b", re.IGNORECASE)
OFTEN = 2
"""Phrase -> maximum number of occurrences on a page."""
PASSIVE = re.compile(
    r"(?:(?:It|They|This|These|Those|That|All) (?:is|are|was|were) (?:\w+ed|held|made|taken|given|said|told)"
    r"|(?:Written|Held|Given|Taken|Made|Told|Said|Asked|Kept|Done|Named|Counted|Drawn|Paid|Judged|Handed)"
    r" (?:by|in|as|from|to|where|at|once|with|of))\b"
)
PRONOUN = re.compile(
    r"(?:What|It|Its|They|Their|Those|Such|Whose|Whoever|Which|Who|One (?:that|who|which|of these)"
    r"|(?:How|Where|When) (?!many|much|often|long)\w+)\b"
)
COMPILED = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), better) for words, better in BANNED.items()]
OFF = ("typography", "annotations", "dates_times.dates.decade_apostrophes", "misc.illogic")
"""Disabled checks of proselint: quotes follow the code, and DS-1000's is not a decade."""
APART = "\n\n"


class Finding(NamedTuple):
    """A sentence that breaks a rule."""

    path: str
    line: int
    rule: str
    told: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.told}"


def list_findings(texts: Sequence[Text]) -> list[Finding]:
    """List all findings, in the order of files and lines."""
    ours = (finding for text in texts for finding in check_text(text))
    return sorted({*ours, *check_often(texts), *run_proselint(texts)})


def check_text(text: Text) -> Iterator[Finding]:
    """Yield the findings of our own rules on a text."""
    line = text.text.replace("\n", " ")
    for pattern, better in COMPILED:
        for found in pattern.finditer(line):
            yield find(text, found.start(), "banned", f"{flatten(found[0])!r}; write {better!r}")
    for number, sentence in enumerate(SENTENCE.finditer(line)):
        words = len(WORD.findall(sentence[0]))
        if words > LONGEST:
            yield find(text, sentence.start(), "long", f"{words} words: {flatten(sentence[0])[:60]}...")
        if PASSIVE.match(sentence[0]):
            yield find(text, sentence.start(), "passive", flatten(sentence[0])[:60])
        if number == 0 and text.kind == "docstrings" and PRONOUN.match(sentence[0]):
            yield find(text, sentence.start(), "pronoun", flatten(sentence[0])[:60])


def check_often(texts: Iterable[Text]) -> Iterator[Finding]:
    """Yield a finding for each file that uses a phrase too often."""
    pages: dict[str, list[Text]] = {}
    for text in texts:
        pages.setdefault(text.path, []).extend([text] * len(OVERUSED.findall(text.text)))
    for uses in pages.values():
        for text in uses[OFTEN:]:
            yield find(text, 0, "overused", f"'of its own', {len(uses)} times in this file")


def run_proselint(texts: Sequence[Text]) -> Iterator[Finding]:
    """Yield the findings of proselint on the texts."""
    if not CheckRegistry().checks:
        CheckRegistry().register_many(__register__)
    starts = [0, *accumulate(len(text.text) + len(APART) for text in texts)]
    joined = LintFile("texts", APART.join(text.text for text in texts))
    checks = dict.fromkeys(sorted(OFF, key=lambda name: -name.count(".")), False) | DEFAULT["checks"]
    for result, _ in joined.lint(Config(max_errors=100_000, checks=checks | dict.fromkeys(OFF, False))):
        start, end = (offset - 1 for offset in result.span)  # proselint inserts a line break before the text
        place = bisect_right(starts, start) - 1
        text, offset = texts[place], start - starts[place]
        phrase = joined.content[start + 1 : end + 1]
        # proselint finds `for ever` in `for every`, and takes two pieces of code for a repetition.
        if re.search(rf"\b{re.escape(phrase)}\b", text.text) and FILLED not in phrase:
            yield find(text, offset, f"proselint {result.check_path}", flatten(result.message))


def find(text: Text, offset: int, rule: str, told: str) -> Finding:
    """Return a finding at an offset of a text."""
    return Finding(text.path, text.line + text.text.count("\n", 0, offset), rule, told)


def flatten(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def list_checked(paths: Sequence[str], everything: bool) -> list[Text]:
    """List the texts of the given files, of all files, or of the files that `[tool.prose]` names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["prose"]
    found = []
    for kind, list_texts in KINDS.items():
        globs = ["*"] if everything else paths or settings.get(kind, [])
        found += [text for text in list_texts() if any(fnmatch(text.path, glob) for glob in globs)]
    return found


def main(words: Sequence[str]) -> int:
    """Print every finding; return 1 if there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.prose", description="Check the words that people read."
    )
    parser.add_argument("paths", nargs="*", metavar="GLOB", help="files to check, instead of [tool.prose]'s")
    parser.add_argument("--all", action="store_true", help="check every file")
    arguments = parser.parse_args(words)
    texts = list_checked(arguments.paths, arguments.all)
    if not texts:
        parser.error(f"no text that people read is in {' '.join(arguments.paths)}")
    findings = list_findings(texts)
    for finding in findings:
        print(finding)
    counts = ", ".join(
        f"{rule} {count}" for rule, count in Counter(item.rule for item in findings).most_common()
    )
    print(f"prose: {len(texts)} texts, {len(findings)} findings {counts}".rstrip(), file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
