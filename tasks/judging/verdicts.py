r"""The form of a judge's verdict: what the prompt asks for, what a grammar enforces, and what is read.

A verdict is the last line of a reply, `Verdict 3fa91c: Correct`. The mark in it is a hash of all that the
judge is shown and occurs in none of it. So a line that the judge repeats from there, however it re-types or
quotes it, is never a verdict, whoever wrote it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.models.ask import Unparsed

DIGITS = 6
BLANKS = " \t"
FEEDBACK = 240
"""Maximum length of feedback in characters; stops small models that do not end by themselves."""
SIGNS = r"[*_`#> \t]*"
"""What Markdown may put around a verdict."""


@dataclass(frozen=True)
class VerdictForm:
    """The form of the verdict in a request.

    values: the allowed ones. mark: as `make_form` derives it. feedback: words come before the verdict, so
    that the judge takes them into account; they cost a small local model many seconds a call.
    """

    values: tuple[str, ...]
    mark: str
    field: str = "Verdict"
    feedback: bool = False

    @property
    def head(self) -> str:
        """Return the start of a verdict line, before its colon."""
        return f"{self.field} {self.mark}"

    @property
    def choices(self) -> str:
        """The verdict lines as a prompt names them: each in quotation marks, joined by `or`."""
        return " or ".join(f'"{self.head}: {value}"' for value in self.values)

    def make_grammar(self) -> str:
        r"""Build the GBNF grammar of a reply, for endpoints that decode by one (`constrain: grammar`).

        It allows a line of feedback where the form has any, and the verdict line.
        """
        values = " | ".join(json.dumps(value, ensure_ascii=False) for value in self.values)
        line = f"{json.dumps(f'{self.head}: ', ensure_ascii=False)} ({values})"
        if not self.feedback:
            return f"root ::= {line}"
        return f'root ::= feedback "\\n" {line}\nfeedback ::= [^\\n\\r]{{1,{FEEDBACK}}}'

    def parse(self, reply: str) -> tuple[str, str]:
        """Read the verdict that a reply ends with, ignoring case; return (value, the text before it).

        Raises Unparsed if the last line that is not blank is anything but one verdict line with the mark.
        """
        before, _, last = reply.replace("\r\n", "\n").rstrip(BLANKS + "\n").rpartition("\n")
        values = {value.lower(): value for value in self.values}
        allowed = "|".join(re.escape(value) for value in values)
        line = rf"{SIGNS}{re.escape(self.head)}{SIGNS}:{SIGNS}(?P<value>{allowed})\.?{SIGNS}"
        found = re.fullmatch(line, last, re.IGNORECASE | re.ASCII)
        if found is None:
            what = "the reply is empty" if not last else "the last line is none"
            raise Unparsed(
                f"no_verdict: {what}; it must be `{self.head}: ` and one of {', '.join(self.values)}"
            )
        return values[found["value"].lower()], before.strip()


@dataclass(frozen=True)
class VerdictList:
    """The form of a request for a verdict on each of `count` things: one a line, `Verdict 3fa91c: 1 Yes`."""

    form: VerdictForm
    count: int

    @property
    def choices(self) -> str:
        """The lines for the first of them as a prompt names them."""
        return " or ".join(f'"{self.form.head}: 1 {value}"' for value in self.form.values)

    def make_grammar(self) -> str:
        """Build the GBNF grammar of a reply: as many lines as there are things, and nothing else."""
        values = " | ".join(json.dumps(value, ensure_ascii=False) for value in self.form.values)
        heads = (json.dumps(f"{self.form.head}: {n} ") for n in range(1, self.count + 1))
        return "root ::= " + ' "\\n" '.join(f"{head} ({values})" for head in heads)

    def parse(self, reply: str) -> tuple[str, ...]:
        """Read the verdicts that a reply ends with, in order. Raises Unparsed unless each has one."""
        lines = [line for line in reply.replace("\r\n", "\n").split("\n") if line.strip(BLANKS)]
        last = lines[-self.count :]
        if len(last) < self.count:
            raise Unparsed(f"no_verdict: {len(last)} lines for {self.count} verdicts")
        return tuple(self._read_line(line, n) for n, line in enumerate(last, 1))

    def _read_line(self, line: str, number: int) -> str:
        numbered = {f"{number} {value}": value for value in self.form.values}
        said, _ = replace(self.form, values=tuple(numbered)).parse(line)
        return numbered[said]


def make_list(values: Sequence[str], count: int, shown: Iterable[object]) -> VerdictList:
    """Make the form of a request for several verdicts. shown: every text that the judge is shown."""
    return VerdictList(make_form(values, shown), count)


def make_form(
    values: Sequence[str], shown: Iterable[object], *, field: str = "Verdict", feedback: bool = False
) -> VerdictForm:
    """Make the form of a request's verdict. shown: every text that the judge is shown."""
    return VerdictForm(tuple(values), make_mark("\n".join(map(str, shown)), DIGITS), field, feedback)


def make_mark(text: str, digits: int) -> str:
    """Derive a mark of so many hex digits from a text's hash that does not occur in the text.

    The same text gives the same mark, so that a request can be replayed.
    """
    turn, lower = 0, text.lower()
    while (mark := hash_text(f"{turn} {text}")[:digits]) in lower:
        turn += 1
    return mark


def hash_text(text: str) -> str:
    """Hash a text, also one with lone surrogates, to hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
