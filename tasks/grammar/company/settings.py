"""Settings of a company: `companies: {<name>: {seed, employees, ...}}` in params.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings


class ReportSettings(Settings):
    """Which documents the company has (appendix G.1, step 6), what they contain, and how they are checked."""

    written_by: Literal["model", "plain"] = "model"
    """`model`: a model writes each section, and code rewrites a section that breaks a rule. `plain`: code
    writes all sections from the facts."""
    client_facts: bool = True
    """Include the client's facts in a project's report."""
    employee_facts: bool = False
    """Include the job titles of the director and the manager in a project's report."""
    staff_pages: bool = True
    """Write further documents: one on the company, and one on the staff of each department."""
    words: tuple[int, int] = (150, 400)
    """Minimum and maximum number of words of a report; other reports are dropped. The minimum is lower for
    few facts."""
    drafts: int = Field(default=2, ge=1)
    """Maximum number of attempts at a section in which the reader does not find a fact."""
    readable: float = Field(default=0.8, ge=0, le=1)
    """Minimum share of its facts that the reader must find in a document; others are dropped."""
    at_once: int = Field(default=7, ge=1)
    """Number of questions per request to the reader."""


class Company(Settings):
    """A company. The model invents names; numbers, dates and assignments are drawn by seed."""

    seed: int = 0
    """The seed of numbers, dates and assignments."""
    about: str = "engineering and design"
    """The company's field; the model chooses an industry in it."""
    departments: int = Field(default=4, ge=1, le=12)
    """Number of departments besides the management."""
    employees: int = Field(default=14, ge=3, le=200)
    """Number of employees."""
    clients: int = Field(default=10, ge=1, le=200)
    """Number of clients; ten in appendix G.1."""
    projects: int = Field(default=10, ge=1, le=500)
    """Number of projects."""
    services: int = Field(default=4, ge=1, le=12)
    """Number of services that the company offers."""
    members: tuple[int, int] = (1, 3)
    """Minimum and maximum number of project members besides the director and the manager."""
    years: tuple[int, int] = (2016, 2030)
    """First and last year in which anything may happen."""
    budget: tuple[int, int] = (40_000, 2_400_000)
    """Minimum and maximum budget of a project, in euros."""
    tries: int = Field(default=8, ge=1)
    """Maximum number of candidates for a name before its row is dropped."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """Maximum probability, by the judge, that it knows the name. Without probabilities, its yes or no
    decides."""
    reports: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.employees < 2 * self.departments + 1:
            raise ValueError("employees: too few; each department needs two, the management one")
        for name in ("members", "years", "budget"):
            low, high = getattr(self, name)
            if low > high or low < 0:
                raise ValueError(f"{name}: the first must not be greater than the second, nor negative")
        if self.years[1] - self.years[0] < 3:
            raise ValueError("years: needs at least three years from first to last")
        return self
