"""Check that every installed package has a licence that pyproject.toml allows: `python -m bench.licences`.

`[tool.licences]` lists the SPDX ids of allowed licences, other spellings of licences, and excepted packages
with reasons. Prints a line for each package without an allowed licence and for each unnecessary exception,
and then exits with 1.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from license_expression import ExpressionError, Licensing

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
CLASSIFIER = "License :: "
LONGEST_NAME = 60
"""Maximum characters of a licence's name; a longer field contains the licence's text."""
LICENSING = Licensing()


@dataclass(frozen=True)
class Policy:
    """The licence policy. allow: SPDX ids. spellings: text -> SPDX expression. exceptions: package -> why."""

    allow: frozenset[str]
    spellings: Mapping[str, str]
    exceptions: Mapping[str, str]


def main() -> int:
    """Print violations of the policy; return the exit code."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["licences"]
    policy = Policy(frozenset(settings["allow"]), settings["spellings"], settings["exceptions"])
    installed = list(distributions())
    faults = list(list_faults(installed, policy))
    for fault in faults:
        print(f"licences: {fault}", file=sys.stderr)
    if not faults:
        print(f"licences: {len(installed)} packages, {len(policy.exceptions)} of them by exception")
    return 1 if faults else 0


def list_faults(installed: Iterable[Distribution], policy: Policy) -> Iterator[str]:
    """List the packages without an allowed licence, and the exceptions that are not needed."""
    broken = set()
    for package in sorted(installed, key=lambda package: package.metadata["Name"].lower()):
        name, expression = package.metadata["Name"], read_licence(package, policy.spellings)
        if is_allowed(expression, policy.allow):
            continue
        broken.add(name)
        if name not in policy.exceptions:
            yield f"{name} {package.version} is under {expression or 'no licence that it names'}"
    for name in policy.exceptions.keys() - broken:
        yield f"{name} is not installed or needs no exception: take it out of [tool.licences.exceptions]"


def read_licence(package: Distribution, spellings: Mapping[str, str]) -> str:
    """Read a package's licence as an SPDX expression, from its expression, classifiers or `License` field.

    All of several classifiers apply, since they do not state a choice.
    """
    if expression := package.metadata.get("License-Expression"):
        return expression
    classifiers = [
        text for text in package.metadata.get_all("Classifier") or [] if text.startswith(CLASSIFIER)
    ]
    named = [text.rpartition(" :: ")[2] for text in classifiers]
    if written := [spelled for text in named if (spelled := spellings.get(text, text))]:
        return " AND ".join(f"({text})" for text in written)
    field = (package.metadata.get("License") or "").strip()
    return spellings.get(field, field) if len(field) <= LONGEST_NAME else ""


def is_allowed(expression: str, allow: frozenset[str]) -> bool:
    """Return whether allowed licences alone satisfy a licence expression."""
    try:
        parsed = LICENSING.parse(expression)
    except ExpressionError:
        return False
    if parsed is None:
        return False
    known = {symbol: LICENSING.TRUE for symbol in parsed.symbols if str(symbol) in allow}
    return bool(parsed.subs(known, simplify=True) == LICENSING.TRUE)


if __name__ == "__main__":
    sys.exit(main())
