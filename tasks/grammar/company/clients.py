"""Stage: invent the company's clients, each with an industry and a town (appendix G.1, step 4)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor, shape_firm, shape_phrase, shape_place
from tasks.grammar.invent.offered_names import choose_shape
from tasks.grammar.invent.seeded_random import middle_year, random_integer, random_letter
from tasks.models.ask import Ask


@dataclass(frozen=True)
class CompanyClient:
    """A client of the company (appendix G.1, step 4)."""

    id: str
    number: int
    name: str
    industry: str
    city: str
    since: int
    origin: tuple[Origin, ...]


async def clients(profile: list[CompanyProfile], entry: Company, ask: Ask) -> Drafts[CompanyClient]:
    """Invent the clients, with one request per detail. Clients with an invalid detail are dropped.

    Raises StageFailed if no client is left.
    """
    company = profile[0]
    inventor = Inventor(ask, entry.tries, entry.sure, [company.name, company.name.split()[0], company.city])
    rows: list[CompanyClient] = []
    dropped: list[Dropped] = []
    for number in range(1, entry.clients + 1):
        found = await _invent_client(number, [client.industry for client in rows], inventor, entry)
        missing = next((invention for invention in found if invention.name is None), None)
        if missing is not None:
            dropped.append(missing.drop(f"client {number}"))
            continue
        industry, name, city = (invention.name or "" for invention in found)
        calls = [call for invention in found for call in invention.calls]
        since = random_integer(entry.years[0], middle_year(entry.years), entry.seed, "since", number)
        origin = (Origin("row", f"profile#{company.id}"), *calls)
        rows.append(
            CompanyClient(
                make_id("client", company.id, number, name), number, name, industry, city, since, origin
            )
        )
    if not rows:
        raise StageFailed(
            f"grammar.company.clients: no valid client ({dropped[-1].reason}: {dropped[-1].detail})"
        )
    return Drafts(rows, dropped)


async def _invent_client(
    number: int, industries: list[str], inventor: Inventor, settings: Company
) -> list[Invention]:
    """Invent a client's industry, name and town, in this order; stop after the first invalid detail."""
    seed, row = settings.seed, f"client {number}"
    found = [
        await inventor.invent(
            "company/client_industry", {"others": industries}, lambda _: shape_phrase(3), row=row
        )
    ]
    if found[0].name is not None:
        found.append(
            await inventor.invent(
                "company/client",
                {"industry": found[0].name},
                choose_shape(
                    lambda sample: shape_firm(random_letter(seed, "client", number, sample)),
                    "company",
                    settings.offered,
                    seed,
                    "client",
                    number,
                ),
                row=row,
                kind="company",
            )
        )
    if found[-1].name is not None:
        found.append(
            await inventor.invent(
                "company/town",
                {},
                choose_shape(
                    lambda sample: shape_place(random_letter(seed, "client town", number, sample)),
                    "town",
                    settings.offered,
                    seed,
                    "client town",
                    number,
                ),
                row=row,
            )
        )
    return found
