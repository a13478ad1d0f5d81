from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tasks.databases.columns import Column
from tasks.databases.joins import JoinTree, list_join_trees
from tasks.databases.reflection import reflect


def column(name: str, references: str | None = None, *, descriptive: bool = False) -> Column:
    table, _, own = name.partition(".")
    return Column(name, table, own, "text", True, False, references, descriptive)


FLIGHTS = [
    column("airports.code", descriptive=True),
    column("flights.destination", "airports.code"),
    column("flights.number", descriptive=True),
    column("flights.origin", "airports.code"),
]


def write_sql(tree: JoinTree) -> str:
    parts = [f"SELECT 1 FROM {tree.root}"]
    for join in tree.joins:
        on = " AND ".join(f"{join.left}.{a} = {join.right}.{b}" for a, b in join.on)
        parts.append(f"JOIN {join.right} ON {on}")
    return " ".join(parts)


def test_a_link_table_is_a_free_hop(library: Path) -> None:
    trees = list_join_trees(reflect(library), 2)
    assert [tree.route for tree in trees if tree.tables == ("books", "subjects")] == [
        ("books", "book_subjects", "subjects")
    ]
    assert all("book_subjects" not in tree.tables for tree in trees)


def test_two_keys_to_one_table_are_two_paths() -> None:
    trees = [tree for tree in list_join_trees(FLIGHTS, 3) if len(tree.tables) == 2]
    assert [tree.joins[0].on for tree in trees] == [(("code", "destination"),), (("code", "origin"),)]


def test_a_table_is_used_once() -> None:
    assert max(len(tree.route) for tree in list_join_trees(FLIGHTS, 4)) == 2


def test_a_composite_key_is_one_join() -> None:
    columns = [
        column("orders.shop", descriptive=True),
        column("orders.number", descriptive=True),
        column("lines.shop", "orders.shop"),
        column("lines.number", "orders.number"),
        column("lines.article", descriptive=True),
    ]
    joined = [tree for tree in list_join_trees(columns, 2) if len(tree.tables) == 2]
    assert [tree.joins[0].on for tree in joined] == [(("number", "number"), ("shop", "shop"))]


def test_a_link_table_that_tells_something_counts() -> None:
    columns = [
        column("films.title", descriptive=True),
        column("people.name", descriptive=True),
        column("roles.film_id", "films.title"),
        column("roles.person_id", "people.name"),
        column("roles.character", descriptive=True),
    ]
    assert ("films", "people") not in {tree.tables for tree in list_join_trees(columns, 3)}
    assert ("films", "people", "roles") in {tree.tables for tree in list_join_trees(columns, 3)}


def test_the_order_is_fixed_and_small_comes_first(library: Path) -> None:
    columns = reflect(library)
    trees = list_join_trees(columns, 3)
    assert trees == list_join_trees(list(reversed(columns)), 3)
    assert len(set(trees)) == len(trees)
    assert [len(tree.tables) for tree in trees] == sorted(len(tree.tables) for tree in trees)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_every_tree_is_valid_sql(library: Path, most: int) -> None:
    connection = sqlite3.connect(library)
    trees = list_join_trees(reflect(library), most)
    assert trees
    for tree in trees:
        assert len(tree.tables) <= most
        assert set(tree.tables) <= set(tree.route)
        connection.execute(f"{write_sql(tree)} LIMIT 1")
    connection.close()
