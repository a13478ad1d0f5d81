"""The arguments of a wikitext template, converted to text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Render = Callable[[Any], str]
"""Function that converts parsed wikitext to text; blocks, list entries and line breaks become lines."""


def normalise_name(name: str) -> str:
    """Return a template's name in lower case, without underscores, namespace or comments."""
    name = " ".join(name.split("<!--")[0].replace("_", " ").split()).lower()
    return name.removeprefix("template:").removeprefix("vorlage:").strip()


@dataclass(frozen=True)
class Arguments:
    """The arguments of a template.

    - `name`: the template's normalised name.
    - `positional`: arguments without a name, in order.
    - `named`: lower-case name -> value.
    """

    name: str
    positional: tuple[str, ...]
    named: dict[str, str]

    @classmethod
    def read(cls, template: Any, render: Render) -> Arguments:
        """Return the arguments of a parsed template; `1=x` counts as positional."""
        numbered: dict[int, str] = {}
        named: dict[str, str] = {}
        for parameter in template.params:
            name, value = str(parameter.name).strip(), render(parameter.value).strip()
            if name.isascii() and name.isdigit() and 0 < int(name[:6]) <= 1000:
                numbered[int(name[:6])] = value
            else:
                named[name.lower()] = value
        count = max(numbered, default=0)
        positional = tuple(numbered.get(number, "") for number in range(1, count + 1))
        return cls(normalise_name(str(template.name)), positional, named)

    def at(self, number: int, default: str = "") -> str:
        """Return a positional argument by its index, starting at 0; `default` if the argument is missing."""
        return self.positional[number] if number < len(self.positional) else default

    def first(self, *names: str) -> str:
        """Return the first non-empty value among these named arguments; empty if all are empty."""
        return next((self.named[name] for name in names if self.named.get(name)), "")

    def is_set(self, name: str) -> bool:
        """Return whether a named argument is set, and not to `no`, `off`, `0` or a similar value."""
        return self.named.get(name, "").lower() not in {"", "n", "no", "off", "0", "false"}
