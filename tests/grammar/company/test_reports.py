import asyncio
import dataclasses
import re

import pytest

from tasks.grammar.company.plans import collect_company, plan_documents
from tasks.grammar.company.reports import reports
from tasks.grammar.company.settings import ReportSettings
from tasks.grammar.corpus.document_grammar import parse_paragraph, write_part_grammar
from tasks.grammar.corpus.machine_reading import missing_values
from tasks.grammar.corpus.plain_writer import PlainWriter
from tasks.models.ask import Unparsed
from tests.grammar.company.scenes import SMALL, Script, make_scene, write_section
from tests.grammar.gbnf import accepts
from tests.grammar.scripted import ScriptedAsk

PARTS = ("profile", "employees", "clients", "projects")


@pytest.fixture(scope="module")
def parts():
    scene = make_scene()
    return {name: scene.parts[name] for name in PARTS}


def run(parts, settings=None, **overrides):
    company = SMALL.model_copy(update={"reports": ReportSettings(**{"words": (10, 900), **(settings or {})})})
    ask = ScriptedAsk(Script(overrides=overrides))
    return asyncio.run(reports(**parts, entry=company, ask=ask)), ask


def facts_of(parts, **settings):
    plans = plan_documents(collect_company(**parts), ReportSettings(**settings))
    return {
        (plan.title.partition(":")[0], section.kind, fact.attribute)
        for plan in plans
        for section in plan.sections
        for fact in section.facts
    }


def test_every_project_has_a_report_and_the_pages_tell_the_rest(parts):
    drafts, _ = run(parts)
    reported = {document.title for document in drafts.rows if document.title.startswith("Project report")}
    assert reported == {f"Project report: {project.name}" for project in parts["projects"]}
    assert len(drafts.rows) == 5 + 1 + 3  # projects, the company, three departments
    assert drafts.dropped == []


def test_every_cell_that_a_question_may_ask_about_stands_in_some_document(parts):
    drafts, _ = run(parts)
    corpus = " ".join(f"{document.title} {document.text}" for document in drafts.rows)
    own = parts["profile"][0]
    cells = [own.name, own.industry, own.city, str(own.founded), str(len(parts["employees"])), *own.services]
    for employee in parts["employees"]:
        cells += [employee.name, employee.title, employee.department, employee.hired, str(employee.extension)]
    for project in parts["projects"]:
        cells += [
            project.name,
            project.service,
            project.city,
            project.start,
            project.end,
            str(project.budget),
        ]
        client = next(c for c in parts["clients"] if c.number == project.client)
        cells += [client.name, client.industry, client.city, str(client.since)]
    missing = [cell for cell in cells if not re.search(rf"(?<!\w){re.escape(cell)}(?!\w)", corpus)]
    assert missing == []


def test_reports_repeat_what_is_known_of_clients_and_staff_only_if_wanted(parts):
    bare = facts_of(parts, client_facts=False, employee_facts=False, staff_pages=False)
    assert {kind for _, kind, _ in bare} == {"project"}
    assert facts_of(parts, client_facts=True, employee_facts=False, staff_pages=False) - bare == {
        ("Project report", "client", "industry"), ("Project report", "client", "city"),
        ("Project report", "client", "contract year"),
    }  # fmt: skip
    assert facts_of(parts, client_facts=False, employee_facts=True, staff_pages=False) - bare == {
        ("Project report", "employee", "job title")
    }
    assert "Project report" not in {
        title for title, *_ in facts_of(parts, client_facts=False, employee_facts=False) - bare
    }


def test_the_grammar_lets_a_section_say_its_facts_and_none_go_missing(parts):
    _, ask = run(parts)
    sections = [request for request in ask.asked if request.prompt.name == "section"]
    assert len(sections) > 20
    for asked in sections[:6]:
        assert accepts(asked.grammar, write_section(asked))
        facts = asked.fields["facts"]
        assert asked.grammar == write_part_grammar(asked.fields["kind"], asked.fields["name"], facts)


def test_what_a_reader_does_not_find_is_written_anew_and_read_anew(parts):
    failed = []

    def read(asked):
        facts = asked.fields["facts"]
        lost = asked.sample == 0 and any(fact.attribute == "budget in eur" for fact in facts)
        failed.extend([asked.row] * lost)
        return "\n".join(
            f"{n}. {'not stated' if lost and fact.attribute == 'budget in eur' else ', '.join(fact.values)}"
            for n, fact in enumerate(facts, start=1)
        )

    drafts, ask = run(parts, machine_reading=read)
    assert drafts.dropped == []
    again = [request for request in ask.asked if request.prompt.name == "section" and request.sample == 1]
    assert len(again) == len(failed) == 5
    reread = [
        request for request in ask.asked if request.prompt.name == "machine_reading" and request.sample == 1
    ]
    # The whole section is new, so its start and end are also read again.
    assert [[fact.attribute for fact in request.fields["facts"]] for request in reread] == [
        ["start date", "end date", "budget in eur"]
    ] * 5


