"""Stage: the company's clients, each of another industry, with a town (appendix G.1, 4)."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import StageFailed
from tasks.grammar.company.rows import Client, Profile
from tasks.grammar.company.settings import Company
from tasks.grammar.invent.invented_names import Invention, Inventor
from tasks.grammar.invent.seeded_random import draw, draw_letter, middle_year
from tasks.grammar.invent.shapes import shape_firm, shape_phrase, shape_place
from tasks.models.ask import Ask


async def clients(profile: list[Profile], entry: Company, ask: Ask) -> Drafts[Client]:
    """Invent the clients, one detail a request. One that lacks a detail is dropped.

    Raises StageFailed where none is left.
    """
    own = profile[0]
    inventor = Inventor(ask, entry.tries, entry.sure, [own.name, own.name.split()[0], own.city])
    rows: list[Client] = []
    dropped: list[Dropped] = []
    for number in range(1, entry.clients + 1):
        found = await _invent_client(number, [each.industry for each in rows], inventor, entry)
        missing = next((each for each in found if each.name is None), None)
        if missing is not None:
            dropped.append(missing.drop(f"client {number}"))
            continue
        industry, name, city = (each.name or "" for each in found)
        calls = [call for each in found for call in each.calls]
        since = draw(entry.years[0], middle_year(entry.years), entry.seed, "since", number)
        origin = (Origin("row", f"profile#{own.id}"), *calls)
        rows.append(
            Client(make_id("client", own.id, number, name), number, name, industry, city, since, origin)
        )
    if not rows:
        raise StageFailed(f"grammar.company.clients: no client ({dropped[-1].reason}: {dropped[-1].detail})")
    return Drafts(rows, dropped)


async def _invent_client(
    number: int, industries: list[str], inventor: Inventor, company: Company
) -> list[Invention]:
    """Ask for the industry, then the name, then the town; stop at the first that is not found."""
    seed, row = company.seed, f"client {number}"
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
                lambda sample: shape_firm(draw_letter(seed, "client", number, sample)),
                row=row,
                kind="company",
            )
        )
    if found[-1].name is not None:
        found.append(
            await inventor.invent(
                "company/town",
                {},
                lambda sample: shape_place(draw_letter(seed, "client town", number, sample)),
                row=row,
            )
        )
    return found
