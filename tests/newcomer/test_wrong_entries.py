"""An entry that lacks what its stages need: every command names the key and its line, not DVC's template."""

import pytest

from tests.benchloom.scenes import call
from tests.newcomer.test_newcomer import put, succeed

SYSTEM = "  systems: {}\n  foci:"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    place = tmp_path_factory.mktemp("wrong")
    succeed(place, "init", "shop")
    put(place / "shop/params.yaml", (SYSTEM, SYSTEM.replace("{}", "{mine: {system: good}}")))
    return place / "shop"


@pytest.mark.parametrize("words", [("status",), ("run", "--plain"), ("stage", "grammar.schema")])
def test_it_is_the_key_and_its_line(shop, words):
    done = call(shop, *words)
    assert done.returncode == 2
    lines = (shop / "params.yaml").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "mine: {system: good}" in line)
    said = f"benchloom: params.yaml, line {number}: longform.systems.mine.set: is missing\n"
    assert (done.stdout, done.stderr) == ("", said)
