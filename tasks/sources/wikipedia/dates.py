"""Expand date templates as Wikipedia does, except templates that depend on the current date."""

from __future__ import annotations

from datetime import date

from tasks.sources.wikipedia.arguments import Arguments

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def write_date(parts: tuple[str, ...] | list[str], *, day_first: bool) -> str:
    """Return (year, month, day) as text. Month and day may be missing; unexpected values stay unchanged."""
    given: list[str] = [part.strip() for part in [*parts, "", "", ""]]
    year, month, day = given[:3]
    if not month:
        return year
    name = MONTHS[int(month) - 1] if _is_number(month, 12) else month
    if not _is_number(day, 31):
        return f"{name} {year}".strip()
    return f"{int(day)} {name} {year}".strip() if day_first else f"{name} {int(day)}, {year}".rstrip(", ")


def expand_date(arguments: Arguments) -> str:
    """Expand templates such as {{birth date|1957|5|12|df=y}} to `12 May 1957`; drop the time of day."""
    given = arguments.positional
    if len(given) == 1 or (given and any(map(str.isalpha, given[0]))):
        return given[0]
    year, *others = [*given[:3], ""]
    before = year.startswith(("-", "−")) or arguments.at(3).strip(" .").upper() in {"BC", "BCE"}
    written = write_date([year.lstrip("-−"), *others], day_first=is_day_first(arguments))
    return f"{written} BC" if before else written


def expand_birth_by_age(arguments: Arguments) -> str:
    """Expand {{birth based on age as of date|27|2012|5|12}} to the two possible years, `1984/1985`."""
    age, year = arguments.at(0), arguments.at(1)
    if not (age.isascii() and age.isdigit() and year.isascii() and year.isdigit()):
        return ""
    born = int(year[:6]) - int(age[:6])
    return f"{born - 1}/{born}"


def expand_death(arguments: Arguments) -> str:
    """Expand {{death date and age|died|born}} to the date of death with the age, `(aged 70)`.

    This age does not depend on the current date.
    """
    given = arguments.positional
    died = write_date(given[:3], day_first=is_day_first(arguments))
    try:
        end, start = (date(*map(int, given[place : place + 3])) for place in (0, 3))
    except (ValueError, TypeError):
        return died
    age = end.year - start.year - ((end.month, end.day) < (start.month, start.day))
    return f"{died} (aged {age})"


def expand_death_year(arguments: Arguments) -> str:
    """Expand {{death year and age|1990|1920}} to `1990 (aged 69–70)`.

    Without month and day, two ages are possible.
    """
    died = write_date((arguments.at(0), arguments.at(2)), day_first=False)
    if arguments.at(0).isdigit() and arguments.at(1).isdigit():
        most = int(arguments.at(0)[:6]) - int(arguments.at(1)[:6])
        return f"{died} (aged {most - 1}–{most})"
    return died


def expand_film_dates(arguments: Arguments) -> str:
    """Expand {{film date|y|m|d|place|y|m|d|place}} to one line per date."""
    lines = []
    given = list(arguments.positional)
    while any(given):
        written = write_date(given[:3], day_first=is_day_first(arguments))
        place = given[3] if len(given) > 3 else ""
        lines.append(f"{written} ({place})" if place else written)
        given = given[4:]
    return "\n".join(line for line in lines if line)


def expand_as_of(arguments: Arguments) -> str:
    """Expand {{as of|2019|4|lc=y}} to `as of April 2019`."""
    if alternative := arguments.first("alt"):
        return alternative
    written = write_date(arguments.positional[:3], day_first=is_day_first(arguments))
    word = "as of" if arguments.is_set("lc") else "As of"
    return f"{'since' if arguments.is_set('since') else word} {written}".strip()


def expand_marriage(arguments: Arguments) -> str:
    """Expand {{marriage|name|1991|2003|reason=divorced}} to `name (m. 1991; divorced 2003)`."""
    name, start, end = (arguments.at(place) for place in range(3))
    reason = arguments.first("reason", "end")
    words = [f"m. {start}" if start else "", f"{reason or 'ended'} {end}" if end else reason]
    said = "; ".join(word for word in words if word)
    return f"{name} ({said})" if said else name


def is_day_first(arguments: Arguments) -> bool:
    """Return whether a parameter requests the format 5 May 1957 instead of May 5, 1957."""
    return arguments.is_set("df") or arguments.first("format", "fmt").lower() == "dmy"


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= most
