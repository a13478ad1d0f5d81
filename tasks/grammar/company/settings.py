"""A company as params.yaml wishes it: `companies: {<name>: {seed, employees, ...}}`."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

STRICT = ConfigDict(extra="forbid", frozen=True)


class Reports(BaseModel):
    """What its documents tell (appendix G.1, step 6), and how hard it is tried."""

    model_config = STRICT

    client_facts: bool = True
    """Whether a project's report repeats what is known of its client."""
    employee_facts: bool = False
    """Whether it repeats the job titles of its director and manager."""
    staff_pages: bool = True
    """Whether there are pages beside the reports: one on the company, one on each department's people."""
    words: tuple[int, int] = (150, 400)
    """Least and greatest number of words of a report; others are dropped."""
    drafts: int = Field(default=2, ge=1)
    """How often a section is written: again where it lacks a fact, or a reader does not find one."""
    readable: float = Field(default=0.8, ge=0, le=1)
    """The least share of its facts that must be read from a document; else it is dropped."""
    at_once: int = Field(default=7, ge=1)
    """Questions that one request to the reader holds."""


class Company(BaseModel):
    """One company. The model invents names and words; numbers, dates and who works where are drawn."""

    model_config = STRICT

    seed: int = 0
    about: str = "engineering and design"
    """The field that it works in; the model finds its line of business there."""
    departments: int = Field(default=4, ge=1, le=12)
    """Beside the one that leads the company."""
    employees: int = Field(default=14, ge=3, le=200)
    clients: int = Field(default=10, ge=1, le=200)
    """Appendix G.1: ten."""
    projects: int = Field(default=10, ge=1, le=500)
    services: int = Field(default=4, ge=1, le=12)
    members: tuple[int, int] = (1, 3)
    """Least and greatest number of people on a project beside its director and manager."""
    years: tuple[int, int] = (2016, 2030)
    """First and last year in which anything may happen."""
    budget: tuple[int, int] = (40_000, 2_400_000)
    """Least and greatest budget of a project, euros."""
    tries: int = Field(default=8, ge=1)
    """How often a name is asked for before the row is given up: taken, no name, or a known one."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """The judge's share of yes beyond which a name is one that it knows; without probabilities, its word."""
    reports: Reports = Reports()

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.employees < 2 * self.departments + 1:
            raise ValueError("employees: too few; each department needs two, and the company a head")
        for name in ("members", "years", "budget"):
            low, high = getattr(self, name)
            if low > high or low < 0:
                raise ValueError(f"{name}: the first must not be greater than the second, nor negative")
        if self.years[1] - self.years[0] < 3:
            raise ValueError("years: needs at least three years from first to last")
        return self
