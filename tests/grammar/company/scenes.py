"""A scripted company, and the same company on every database engine."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tasks.grammar.company.clients import clients
from tasks.grammar.company.database import database
from tasks.grammar.company.employees import employees
from tasks.grammar.company.organisation import organisation
from tasks.grammar.company.profile import profile
from tasks.grammar.company.projects import projects
from tasks.grammar.company.settings import Company
from tasks.grammar.corpus.document_grammar import list_heads
from tests.grammar.gbnf import accepts
from tests.grammar.scripted import Asked, ScriptedAsk

SMALL = Company(departments=2, employees=7, clients=4, projects=5, services=2)


@dataclass
class Script:
    """Replies to each prompt with distinct names that the grammar allows."""

    numbers: count = field(default_factory=lambda: count(1))
    overrides: dict[str, Callable[[Asked], str]] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> str:
        kind = asked.prompt.name
        if kind in self.overrides:
            return self.overrides[kind](asked)
        if kind == "closed_check":
            return "no"
        if kind == "section":
            return write_section(asked)
        if kind == "machine_reading":
            facts = asked.fields["facts"]
            return "\n".join(f"{n}. {', '.join(fact.values)}" for n, fact in enumerate(facts, start=1))
        return self.name(asked)

    def name(self, asked: Asked) -> str:
        letters = re.findall(r'" ?([A-Z])"', asked.grammar) or ["Q"]
        word = spell(next(self.numbers))
        several = asked.prompt.name in ("person", "client", "project")
        name = f"{letters[0]}{word} {letters[-1]}{word}" if several else f"{letters[0]}{word}"
        assert accepts(asked.grammar, name), (asked.prompt.name, name)
        return name


def spell(number: int) -> str:
    """Return a number as at least four letters, since names contain no digits."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def write_section(asked: Asked) -> str:
    """Return one simple sentence per fact, as the grammar allows."""
    kind, name = asked.fields["kind"], asked.fields["name"]
    said = []
    for number, fact in enumerate(asked.fields["facts"]):
        head = list_heads(kind, name, fact)[number % 2]
        said.append(f"{head}.")
    return " ".join(said)


@dataclass(frozen=True)
class Scene:
    company: Company
    parts: dict[str, list]
    asks: dict[str, ScriptedAsk]
    dropped: dict[str, list]

    def write(self, out: Path) -> Path:
        """Write the database; return the path of the SQLite file."""
        database(*(self.parts[name] for name in ("profile", "employees", "clients", "projects")), out)
        return out / "company.sqlite"


def make_scene(company: Company = SMALL, attempts: int = 1, **overrides: Callable[[Asked], str]) -> Scene:
    """Run the five steps that create the rows."""
    script = Script(overrides=overrides)
    asks = {
        name: ScriptedAsk(script, attempts)
        for name in ("profile", "organisation", "employees", "clients", "projects")
    }
    drafts = {"profile": asyncio.run(profile(company, asks["profile"]))}
    own = list(drafts["profile"].rows)
    drafts["organisation"] = asyncio.run(organisation(own, company, asks["organisation"]))
    drafts["employees"] = asyncio.run(
        employees(list(drafts["organisation"].rows), company, asks["employees"])
    )
    drafts["clients"] = asyncio.run(clients(own, company, asks["clients"]))
    staff, buyers = list(drafts["employees"].rows), list(drafts["clients"].rows)
    drafts["projects"] = asyncio.run(projects(own, staff, buyers, company, asks["projects"]))
    return Scene(
        company,
        {name: list(step.rows) for name, step in drafts.items()},
        asks,
        {name: list(step.dropped) for name, step in drafts.items()},
    )
