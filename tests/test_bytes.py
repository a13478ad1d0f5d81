"""Tests that the lists of strings in docs/bytes.md match the code."""

from pathlib import Path

import pytest

from bench import bytes_page
from flows.discovery import list_stages
from tasks.artifacts.rows import make_id
from tasks.databases.joins import Join, JoinTree
from tasks.models.ask import Request, Role
from tasks.models.request_builder import make_embedding, make_system_call

PAGE = Path(__file__).parents[1] / "docs" / "bytes.md"
TREE = JoinTree(
    ("films", "genres"),
    (Join("films", "film_genres", (("film_id", "film_id"),)),),
)


def test_the_page_lists_what_the_code_has():
    assert bytes_page.write_page(PAGE.read_text()) == PAGE.read_text()


@pytest.mark.parametrize("name", bytes_page.LISTS)
def test_another_line_is_printed_and_replaced(name, tmp_path, monkeypatch, capsys):
    page = PAGE.read_text()
    monkeypatch.setattr(bytes_page, "PAGE", tmp_path / "bytes.md")
    monkeypatch.setattr(bytes_page, "ROOT", tmp_path)
    monkeypatch.setattr(bytes_page, "LISTS", {name: lambda: ["a new line: word"]})
    bytes_page.PAGE.write_text(page)
    assert bytes_page.main(["--check"]) == 1
    assert "+a new line: word\n" in capsys.readouterr().out
    assert bytes_page.PAGE.read_text() == page
    assert bytes_page.main([]) == 0
    assert "\na new line: word\n" in bytes_page.PAGE.read_text()
    assert bytes_page.main(["--check"]) == 0


def test_a_word_that_was_added_by_hand_stays_while_its_folder_has_it():
    found, listed = ["tasks/judging: no_id"], ["tasks/judging: no_label, no_such_word", "tasks/gone: no_id"]
    assert bytes_page.keep_words(found, listed) == ["tasks/judging: no_id, no_label"]


def test_every_stem_is_an_artifact():
    stems = bytes_page.split_words(bytes_page.list_stems()).values()
    assert {word for words in stems for word in words} <= {
        stage.artifact or stage.function for stage in list_stages()
    }


def test_the_text_of_a_join_tree_is_what_orders_were_made_by():
    assert f"<!-- tree -->\n```text\n{TREE!r}\n```" in PAGE.read_text()


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
