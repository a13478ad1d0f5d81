r"""Define the format of a judge's verdict, for the prompt, the grammar and the parser.

A verdict is the last line of a reply, such as `Verdict 3fa91c: Correct`. The verdict's mark, here `3fa91c`,
is a hash of the prompt's texts, and does not occur in these texts. So a line that the judge copies from these
texts never counts as a verdict.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.models.ask import Unparsed

DIGITS = 6
"""Number of hex digits in the mark of a verdict."""
BLANKS = " \t"
FEEDBACK = 240
"""Maximum length of feedback in characters; the limit stops small models that do not stop by themselves."""
SIGNS = r"[*_`#> \t]*"
"""Pattern for the characters that Markdown may put around a verdict."""


@dataclass(frozen=True)
class VerdictForm:
    """The format of the verdict that a request asks for.

    - values: the allowed verdicts.
    - mark: the mark from `make_form`.
    - feedback: whether the judge writes feedback before the verdict, so that the verdict can depend on the
      feedback. With a small local model, feedback takes many seconds per call.
    """

    values: tuple[str, ...]
    mark: str
    field: str = "Verdict"
    feedback: bool = False

    @property
    def head(self) -> str:
        """The start of a verdict line, before its colon."""
        return f"{self.field} {self.mark}"

    @property
    def choices(self) -> str:
        """The verdict lines for a prompt, each in quotation marks, joined by `or`."""
        return " or ".join(f'"{self.head}: {value}"' for value in self.values)

    def make_grammar(self) -> str:
        r"""Build the GBNF grammar of a reply, for endpoints with constrained decoding (`constrain: grammar`).

        The reply consists of a line of feedback, if `feedback` is true, and the verdict line.
        """
        values = " | ".join(json.dumps(value, ensure_ascii=False) for value in self.values)
        line = f"{json.dumps(f'{self.head}: ', ensure_ascii=False)} ({values})"
        if not self.feedback:
            return f"root ::= {line}"
        return f'root ::= feedback "\\n" {line}\nfeedback ::= [^\\n\\r]{{1,{FEEDBACK}}}'

    def parse(self, reply: str) -> tuple[str, str]:
        """Parse the verdict at the end of a reply, ignoring case; return (value, text before the verdict).

        Raises Unparsed if the last non-blank line is not a verdict line with the mark.
        """
        before, _, last = reply.replace("\r\n", "\n").rstrip(BLANKS + "\n").rpartition("\n")
        values = {value.lower(): value for value in self.values}
        allowed = "|".join(re.escape(value) for value in values)
        line = rf"{SIGNS}{re.escape(self.head)}{SIGNS}:{SIGNS}(?P<value>{allowed})\.?{SIGNS}"
        # Without ASCII, IGNORECASE also accepts look-alike letters, such as a long s (U+017F) for an s.
        found = re.fullmatch(line, last, re.IGNORECASE | re.ASCII)
        if found is None:
            what = "the reply is empty" if not last else "the last line is not a verdict"
            raise Unparsed(
                f"no_verdict: {what}; expected `{self.head}: ` and one of {', '.join(self.values)}"
            )
        return values[found["value"].lower()], before.strip()


@dataclass(frozen=True)
class VerdictList:
    """The format of verdicts on `count` items in one request, one line per item: `Verdict 3fa91c: 1 Yes`."""

    form: VerdictForm
    count: int

    @property
    def choices(self) -> str:
        """The verdict lines for the first item, as an example in a prompt."""
        return " or ".join(f'"{self.form.head}: 1 {value}"' for value in self.form.values)

    def make_grammar(self) -> str:
        """Build the GBNF grammar of a reply with exactly one line per item."""
        values = " | ".join(json.dumps(value, ensure_ascii=False) for value in self.form.values)
        heads = (json.dumps(f"{self.form.head}: {n} ") for n in range(1, self.count + 1))
        return "root ::= " + ' "\\n" '.join(f"{head} ({values})" for head in heads)

    def parse(self, reply: str) -> tuple[str, ...]:
        """Parse the verdicts at the end of a reply, in order. Raises Unparsed if an item has no verdict."""
        lines = [line for line in reply.replace("\r\n", "\n").split("\n") if line.strip(BLANKS)]
        last = lines[-self.count :]
        if len(last) < self.count:
            raise Unparsed(f"no_verdict: expected {self.count} verdict lines, got {len(last)} lines")
        return tuple(self._read_line(line, n) for n, line in enumerate(last, 1))

    def _read_line(self, line: str, number: int) -> str:
        numbered = {f"{number} {value}": value for value in self.form.values}
        said, _ = replace(self.form, values=tuple(numbered)).parse(line)
        return numbered[said]


def make_list(values: Sequence[str], count: int, shown: Iterable[object]) -> VerdictList:
    """Return the format of several verdicts in one reply.

    shown: the prompt's texts, from which the mark is derived.
    """
    return VerdictList(make_form(values, shown), count)


def make_form(
    values: Sequence[str], shown: Iterable[object], *, field: str = "Verdict", feedback: bool = False
) -> VerdictForm:
    """Return the format of the verdict in a reply.

    shown: the prompt's texts, from which the mark is derived.
    """
    return VerdictForm(tuple(values), make_mark("\n".join(map(str, shown)), DIGITS), field, feedback)


def make_mark(text: str, digits: int) -> str:
    """Derive a mark of `digits` hex digits from the hash of a text, so that the mark is not in the text.

    The same text always has the same mark, so that a request can be replayed.
    """
    turn, lower = 0, text.lower()
    while (mark := hash_text(f"{turn} {text}")[:digits]) in lower:
        turn += 1
    return mark


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 encoding in hex digits; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
