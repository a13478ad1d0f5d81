"""GRAMMAR: from a database's schema to questions with answers, and their card and pages."""

from __future__ import annotations

from flows.steps import Paper, Step

ASKS = ("model",)

GRAMMAR = Paper(
    "grammar",
    "Grounded questions from a database (GRAMMAR)",
    (
        Step("sources.films"),
        Step("sources.flights"),
        Step("grammar.company.profile", retries=1, tags=ASKS),
        Step("grammar.company.organisation", retries=1, tags=ASKS),
        Step("grammar.company.employees", retries=1, tags=ASKS),
        Step("grammar.company.clients", retries=1, tags=ASKS),
        Step("grammar.company.projects", retries=1, tags=ASKS),
        Step("grammar.company.reports", retries=1, tags=ASKS),
        Step("grammar.company.contracts"),
        Step("grammar.company.database"),
        Step("grammar.closed_names", retries=1, tags=ASKS),
        Step("grammar.closed"),
        Step("grammar.schema"),
        Step("grammar.sql_templates", retries=1, tags=ASKS),
        Step("grammar.text_templates", retries=1, tags=ASKS),
        Step("grammar.back_check", retries=1, tags=ASKS),
        Step("grammar.fill_in"),
        Step("grammar.unbalanced"),
        Step("grammar.balanced"),
        Step("grammar.profiles"),
        Step("grammar.documents", retries=1, tags=ASKS),
        Step("grammar.closed_documents"),
        Step("grammar.closed_contracts"),
        Step("grammar.true_documents"),
        Step("grammar.questions"),
        Step("grammar.contracts"),
        Step("grammar.answers", retries=1, tags=ASKS),
        Step("grammar.judgements", retries=1, tags=ASKS),
        Step("grammar.human_labels"),
        Step("grammar.canaries", retries=1, tags=ASKS),
        Step("grammar.baselines", retries=1, tags=ASKS),
        Step("grammar.closed_domain"),
        Step("grammar.assessment"),
        Step("grammar.assessment_report"),
        Step("grammar.dataset"),
        Step("grammar.report"),
    ),
)
