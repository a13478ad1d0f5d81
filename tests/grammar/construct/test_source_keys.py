import pytest

from tasks.databases.columns import Column
from tasks.grammar.construct.queries import FilledSql, Query, write_filled
from tasks.grammar.construct.source_keys import MOST, list_wanted

QUERY = Query(("a.x",), (), ("a.name", "a.number"))


def make_column(name, kind):
    return Column(
        f"a.{name}", "a", name, kind, nullable=True, primary_key=False, references=None, descriptive=True
    )


@pytest.mark.parametrize(
    ("types", "values", "wanted"),
    [
        (("text", "integer"), [("O'Hara", -3), ("B", 12)], {"a.name": ["B", "O'Hara"], "a.number": [-3, 12]}),
        # Values stored with a type other than the column's are not searched.
        (("text", "integer"), [("B", 2.5)], {"a.name": ["B"]}),
        (("text", "integer"), [(7, "B")], {}),
        (("text", "real"), [("B", 2)], {"a.name": ["B"]}),
        (("date", "boolean"), [("2001-02-03", 1)], {"a.name": ["2001-02-03"]}),
        (("text", "integer"), [("B", number) for number in range(MOST + 1)], {"a.name": ["B"]}),
        (("text", "integer"), [], {}),
    ],
)
def test_the_values_of_the_groups_are_read_from_their_sql(types, values, wanted):
    schema = [make_column("name", types[0]), make_column("number", types[1]), make_column("x", "text")]
    groups = [write_filled(QUERY, {"a.name": name, "a.number": number}) for name, number in values]
    assert list_wanted(QUERY, FilledSql(QUERY), groups, schema) == wanted
