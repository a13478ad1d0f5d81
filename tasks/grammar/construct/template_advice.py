"""What a person can do about a template that breaks a rule, by drop reason."""

from __future__ import annotations

from collections.abc import Mapping

ADVICE: Mapping[str, str] = {
    # a line
    "unreadable_line": "one JSON object a line, in UTF-8",
    "wrong_field": "a line holds sql, texts and, if you like, tag and database",
    "other_database": "--database names the one that a file is for",
    "missing_text": 'for instance "texts": {"short": "...", "long": ["...", "..."]}',
    "unknown_criterion": "criteria are entries of grammar.text_templates.criteria",
    "duplicate": "leave one of them out",
    # its SQL, as tasks/grammar/construct/sql_reading.py and sql_rules.py have it
    "unreadable": "one SELECT a line, in SQLite's dialect",
    "not_select": "one SELECT a line",
    "other_operator": "docs/templates.md lists what a template may hold",
    "clock": "ask for what is the same tomorrow, and on another machine",
    "star": "name the columns",
    "unknown_name": "names are those of the schema: benchloom run grammar.schema",
    "not_descriptive": "ask for, or by, what people speak of: no keys",
    "no_placeholder": "compare a column with '[table.column]'",
    "constant": "compare with '[table.column]' alone: values are filled in from the database",
    "wrong_placeholder": "compare a column with its own '[table.column]', as the schema spells it",
    "unfit_placeholder": "nothing is looked up by a measurement or a yes or no",
    "unfit_measure": "count rows by their key; average, and rank by, numbers or dates",
    "answer_given": "ask for another column than the one that is given",
    "unconnected": "join the tables by their foreign keys",
    "idle_table": "leave out the table that neither gives, nor is asked for, nor links",
    # a text, as tasks/grammar/construct/text_rules.py has it
    "wrong_placeholders": "each placeholder of the SQL once, and no other bracket",
    "too_short": "the limits are in grammar.text_templates.criteria",
    "too_long": "the limits are in grammar.text_templates.criteria",
    "code_words": "words of people, not of SQL or of the schema",
    "wanted_missing": "name what is asked for",
    "given_missing": "name what kind of thing a placeholder is: the film [films.title]",
    "relation_missing": "say which relation is meant, as another one between the same tables fits as well",
    "measure_missing": "say the count, average, extreme or bound that the SQL asks for",
    "measure_added": "leave out the count, average, extreme or bound that the SQL does not have",
    "asks_twice": "one question, with every placeholder in it",
    "says_or": "ask one thing",
    "says_again": "say it once",
    "speaks_of_you": "ask about the thing, not about the person asked",
    "names_other": "leave out what is neither asked for nor given",
}
