"""Stage: invent the company's name, industry, town, founding year and services (appendix G.1, step 1)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor, shape_coined, shape_phrase, shape_place
from tasks.grammar.invent.offered_names import choose_shape
from tasks.grammar.invent.seeded_random import random_integer, random_letter
from tasks.models.ask import Ask

OLDEST = 40
"""The maximum number of years from the founding to the first year of `Company.years`."""


@dataclass(frozen=True)
class CompanyProfile:
    """The company, in one row (appendix G.1, step 1)."""

    id: str
    name: str
    industry: str
    city: str
    founded: int
    services: tuple[str, ...]
    origin: tuple[Origin, ...]


async def profile(entry: Company, ask: Ask) -> Drafts[CompanyProfile]:
    """Invent the company, with one request per detail. Services without a valid name are dropped.

    Raises StageFailed if there is no valid name, industry or town, or no valid service.
    """
    seed = entry.seed
    inventor = Inventor(ask, entry.tries, entry.sure)
    name = await inventor.invent(
        "company/company_name",
        {"about": entry.about},
        lambda sample: shape_coined(random_letter(seed, "company", sample)),
        row="company",
        kind="company",
    )
    known = {"name": _require(name, "name"), "about": entry.about}
    industry = await inventor.invent("company/industry", known, lambda _: shape_phrase(), row="industry")
    town = await inventor.invent(
        "company/town",
        {},
        choose_shape(
            lambda sample: shape_place(random_letter(seed, "town", sample)),
            "town",
            entry.offered,
            seed,
            "town",
        ),
        row="town",
    )
    origin = [*name.calls, *industry.calls, *town.calls]
    services: list[str] = []
    dropped: list[Dropped] = []
    for number in range(1, entry.services + 1):
        found = await inventor.invent(
            "company/service",
            {"name": known["name"], "industry": _require(industry, "line of business"), "others": services},
            lambda _: shape_phrase(),
            row=f"service {number}",
        )
        origin += found.calls
        if found.name is None:
            dropped.append(found.drop(f"service {number}"))
        else:
            services.append(found.name)
    if not services:
        raise StageFailed(
            f"grammar.company.profile: no valid service in {entry.tries} tries ({dropped[-1].detail})"
        )
    row = CompanyProfile(
        make_id("company", known["name"]),
        known["name"],
        _require(industry, "line of business"),
        _require(town, "town"),
        entry.years[0] - random_integer(1, OLDEST, seed, "founded"),
        tuple(services),
        tuple(origin),
    )
    return Drafts([row], dropped)


def _require(found: Invention, what: str) -> str:
    if found.name is None:
        raise StageFailed(
            f"grammar.company.profile: no valid {what} in {len(found.calls)} calls ({found.problem})"
        )
    return found.name
