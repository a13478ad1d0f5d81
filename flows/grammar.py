"""GRAMMAR: create questions with answers from a database, and assess systems on them."""

from __future__ import annotations

from flows.stage import Flow, Scope, Usual

SAMPLE = Scope(folder="data/raw", when="sources")
COMPANY = Scope(over="companies", folder="data/companies/${key}")
CLOSED = Scope(over="closed", folder="data/closed/${key}")
DATABASE = Scope(over="databases", folder="data/grammar/${key}", samples="balanced")
ASSESSMENT = Scope(
    over="assessments",
    folder="data/grammar/${item.database}/${key}",
    looks_in=(DATABASE.at("${item.database}"),),
    evaluates="grammar.judgements",
    canaries="grammar.canaries",
    gold="grammar.gold",
    asks="questions",
    template="sql_template",
    asks_all_with="withheld",
)
PACKAGES = "data/raw/packages"
WORLDS = "data/worlds"
FLIGHTS = tuple(
    f"{PACKAGES}/{name}"
    for name in ("flights.csv.zip", "airlines.csv", "airports.csv", "planes.csv", "weather.csv")
)
NAME = ("company/town", "closed_check")
BY_PEOPLE = {"databases.${key}.templates": ("instead",)}
"""The database setting that replaces the model's templates with hand-written templates."""

