import pytest

from tasks.tanq.solve.table_text import (
    MOST_COLUMNS,
    MOST_ROWS,
    make_table_grammar,
    read_table,
    write_table_text,
)

PLAIN = (("entity", "area"), ("Norway", "385,207"), ("Chad", ""))


@pytest.mark.parametrize(
    "reply",
    [
        "entity|area\nNorway|385,207\nChad|",
        "| entity | area |\n|---|---:|\n| Norway | 385,207 |\n| Chad | |",
        "entity | area\n--- | ---\nNorway | 385,207\nChad |",
        "entity|area|\nNorway|385,207|\nChad||",
        "Here it is:\n\n```md\n| entity | area |\n|:--|:--|\n| Norway | 385,207 |\n| Chad | |\n```\n.",
        "| **entity** | `area` |\r\n|--|--|\r\n| Norway | 385,207 |\r\n\r\n| Chad | |",
        "entity|area\nNorway|1\n\nNo, better:\n\nentity|area\nNorway|385,207\nChad|\n\nThat is it.",
        "+--+--+\n| entity | area |\n+==+==+\n| Norway | 385,207 |\n+--+--+\n| Chad | |\n+--+--+",
        "| entity | area |\n| - | - |\nNorway | 385,207\n| Chad | |",
        "entity | area\n|---|---|\n| Norway | 385,207 |\n| Chad | |",
        "entity|area\n| Norway | 385,207 |\nChad|",
        "|---+---|\n| entity | area |\n|---+---|\n| Norway | 385,207 |\n| Chad | |\n|---+---|",
        "| a | b |\n|-|-|\n| c | d |\n\n| entity | area |\n|---|---|\n| Norway | 385,207 |\n| Chad | |\n---",
        "Table:\nentity|area\nNorway|385,207\nChad|\n\n**Question:** And more?\nTable:\nx|y\na|b\nc|d\ne|f",
        "Question: Which?\n```\n| entity | area |\n|:-:|-|\n| Norway | 385,207 |\n| Chad |  |\n```\n",
        "Draft.\nentity|area\nx|y\nz|w\nFinal.\nentity|area\nNorway|385,207\nChad|",
    ],
)
def test_a_table_is_read_whatever_stands_around_it(reply: str) -> None:
    assert read_table(reply) == PLAIN


@pytest.mark.parametrize(
    "reply",
    ["", "I do not know.", "either a | or b", "a\nb", "|", "\n".join(["a|b"] * (MOST_ROWS + 1)),
     "|".join("x" * (MOST_COLUMNS + 1)) + "\na|b", f"entity|a\nx|{'y' * 5000}", '{"entity": ["a"]}'],
)  # fmt: skip
def test_what_is_no_table_or_too_large_is_none(reply: str) -> None:
    assert read_table(reply) is None


def test_a_header_alone_is_an_empty_table_and_prose_is_not() -> None:
    assert read_table("Entity|capital") == (("Entity", "capital"),)
    assert read_table("Say a|b.") is None


def test_odd_cells_keep_to_their_columns() -> None:
    assert read_table("| entity | a |\n|--|--|\n| x \\| y | 1<br>2 |") == (("entity", "a"), ("x y", "1, 2"))
    assert read_table("entity|a|b\n|1|2\nx||") == (("entity", "a", "b"), ("", "1", "2"), ("x", "", ""))
    assert read_table("| entity | a |\n| x |") == (("entity", "a"), ("x",)), (
        "a row that is too short stays so"
    )
    assert read_table("entity|a\nx|1|2\ny") == (("entity", "a"), ("x", "1", "2"))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["|", "-|", "**", "`|", " |", "|-", "\\|", "<br>|", "a|b\n", "|--|\n", "\n|", "+-", "- ", "|\n\n"]
)
def test_hostile_replies_are_read_in_time(unit: str) -> None:
    read_table(unit * (200_000 // len(unit)))


def test_a_table_is_written_and_read_again() -> None:
    assert read_table(write_table_text(PLAIN)) == PLAIN
    assert write_table_text([["a|b", "c"]]) == "a b|c"


def test_the_grammar_holds_a_model_to_a_table_that_ends() -> None:
    grammar = make_table_grammar()
    assert grammar.startswith('root ::= "entity" more')
    assert "{1,40}" in grammar
