"""Tests that look-alike names are not used in questions, and other names have correct answers."""

import json
import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tests.grammar.dirty.database import make_plants
from tests.grammar.dirty.test_odd_cells import SETTINGS

NAMES = st.lists(
    st.from_regex(r"[A-Z][a-z\u00e0\u00e9\u00f6]{2,7} [A-Z][a-z\u00eb]{2,7}", fullmatch=True),
    min_size=6,
    max_size=12,
    unique_by=lambda name: unicodedata.normalize("NFC", name).casefold(),
)
CHANGES = {
    "lower case": str.lower,
    "upper case": str.upper,
    "decomposed": lambda name: unicodedata.normalize("NFD", f"{name}\u00e9"),
    "composed": lambda name: unicodedata.normalize("NFC", f"{name}\u00e9"),
    "two spaces": lambda name: name.replace(" ", "  "),
    "a space behind": "{} ".format,
    "a space before": " {}".format,
    "a no-break space": lambda name: name.replace(" ", "\u00a0"),
    "a zero-width space": lambda name: name.replace(" ", "\u200b "),
    "an apostrophe": "{}'".format,
    "a curly apostrophe": "{}\u2019".format,
    "a point": "{}.".format,
}
TWINS = {"decomposed": "composed", "composed": "decomposed"}
"""Changes of a name that look like each other, not like the name."""


def fold(name):
    """Return the form of a name that is equal for look-alike names."""
    plain = unicodedata.normalize("NFC", name).casefold().replace("\u200b", "")
    return " ".join(re.sub(r"[^\w\s]", "", plain).split())


@settings(max_examples=6, **SETTINGS)
@given(names=NAMES, changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=4))
def test_names_that_read_the_same_name_nothing(names, changes, tmp_path_factory):
    pairs = list(zip(names, changes, strict=False))
    cells = names + [CHANGES[change](name) for name, change in pairs]
    cells += [CHANGES[TWINS[change]](name) for name, change in pairs if change in TWINS]
    towns = [f"Town {n}" for n in range(len(cells))]
    entry = make_plants(
        tmp_path_factory.mktemp("plants") / "plants.sqlite", [("TEXT", cells), ("TEXT", towns)]
    )
    query = Query(("plants.c1",), (), ("plants.c0",))
    template = SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
    )
    params = FillIn(every_value_matters=False, cap=len(cells))
    drafts = fill_in([template], read_columns(entry, ColumnRules()), entry, params)
    found = {group.fillings[0].value: json.loads(group.answer_rows) for group in drafts.rows}
    folded = [fold(cell) for cell in cells]
    assert found == {
        cell: [[town]]
        for cell, town, plain in zip(cells, towns, folded, strict=True)
        if folded.count(plain) == 1
    }
    reasons = {drop.reason for drop in drafts.dropped}
    assert ("look_alike" in reasons) == (len(set(folded)) < len(cells))
    assert reasons <= {"look_alike", "unfit_value"}
