"""Tests that code named in the documentation exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (
    "docs/architecture.md",
    "docs/glossary.md",
    "docs/bytes.md",
    "docs/evidence/invariants.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
PLACE = re.compile(r"`((?:flows|tasks|tests|benchloom|data|docs)/[\w./-]*)`")
TEST = re.compile(r"`(test_\w+)`")


def read(page):
    return (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES)
def test_every_place_and_test_that_a_page_names_is_there(page):
    names = re.findall(r"def (test_\w+)", "".join(file.read_text() for file in ROOT.glob("tests/**/*.py")))
    assert set(TEST.findall(read(page))) <= set(names)
    assert [place for place in PLACE.findall(read(page)) if not (ROOT / place).exists()] == []


def test_the_words_stand_in_order_and_once():
    words = re.findall(r"^\| ([^|]+) \|", read("docs/glossary.md"), re.MULTILINE)[2:]
    assert len(words) > 40
    assert words == sorted(set(words))
