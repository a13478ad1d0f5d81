"""A template's arguments, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Render = Callable[[Any], str]
"""Turns a parsed piece of wikitext into text, a line each for what stands on lines of its own."""


def normalise_name(name: str) -> str:
    """Write a template's name in small letters, without underscores, namespace and comments."""
    name = " ".join(name.split("<!--")[0].replace("_", " ").split()).lower()
    return name.removeprefix("template:").removeprefix("vorlage:").strip()


@dataclass(frozen=True)
class Arguments:
    """positional: by number, from 0 on. named: by name in small letters."""

    name: str
    positional: tuple[str, ...]
    named: dict[str, str]

    @classmethod
    def read(cls, template: Any, render: Render) -> Arguments:
        """Read a parsed template; `1=x` is positional."""
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
        """Return a positional argument, from 0 on."""
        return self.positional[number] if number < len(self.positional) else default

    def first(self, *names: str) -> str:
        """Return the first of some named arguments that says anything."""
        return next((self.named[name] for name in names if self.named.get(name)), "")

    def is_set(self, name: str) -> bool:
        """Return whether a switch is on."""
        return self.named.get(name, "").lower() not in {"", "n", "no", "off", "0", "false"}
