"""Define the settings of a company: `companies: {<name>: {seed, employees, ...}}` in params.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.settings import Settings


class ReportSettings(Settings):
    """Settings for a company's documents (appendix G.1, step 6): kinds, contents and checks."""

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
    """The minimum and maximum number of words of a report; other reports are dropped. The minimum is lower
    for reports with few facts."""
    drafts: int = Field(default=2, ge=1)
    """The maximum number of attempts at a section in which the reader does not find a fact."""
    readable: float = Field(default=0.8, ge=0, le=1)
    """The minimum share of a document's facts that the reader must find; other documents are dropped."""
    at_once: int = Field(default=7, ge=1)
    """The number of questions per request to the reader."""


class Company(Settings):
    """The settings of a company. The model invents names; a seed determines numbers, dates and staff."""

    seed: int = 0
    """The seed of numbers, dates and assignments."""
    about: str = "engineering and design"
    """The company's field; the model chooses an industry in it."""
    departments: int = Field(default=4, ge=1, le=12)
    """The number of departments besides the management."""
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
    """The first and last year of all dates, except the founding year."""
    budget: tuple[int, int] = (40_000, 2_400_000)
    """The minimum and maximum budget of a project, in euros."""
    offered: int = Field(default=0, ge=0, le=20)
    """The number of made-up names (Faker) among which the model chooses the name of each person, place and
    client. With 0 the model invents the names, which a small model does badly."""
    tries: int = Field(default=8, ge=1)
    """The maximum number of candidates for a name before its row is dropped."""
    sure: float = Field(default=0.85, ge=0, le=1)
    """A name is rejected if the reader knows it with a higher probability than this. If the endpoint returns
    no probabilities, the reader's yes or no decides."""
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
