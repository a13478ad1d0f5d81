"""Tests of target selection: the selected stages, and errors for targets that match no stage."""

import pytest

from flows.run.node import Node
from flows.run.selection import select_matches
from tasks.errors import BadInput

NODES = {
    f"grammar-{name}@{key}": Node(
        f"grammar-{name}@{key}", f"grammar.{name}", key, (), (f"data/{key}/{name}",), ()
    )
    for name in ("schema", "dataset")
    for key in ("clinic", "shop")
}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "@clinc",
            r"there is no entry 'clinc' \(did you mean clinic\? known: databases.clinic, databases.sh",
        ),
        (
            "grammar-schema@clinc",
            r"there is no entry 'clinc' \(did you mean grammar-schema@clinic\? known: ",
        ),
        (
            "clinc",
            r"is not a flow, .* \(did you mean clinic\? flows: .*; entries: databases.clinic, databases.sh",
        ),
        ("gramar", r"is not a flow, .* \(did you mean grammar\? "),
    ],
)
def test_what_is_misspelt_is_told_what_there_is_of_its_kind(target, said):
    with pytest.raises(BadInput, match=said):
        select_matches(NODES, [target])


def test_an_entry_is_named_with_its_section_or_without():
    assert select_matches(NODES, ["clinic"]) == select_matches(NODES, ["databases.clinic"])
    assert len(select_matches(NODES, ["clinic"])) == 2
