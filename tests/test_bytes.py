"""docs/bytes.md lists the strings that enter bytes: each list is what the code has."""

import re
from pathlib import Path

import pytest

from flows.discovery import list_stages
from tasks.artifacts.rows import make_id
from tasks.databases.joins import Join, JoinTree
from tasks.models.ask import Request, Role
from tasks.models.embeddings import make_embedding
from tasks.models.system_calls import make_system_call
from tests import written

PAGE = Path(__file__).parents[1] / "docs" / "bytes.md"
TREE = JoinTree(
    ("films", "genres"),
    (Join("films", "film_genres", (("film_id", "film_id"),)),),
)


def read_list(name: str) -> list[str]:
    block = re.search(rf"<!-- {name} -->\n```text\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    assert block, name
    return block[1].splitlines()


def hold_words(name: str, found: list[str]) -> set[str]:
    """Hold a list of words by folder: it has what is found, and no word that is not there any more."""
    listed, there = split_words(read_list(name)), written.list_words()
    for folder, words in split_words(found).items():
        assert words <= listed.get(folder, set()), folder
    for folder, words in listed.items():
        assert words <= there[folder], folder
    return {word for words in listed.values() for word in words}


def split_words(lines: list[str]) -> dict[str, set[str]]:
    return {folder: set(words.split(", ")) for folder, _, words in (line.partition(": ") for line in lines)}


def test_the_page_lists_every_word_in_ids():
    assert read_list("salts") == written.list_salts()


def test_the_page_lists_every_word_for_a_row():
    assert read_list("rows") == written.list_rows()


def test_the_page_lists_every_rule():
    assert read_list("rules") == written.list_rules()


def test_the_page_lists_every_prompt_with_its_fields():
    assert read_list("prompts") == written.list_prompts()


def test_the_page_lists_every_column():
    assert read_list("columns") == written.list_columns()


def test_the_page_lists_every_stem_and_each_is_an_artifact():
    assert read_list("kinds") == written.list_kinds()
    stems = hold_words("stems", written.list_stems())
    assert stems <= {stage.artifact or stage.function for stage in list_stages()}


def test_the_page_lists_every_reason():
    hold_words("reasons", written.list_reasons())


def test_the_page_lists_what_is_written_as_json():
    assert read_list("shapes") == written.list_shapes()


def test_the_page_lists_what_pages_embed():
    assert read_list("given") == written.list_given()
    assert read_list("elements") == written.list_elements()


def test_the_text_of_a_join_tree_is_what_orders_were_made_by():
    assert read_list("tree") == [repr(TREE)]


@pytest.mark.parametrize(
    ("made", "always"),
    [
        (make_id("group", "SELECT 'ä'", 1, None, ("a", 2.5)), "d801f7c3f423a741"),
        (
            Request(
                "m",
                ({"role": "user", "content": "ä?"},),
                {"temperature": 0.0},
                {"grammar": "root ::= [a]"},
                sample=1,
                attempt=2,
                epoch="n",
                identity="id",
            ).key(),
            "d1151a339b5680db9076284ea178c59d4cda8496d8ecc1f64afc6d7d7f82b41c",
        ),
        (
            make_embedding("ä", Role(model="m"), identity="i", epoch="n").key(),
            "409abb68a7f7333f409cca8f4da3728d182091f167b973bf637ea495cfb516fe",
        ),
        (
            make_system_call("s", "1", {"question": "q", "history": []}, epoch="n").key(),
            "ba24efffc39e164eaa5c25bb8d4c53db89b8512a7b0fce5fba07f3b74a7908e2",
        ),
    ],
)
def test_ids_and_keys_are_what_they_always_were(made, always):
    assert made == always