def test_a_fact_that_stays_unread_is_told_of_and_too_many_drop_the_document(parts):
    def read(asked):
        return "\n".join(
            f"{n}. {'not stated' if fact.attribute == 'budget in eur' else ', '.join(fact.values)}"
            for n, fact in enumerate(asked.fields["facts"], start=1)
        )

    kept, _ = run(parts, machine_reading=read)
    assert [row.reason for row in kept.dropped] == ["fact_unread"] * 5
    assert "read as: not stated" in kept.dropped[0].detail
    strict, _ = run(parts, {"readable": 1.0}, machine_reading=read)
    assert [row.reason for row in strict.dropped] == ["unreadable"] * 5
    assert len(strict.rows) == len(kept.rows) - 5


@pytest.mark.parametrize(
    "odd",
    [
        "We did fine, and the eterity ertity ertity of it is known.",
        "The industry of the client is known for its renowned experts.",
        "The city of the client is {project}.",
    ],
)
def test_what_a_section_says_beyond_its_facts_is_left_out_and_its_facts_are_written_plainly(parts, odd):
    project = parts["projects"][0]

    def write(asked):
        if asked.fields["kind"] == "client":
            return odd.format(project=project.city)
        return write_section(asked)

    drafts, _ = run(parts, section=write)
    sentences = [sentence for document in drafts.rows for sentence in document.sentences]
    assert odd.format(project=project.city) not in [sentence.text for sentence in sentences]
    plain = [sentence for sentence in sentences if sentence.writer == "plain"]
    assert len(plain) == 5 * 3  # industry, city and contract year of each project's client
    reasons = {row.reason for row in drafts.dropped}
    assert len(drafts.dropped) == 5
    assert reasons <= {"no_word", "claim", "other_value", "contradicts"}


def test_each_fact_that_no_sentence_can_say_has_its_own_reason(parts, monkeypatch):
    write_fact = PlainWriter.write_fact

    def refuse(writer, fact, *turns):
        if fact.attribute in ("city", "contract year"):
            return None, f"claim: {fact.attribute}"
        return write_fact(writer, fact, *turns)

    monkeypatch.setattr(PlainWriter, "write_fact", refuse)
    drafts, _ = run(parts, {"written_by": "plain", "readable": 0.0})
    details = [row.detail for row in drafts.dropped if row.reason == "facts_missing"]
    assert {detail.partition(" of ")[0] for detail in details} == {"city", "contract year"}
    assert all(detail.endswith(f"claim: {detail.partition(' of ')[0]}") for detail in details)


def test_plain_reports_ask_no_model_and_tell_every_fact(parts):
    drafts, ask = run(parts, {"written_by": "plain"})
    assert not ask.asked
    assert len(drafts.rows) == 5 + 1 + 3
    assert drafts.dropped == []
    assert {sentence.writer for row in drafts.rows for sentence in row.sentences} == {"plain"}
    for plan in plan_documents(collect_company(**parts), ReportSettings()):
        text = next(row.text for row in drafts.rows if row.id == plan.id)
        assert [fact for fact in plan.facts if missing_values(text, fact)] == []


def test_a_report_outside_its_length_is_dropped(parts):
    drafts, _ = run(parts, {"words": (1, 20)})
    assert [row.reason for row in drafts.dropped] == ["length"] * 5


def test_documents_lead_back_to_their_rows_and_calls(parts):
    drafts, _ = run(parts)
    report = next(document for document in drafts.rows if document.title.startswith("Project report"))
    references = {origin.reference.partition("#")[0] for origin in report.origin if origin.kind == "row"}
    assert references == {"projects", "clients", "employees"}
    assert any(origin.kind == "call" for origin in report.origin)


@pytest.mark.parametrize("text", ["", "# Kola\nThe project began.", "word " * 41, "<b>"])
def test_a_section_is_a_plain_paragraph(text):
    with pytest.raises(Unparsed):
        parse_paragraph(text, 40)


def test_a_row_that_changes_changes_its_reports_alone(parts):
    before, _ = run(parts)
    first, *rest = parts["projects"]
    after, _ = run({**parts, "projects": [dataclasses.replace(first, budget=first.budget + 10_000), *rest]})
    changed = {a.id for a, b in zip(before.rows, after.rows, strict=True) if a.text != b.text}
    assert len(changed) == 1
