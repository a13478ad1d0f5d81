"""What the six steps hand on: one row a department, a position, an employee, a client, a project."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Profile:
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
    """Step 2: one job of the organisation. Number 1 leads the company, the first of a department leads it."""

    id: str
    number: int
    department: str
    title: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Employee:
    """Step 3: who holds a position. `supervisor` is another's number; None at the top alone."""

    id: str
    number: int
    name: str
    title: str
    department: str
    leads: bool
    """Whether they lead their department."""
    supervisor: int | None
    hired: str
    """ISO date."""
    extension: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Client:
    """Step 4: one client."""

    id: str
    number: int
    name: str
    industry: str
    city: str
    since: int
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Project:
    """Step 5: one project. Client and staff are named by their numbers."""

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