GRAMMAR = Flow(
    "grammar",
    "Grounded questions from a database (GRAMMAR)",
    (
        SAMPLE.stage("sources.packages", out="packages"),
        SAMPLE.stage("sources.films", reads=(f"{PACKAGES}/movies.db",), out="films/films.sqlite"),
        SAMPLE.stage("sources.flights", reads=FLIGHTS, out="flights/flights.sqlite"),
        SAMPLE.stage("sources.flights_world", reads=FLIGHTS, out="data/worlds/flights.sqlite"),
        # Generate a fictitious company (appendix G.1)
        COMPANY.stage(
            "grammar.company.profile",
            prompts=("company/company_name", "company/industry", "company/service", *NAME),
            roles=("generator", "reader"),
        ),
        COMPANY.stage(
            "grammar.company.organisation",
            prompts=("company/department", "company/job_title"),
            roles=("generator",),
        ),
        COMPANY.stage(
            "grammar.company.employees",
            prompts=("company/person", "closed_check"),
            roles=("generator", "reader"),
        ),
        COMPANY.stage(
            "grammar.company.clients",
            prompts=("company/client", "company/client_industry", *NAME),
            roles=("generator", "reader"),
        ),
        COMPANY.stage(
            "grammar.company.projects", prompts=("company/project", "company/town"), roles=("generator",)
        ),
        COMPANY.stage(
            "grammar.company.reports",
            artifact="documents",
            prompts=("company/section", "machine_reading"),
            roles=("generator", "reader"),
        ),
        COMPANY.stage("grammar.company.contracts", beside=True, out="contracts"),
        COMPANY.stage("grammar.company.database", reads=("contracts",), out="database"),
        # Replace the names in a database by fictitious names (appendix G.2)
        CLOSED.stage(
            "grammar.closed_names",
            reads=("${item.file}",),
            prompts=("closed_name", "closed_check"),
            roles=("generator", "reader"),
            settings=("grammar.columns",),
        ),
        CLOSED.stage("grammar.closed", reads=("${item.file}",), out="database.sqlite"),
        # Create questions with answers (section 4)
        DATABASE.stage("grammar.columns", reads=("${item.file}",), settings=("databases.${key}",)),
        DATABASE.stage(
            "grammar.glossary",
            reads=("${item.file}",),
            prompts=("glossary",),
            roles=("generator",),
            settings=("databases.${key}",),
            may_be_empty=True,
            off={"params.propose": (False,)},
        ),
        DATABASE.stage("grammar.schema", reads=("${item.file}",), settings=("databases.${key}",)),
        DATABASE.stage(
            "grammar.own_templates",
            reads=("data/templates",),
            settings=("databases.${key}", "grammar.text_templates", "grammar.balanced"),
            may_be_empty=True,
        ),
        DATABASE.stage(
            "grammar.sql_templates",
            prompts=("sql_template", "sql_template_free", "sql_template_any"),
            roles=("generator",),
            settings=("databases.${key}", "roles.generator.constrain"),
            off=BY_PEOPLE,
        ),
        DATABASE.stage("grammar.fill_in", reads=("${item.file}", WORLDS)),
        DATABASE.stage(
            "grammar.text_templates",
            prompts=("texts/*",),
            roles=("generator",),
            settings=("roles.generator.constrain", "grammar.sql_templates.dialect"),
            off=BY_PEOPLE,
        ),
        DATABASE.stage("grammar.back_check", prompts=("back_check",), roles=("reader",), off=BY_PEOPLE),
        DATABASE.stage(
            "grammar.second_reading",
            prompts=("second_reading", "second_reading_way", "second_reading_sql"),
            roles=("reader",),
            reads=("${item.file}", "data/labels"),
            off={"params.by": ("none", "file")},
        ),
        DATABASE.stage("grammar.unbalanced"),
        DATABASE.stage("grammar.balanced"),
        # Create documents to retrieve from (section 5.1)
        DATABASE.stage(
            "grammar.profiles", reads=("${item.file}",), settings=("assessments",), may_be_empty=True
        ),
        DATABASE.stage(
            "grammar.documents",
            reads=("${item.file}",),
            prompts=("document_part", "machine_reading"),
            roles=("generator", "reader"),
            may_be_empty=True,
            off={"params.written_by": ("plain",)},
        ),
        CLOSED.stage(
            "grammar.closed_documents", artifact="documents", reads=("${item.documents}",), may_be_empty=True
        ),
        CLOSED.stage("grammar.closed_contracts", beside=True, out="contracts"),
        DATABASE.stage("grammar.true_documents", reads=("${item.file}",), drops=False, may_be_empty=True),
        DATABASE.stage("grammar.questions", may_be_empty=True),
        DATABASE.stage("grammar.answer_facts", reads=("${item.file}",), drops=False, may_be_empty=True),
        DATABASE.stage("grammar.answer_columns", reads=("${item.file}",), drops=False, may_be_empty=True),
        DATABASE.stage(
            "grammar.contracts",
            reads=("${item.file}", WORLDS),
            beside=True,
            settings=(
                "grammar.text_templates",
                "grammar.balanced",
                "grammar.documents",
                "grammar.questions",
                "grammar.sql_templates.dialect",
            ),
            out="contracts",
        ),
        # Assess a system (section 4.3)
        ASSESSMENT.stage("grammar.answers", roles=("*",), drops=False),
        ASSESSMENT.stage("grammar.judgements", prompts=("judge",), roles=("judge",), drops=False),
        ASSESSMENT.stage("grammar.human_labels", reads=("data/labels",), may_be_empty=True),
        ASSESSMENT.stage(
            "grammar.canaries",
            prompts=("judge",),
            roles=("judge",),
            reads=(
                "tasks/judging/canaries.yaml",
                "tasks/judging/canaries_further.yaml",
                "tasks/judging/canaries_rules.yaml",
            ),
            settings=("grammar.judgements", "judging.further_canaries"),
            drops=False,
        ),
        ASSESSMENT.stage(
            "grammar.baselines",
            prompts=("claim_check", "claims", "same_answer"),
            roles=("*",),
            drops=False,
            asks_once=True,
            may_be_empty=True,
            off={"entry.baselines": (False,)},
        ),
        ASSESSMENT.stage("grammar.closed_domain", settings=("systems.${item.system}",), drops=False),
        ASSESSMENT.stage(
            "grammar.assessment",
            reads=("data/grammar/${item.database}/${item.llm_only}/closed_domain.parquet",),
            settings=("judging.thresholds", "systems.${item.system}"),
            out="figures.json",
        ),
        ASSESSMENT.stage(
            "grammar.assessment_report",
            reads=("canaries", "human_labels"),
            settings=("databases.${item.database}", "systems.${item.system}", "evaluation"),
            out="data/reports/grammar/${key}",
        ),
        # Create the dataset for publication
        DATABASE.stage(
            "grammar.dataset",
            beside=True,
            settings=("databases.${key}", "grammar", "roles", "models"),
            out="dataset",
        ),
        DATABASE.stage(
            "grammar.report",
            beside=True,
            settings=("databases.${key}", "grammar.second_reading"),
            out="data/reports/grammar/${key}",
        ),
    ),
    preview="tasks.grammar.previewing:shrink",
    usual={
        "grammar.company.profile": Usual((8, 8), 90, 3),
        "grammar.company.organisation": Usual((35, 35), 104, 3),
        "grammar.company.employees": Usual((50, 50), 121, 3),
        "grammar.company.clients": Usual((51, 51), 102, 3),
        "grammar.company.projects": Usual((41, 41), 77, 4),
        "grammar.company.reports": Usual((151, 151), 246, 62),
        "grammar.closed_names": Usual((236, 236), 111, 3),
        "grammar.glossary": Usual((0, 0)),
        "grammar.sql_templates": Usual((21, 50), 303, 45),
        "grammar.text_templates": Usual((68, 196), 96, 26),
        "grammar.back_check": Usual((67, 196), 258, 2),
        "grammar.second_reading": Usual((0, 0)),
        "grammar.documents": Usual((0, 0)),
        "grammar.answers": Usual((107, 122), 281, 10),
        "grammar.judgements": Usual((1, 4), 342, 11),
        "grammar.canaries": Usual((48, 48), 329, 11),
        "grammar.baselines": Usual((0, 433), 379, 19),
    },
)
