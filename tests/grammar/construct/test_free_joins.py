"""Tests of describing hand-written SQL by the foreign keys in its joins."""

import pytest

from tasks.databases.columns import Column
from tasks.grammar.construct.free_joins import describe_joins
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.queries import FreeQuery, Query

SCHEMA = [
    Column("shops.shop_id", "shops", "shop_id", "integer", False, True, None, False),
    Column("shops.town", "shops", "town", "text", False, False, None, True),
    Column("sales.sale_id", "sales", "sale_id", "integer", False, True, None, False),
    Column("sales.shop_id", "sales", "shop_id", "integer", False, False, "shops.shop_id", False),
    Column("sales.day", "sales", "day", "date", False, False, None, True),
    Column("sales.amount", "sales", "amount", "real", False, False, None, True),
]
OF_TOWN = "shops.town = '[shops.town]'"
JOIN = "sales JOIN shops ON shops.shop_id = sales.shop_id"


def describe(sql):
    return describe_joins(read_free(sql, SCHEMA), SCHEMA)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (f"SELECT COUNT(*) FROM {JOIN} WHERE shops.town = '[shops.town]'", ("shops.town",)),
        (
            f"SELECT SUM(amount) / 2 FROM {JOIN} WHERE shops.town = '[shops.town]' HAVING COUNT(day) > 1",
            ("sales.amount", "sales.day", "shops.town"),
        ),
        (
            "SELECT s.day FROM sales AS s INNER JOIN shops AS p ON s.shop_id = p.shop_id "
            "WHERE p.town LIKE 'A%' AND s.amount > '[sales.amount]' ORDER BY s.amount DESC LIMIT 3",
            ("sales.amount", "sales.day", "shops.town"),
        ),
    ],
)
def test_one_select_along_foreign_keys_is_described_by_its_columns(sql, columns):
    assert describe(sql) == Query(columns, (("sales.shop_id", "shops.shop_id"),), ())
    assert describe(sql).tables == ("sales", "shops")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT day FROM {JOIN} WHERE amount > (SELECT AVG(amount) FROM sales) AND town = '[shops.town]'",
        "SELECT town FROM shops WHERE town = '[shops.town]' EXCEPT SELECT town FROM shops WHERE shop_id = 1",
        "SELECT COUNT(*) FROM shops LEFT JOIN sales ON shops.shop_id = sales.shop_id "
        "WHERE shops.town = '[shops.town]'",
        f"SELECT COUNT(*) FROM sales JOIN shops ON shops.shop_id = sales.sale_id WHERE {OF_TOWN}",
        f"SELECT COUNT(*) FROM sales JOIN shops ON shops.shop_id < sales.shop_id WHERE {OF_TOWN}",
        "SELECT COUNT(*) FROM sales, shops WHERE shops.town = '[shops.town]'",
        "SELECT COUNT(*) FROM sales CROSS JOIN shops WHERE shops.town = '[shops.town]'",
        "SELECT COUNT(*) FROM sales JOIN shops USING (shop_id) WHERE shops.town = '[shops.town]'",
        "SELECT COUNT(*) FROM shops JOIN sales ON shops.shop_id = sales.shop_id "
        "JOIN sales AS again ON again.shop_id = shops.shop_id WHERE shops.town = '[shops.town]'",
    ],
)
def test_sql_of_any_other_shape_is_left_as_it_is(sql):
    assert isinstance(describe(sql), FreeQuery)


def test_a_query_of_a_models_shape_is_left_as_it_is():
    query = Query(("sales.day",), (("sales.shop_id", "shops.shop_id"),), ("shops.town",))
    assert describe_joins(query, SCHEMA) is query
