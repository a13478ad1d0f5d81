"""Tests of docs/evidence/fidelity.md: named tests exist, and every line except `not here` names a test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "evidence" / "fidelity.md"
NAMED = re.compile(r"(drill )?`([\w/]+\.py)::([\w:]+)`")
STATES = ("as in the paper", "as released", "different", "not here")


def list_lines():
    """List (heading, cells) of the tables that name tests."""
    heading, lines, inside = "", [], False
    for text in PAGE.read_text().splitlines():
        heading = text.removeprefix("## ") if text.startswith("## ") else heading
        cells = [cell.strip() for cell in text.strip("|").split("|")] if text.startswith("|") else []
        inside = bool(cells) and (inside or cells[-1] == "held by")
        if inside and cells[-1] != "held by" and set(cells[0]) != {"-"}:
            lines.append((heading, cells))
    return lines


@cache
def list_tests(path):
    """Return test -> whether it is a drill, for the tests of a file; in a class, `Class::test`."""
    tree = ast.parse((TESTS / path).read_text())
    every = any(
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and is_drill(node.value)
        for node in tree.body
    )
    found = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        above = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for test in inner:
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test"):
                marks = [*test.decorator_list, *getattr(node, "decorator_list", [])]
                found[above + test.name] = every or any(map(is_drill, marks))
    return found


def is_drill(node):
    return "mark.drill" in ast.unparse(node)


LINES = list_lines()


def test_every_paper_has_its_table():
    assert len({heading for heading, _ in LINES}) == 5
    assert all(len(cells) == 3 for _, cells in LINES)


@pytest.mark.parametrize(("heading", "cells"), LINES, ids=[f"{cells[0][:40]}" for _, cells in LINES])
def test_a_line_names_a_state_and_the_tests_that_hold_it(heading, cells):
    what, here, held = cells
    assert what
    assert here.startswith(STATES)
    if here.startswith(("different", "not here")):
        assert re.match(r"(different|not here): \w", here), "it must say why"
    named = NAMED.findall(held)
    assert named or here.startswith("not here")
    assert NAMED.sub("", held).strip(" ,") == "", "something else than tests stands there"
    for drill, path, name in named:
        assert (TESTS / path).is_file(), path
        assert name in list_tests(path), f"{path} has no {name}"
        assert list_tests(path)[name] == bool(drill), f"{name} is{'' if not drill else ' not'} a drill"
