"""Import all flights from New York in 2013; the sample database contains one month of this data."""

from __future__ import annotations

from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.sources.flights import Flights
from tasks.sources.flights import flights as write_flights


def flights_world(
    flights: Path, airlines: Path, airports: Path, planes: Path, weather: Path, out: Path
) -> Counts:
    """Write the database of the whole year, in the same way as `sources.flights` writes one month."""
    return write_flights(flights, airlines, airports, planes, weather, Flights(), out)
