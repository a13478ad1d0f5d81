"""Tests of `bench.documented`: items that the documentation lost between two revisions."""

import pytest

from bench.documented import KINDS, find_gone, main, read_pages

PAGE = """\
Run `benchloom import spider` with `--dry-run`; it ends with exit code 4.
`databases.shop.columns` and `tasks/errors.py` are read, "the disk is full" is said.

| code | meaning |
|---|---|
| 6 | locked |
"""


@pytest.mark.parametrize(
    ("kind", "gone"),
    [
        ("commands", ["benchloom import spider"]),
        ("options", ["--dry-run"]),
        ("parameters", ["databases.<name>.columns", "longform.databases.<name>.columns"]),
        ("exit codes", ["exit 4", "exit 6"]),
        ("messages", ["the disk is full"]),
        ("names", ["databases.shop.columns", "tasks/errors.py"]),
    ],
)
def test_what_the_newer_pages_lack_is_gone(kind, gone):
    assert find_gone({"a.md": PAGE}, {"b.md": "Nothing."}, kind) == {item: ["a.md"] for item in gone}
    assert find_gone({"a.md": PAGE}, {"b.md": PAGE}, kind) == {}


def test_an_item_may_move_into_another_page_and_another_form():
    before = {"a.md": "The option `--dry-run`; `grammar.fill_in.cap` and `data/x.csv`."}
    after = {
        "b.md": "```sh\nbenchloom run --dry-run\n```\n",
        "c.md": "| `grammar.fill_in.cap` | data/x.csv |",
    }
    assert [find_gone(before, after, kind) for kind in KINDS] == [{}] * len(KINDS)
    assert find_gone({"a.md": "`--dry`"}, after, "options") == {"--dry": ["a.md"]}, "part of a longer one"


def test_a_revision_is_read_by_git_and_compared_with_itself(capsys):
    pages = read_pages("HEAD")
    assert {"README.md", "docs/tutorial.md"} <= set(pages)
    assert main(["HEAD", "HEAD"]) == 0
    assert capsys.readouterr().out == ""
