"""Tests of a dataset card's statement about the authors of its templates."""

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.grammar.publish.authorship import AUTHORSHIP, describe_authorship


def describe(**entry):
    return describe_authorship(DatabaseEntry(name="films", file="films.sqlite", **entry))


@pytest.mark.parametrize("templates", ["beside", "instead"])
def test_the_author_of_templates_is_named_in_place_of_a_person(templates):
    made = describe(templates=templates, templates_by="the project's authors").made
    plain = AUTHORSHIP[templates].made
    changed = [(old, new) for old, new in zip(plain, made, strict=True) if old != new]
    assert [new for _, new in changed] == [
        "The SQL templates and their texts were written by the project's authors. "
        "Queries that fail or have no answer are dropped."
    ]
    assert describe(templates=templates).made == plain


def test_where_a_model_wrote_all_of_them_nobody_else_is_named():
    assert describe(templates_by="the project's authors") == AUTHORSHIP[None]
