"""Tests of the rules for plain technical English: findings, their positions, and accepted texts."""

import pytest

from bench.prose import list_findings, main
from bench.prose_texts import Text, list_docs, list_docstrings, list_help, list_messages, split_blocks

PAGE = """\
# A page

The first paragraph has
two lines. The arguments are no JSON, and `this one is no code`.

```sh
what is wanted here stays
```

| column | meaning |
|---|---|
| `a` | asked anew |

- An item that is fine.
- It is given by hand.
"""


def find(text, kind="docs"):
    return list_findings(list(split_blocks("page.md", 1, kind, text)))


def test_a_finding_has_its_line_and_what_to_write():
    assert [(found.line, found.rule) for found in find(PAGE)] == [
        (4, "banned"),
        (12, "banned"),
        (15, "passive"),
    ]
    assert str(find(PAGE)[0]) == "page.md:4: banned: 'are no JSON'; write 'is not a'"


@pytest.mark.parametrize(
    "text",
    [
        "There is no column with that name.",
        "Whether there are no rows is not checked.",
        "A run is no longer paid twice.",
        "You need the latest versions for every run.",
        "A stage of its own runs in a process of its own.",
        "`x` `x` `x`",
    ],
)
def test_plain_sentences_pass(text):
    assert find(text) == []


def count_up(words):
    return " ".join(f"w{number}" for number in range(words)) + "."


def test_a_sentence_may_have_thirty_words_and_code_is_one_word():
    assert find(count_up(30)) == find(f"`a b c d` {count_up(29)}") == []
    assert [found.rule for found in find(count_up(31))] == ["long"]
    assert find(f"{count_up(20)} And {count_up(20)}") == []


def test_a_docstring_opens_with_a_noun_or_a_verb():
    assert [found.rule for found in find("What a stage wrote.", "docstrings")] == ["pronoun"]
    assert find("What a stage wrote.", "docs") == []
    assert (
        find("How many calls a stage makes.", "docstrings") == find("One row a question.", "docstrings") == []
    )


def test_proselint_looks_at_whole_words_of_one_text():
    assert [found.rule for found in find("The the stage runs.")] == ["proselint lexical_illusions"]
    assert list_findings([Text("a", 1, "docs", "stage"), Text("a", 2, "docs", "stage")]) == []


def test_a_phrase_is_overused_from_its_third_use_on():
    texts = list(split_blocks("page.md", 1, "docs", "\n\n".join(["A file of its own."] * 3)))
    assert [(found.line, found.rule) for found in list_findings(texts)] == [(5, "overused")]


def test_texts_of_every_kind_are_found_with_their_files():
    assert any(text.path == "docs/tutorial.md" for text in list_docs())
    assert not any(text.path == "docs/commands.md" for text in list_docs())
    assert any(text.text.startswith("A new or empty folder") for text in list_help())
    messages = list(list_messages())
    assert any(text.path == "flows/cli.py" for text in messages)
    assert not any("no recorded answer to prompt" in text.text for text in messages), "docs/bytes.md fixes it"
    assert any(text.path == "tasks/errors.py" for text in list_docstrings())


def test_what_the_project_says_is_checked_passes(capsys):
    assert main([]) == 0, capsys.readouterr().out
