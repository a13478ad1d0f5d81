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
        Step("grammar.schema"),
        Step("grammar.sql_templates", retries=1, tags=ASKS),
        Step("grammar.text_templates", retries=1, tags=ASKS),
        Step("grammar.back_check", retries=1, tags=ASKS),
        Step("grammar.fill_in"),
        Step("grammar.unbalanced"),
        Step("grammar.balanced"),
        Step("grammar.dataset"),
        Step("grammar.report"),
    ),
)
