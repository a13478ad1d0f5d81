"""The settings of a company: `companies: {<name>: {seed, employees, ...}}` in params.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings


class ReportSettings(Settings):
    """Settings for a company's documents (appendix G.1, step 6): kinds, contents and checks."""

    written_by: Literal["model", "plain"] = "model"
    """`model`: a model writes each section, and the stage writes plain sentences for the missing facts.
    `plain`: the stage writes all sections from the facts."""
    client_facts: bool = True
    """Whether a project's report contains the client's facts."""
    employee_facts: bool = False
    """Whether a project's report contains the job titles of the director and the manager."""
    staff_pages: bool = True
    """Whether to write further documents: one about the company, and one about each department's staff."""
    words: tuple[int, int] = (150, 400)
    """The minimum and maximum number of words in a report; shorter and longer reports are dropped. The
    minimum is lower for reports with few facts."""
    drafts: int = Field(default=2, ge=1)
    """The maximum number of attempts to write a section; facts that are not found cause another attempt."""
    readable: float = Field(default=0.8, ge=0, le=1)
    """The minimum share of facts that must be found in a document; otherwise the document is dropped."""
    at_once: int = Field(default=7, ge=1)
    """The number of questions per request to the reader model."""


class Company(Settings):
    """The settings of a company. The model invents names; a seed determines numbers, dates and staff."""

    seed: int = 0
    """The seed for numbers, dates and assignments."""
    about: str = "engineering and design"
    """The business field from which the model chooses the company's industry."""
    departments: int = Field(default=4, ge=1, le=12)
    """The number of departments in addition to Management."""
    employees: int = Field(default=14, ge=3, le=200)
    """The number of employees."""
    clients: int = Field(default=10, ge=1, le=200)
    """The number of clients; 10 in appendix G.1."""
    projects: int = Field(default=10, ge=1, le=500)
    """The number of projects."""
    services: int = Field(default=4, ge=1, le=12)
    """The number of services that the company offers."""
    members: tuple[int, int] = (1, 3)
    """The minimum and maximum number of project members besides the director and the manager."""
    years: tuple[int, int] = (2016, 2030)
    """The first and last year for all dates other than the founding year."""
    budget: tuple[int, int] = (40_000, 2_400_000)
    """The minimum and maximum budget of a project, in euros."""
    offered: int = Field(default=0, ge=0, le=20)
    """The number of generated names (Faker) from which the model chooses a name for each person, place and
    client. With 0, the model invents the names, which small models do badly."""
    tries: int = Field(default=8, ge=1)
    """The maximum number of candidates for a name before the row is dropped."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """The maximum probability that the reader model recognises a name.

    A name with a higher probability is rejected. If the endpoint returns no probabilities, the reader model's
    yes or no decides.
    """
    reports: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.employees < 2 * self.departments + 1:
            raise ValueError(
                "employees: expected at least two for each department, and one for the management"
            )
        for name in ("members", "years", "budget"):
            low, high = getattr(self, name)
            if low > high or low < 0:
                raise ValueError(f"{name}: the minimum must not be negative or greater than the maximum")
        if self.years[1] - self.years[0] < 3:
            raise ValueError("years: the last year must be at least three years after the first")
        return self
