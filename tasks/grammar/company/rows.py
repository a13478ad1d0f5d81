"""Rows of a company's artifacts (appendix G.1): profile, positions, employees, clients, projects."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class CompanyProfile:
    """Step 1: the company itself; one row."""

    id: str
    name: str
    industry: str
    city: str
    founded: int
    services: tuple[str, ...]
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Position:
    """Step 2: a job. Number 1 leads the company; the lowest number of a department leads the department."""

    id: str
    number: int
    department: str
    title: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Employee:
    """Step 3: the holder of a position. supervisor: another employee's number; None for number 1 only."""

    id: str
    number: int
    name: str
    title: str
    department: str
    leads: bool
    """Whether the employee leads their department."""
    supervisor: int | None
    hired: str
    """ISO date."""
    extension: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class CompanyClient:
    """Step 4: a client."""

    id: str
    number: int
    name: str
    industry: str
    city: str
    since: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Project:
    """Step 5: a project. Client and staff are referred to by their numbers."""

    id: str
    number: int
    name: str
    service: str
    city: str
    start: str
    end: str
    budget: int
    """Euros."""
    client: int
    director: int
    manager: int
    members: tuple[int, ...]
    origin: tuple[Origin, ...]
