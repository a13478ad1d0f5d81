"""Tests that for an incomplete entry, every command names the key and its line, not DVC's template."""

import pytest

from tests.benchloom.scenes import call
from tests.newcomer.test_newcomer import succeed


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    place = tmp_path_factory.mktemp("wrong")
    succeed(place, "init", "shop")
    path = place / "shop/params.yaml"
    before, longform, after = path.read_text().partition("\nlongform:\n")
    assert "\n  systems: {}\n" in after.partition("\ntanq:\n")[0]
    path.write_text(before + longform + after.replace("systems: {}", "systems: {mine: {system: good}}", 1))
    return place / "shop"


@pytest.mark.parametrize("words", [("status",), ("run", "--plain"), ("stage", "grammar.schema")])
def test_it_is_the_key_and_its_line(shop, words):
    done = call(shop, *words)
    assert done.returncode == 2
    lines = (shop / "params.yaml").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "mine: {system: good}" in line)
    said = f"benchloom: params.yaml, line {number}: longform.systems.mine.set: is missing\n"
    assert done.stdout == ""
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr
