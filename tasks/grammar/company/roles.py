"""Check whether job titles suit a department, and rate how well departments suit a service."""

from __future__ import annotations

from collections.abc import Collection

from tasks.english import is_word
from tasks.grammar.corpus.vocabulary import STOP_WORDS, stem

KINDS: dict[str, tuple[str, ...]] = {
    "engineering": ("engineering", "mechanical", "structural", "civil", "electrical", "technical", "systems"),
    "design": ("design", "architecture", "drafting", "drawing", "creative", "product"),
    "research": ("research", "development", "innovation", "laboratory", "science"),
    "construction": ("construction", "site", "building", "assembly", "manufacturing", "production"),
    "operations": ("operations", "delivery", "logistics", "maintenance", "service", "projects", "project"),
    "computing": ("software", "information", "data", "computing", "network", "digital"),
    "consulting": ("consulting", "advisory", "planning", "strategy", "analysis"),
    "quality": ("quality", "testing", "inspection", "compliance", "safety"),
    "finance": ("finance", "financial", "accounting", "controlling", "audit"),
    "people": ("human", "personnel", "recruitment", "training", "payroll"),
    "sales": ("sales", "marketing", "communications", "advertising", "customer"),
    "legal": ("legal", "contracts", "law"),
    "supply": ("procurement", "purchasing", "supply"),
    "administration": ("administration", "management", "office"),
}
"""The words that identify each kind of department."""
INTERNAL = frozenset(["administration", "finance", "legal", "people", "quality", "sales", "supply"])
"""The kinds of department that do not work for clients.

An internal department directs only projects whose service is of the same kind.
"""
ROLES = frozenset([
    "accountant", "administrator", "adviser", "advisor", "agent", "analyst", "architect", "assistant",
    "auditor", "buyer", "chemist", "clerk", "consultant", "controller", "coordinator", "designer",
    "developer",
    "director", "drafter", "editor", "engineer", "estimator", "executive", "expert", "foreman", "geologist",
    "head", "inspector", "lawyer", "lead", "leader", "manager", "mechanic", "modeler", "officer", "operator",
    "physicist", "planner", "programmer", "recruiter", "representative", "researcher", "scientist",
    "secretary", "specialist", "strategist", "superintendent", "supervisor", "surveyor", "technician",
    "technologist", "tester", "trainer", "writer",
])  # fmt: skip
"""Role words. A job title must end with a role word, or have a role word before `of`."""
HEADS = frozenset(["chief", "head", "president"])
"""Words that are allowed only in the job title of a department's head."""


def check_title(title: str, department: str, leads: bool) -> str:
    """Return why a job title does not suit a department, or "" if the title suits.

    `leads` states whether the job title is for the head of the department.
    """
    words = title.casefold().split()
    allowed = department.casefold().split()
    if unknown := [word for word in words if word not in allowed and not is_word(word)]:
        return f"odd_title: {title}: {unknown[0]} is not an English word"
    held = words[: words.index("of")] if "of" in words else words
    if not held or held[-1] not in ROLES:
        return f"odd_title: {title}: has no role word such as `manager` at its end or before `of`"
    if not leads and HEADS.intersection(words):
        return f"odd_title: {title}: is a job title for the head of a department"
    own, due = find_kinds(title), find_kinds(department)
    if own and due and not own & due:
        return f"odd_title: {title}: belongs to a department of {min(own)}, not to {department}"
    return ""


def write_title(department: str, leads: bool, taken: Collection[str]) -> str:
    """Return a plain job title that fits a department and is not in `taken`."""
    names = [f"Head of {department}"] if leads else []
    ranks = ("", "Senior ", "Junior ", "Deputy ")
    names += [f"{rank}{department} {role}" for role in ("Specialist", "Lead", "Clerk") for rank in ranks]
    known = {title.casefold() for title in taken}
    return next((name for name in names if name.casefold() not in known), f"{department} Assistant")


def find_kinds(text: str) -> set[str]:
    """Return the kinds of department that the words of a text identify."""
    stems = list_stems(text)
    return {kind for kind, words in KINDS.items() if stems.intersection(map(stem, words))}


def list_stems(text: str) -> set[str]:
    """Return the stems of a text's words, without stop words such as `of`."""
    return {stem(word) for word in text.split() if word.casefold() not in STOP_WORDS}


def rate_department(department: str, service: str) -> int:
    """Return a score for how well a department fits a service; higher is better.

    Each shared word adds 4. A shared kind adds 2. A department that works for clients gets 1 more.
    """
    own, due = find_kinds(department), find_kinds(service)
    shared = len(list_stems(department) & list_stems(service))
    return 4 * shared + 2 * bool(own & due) + (not own or not own <= INTERNAL)
