import csv
import io

import pytest

from tasks.judging.human_files import is_same_text, read_lines, write_form

HOSTILE = [
    '=HYPERLINK("http://evil")',
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    'a "quoted", text\nof two lines',
]


def test_a_form_holds_no_formula_and_still_says_the_same():
    form = write_form(("id", "response"), [(str(n), text) for n, text in enumerate(HOSTILE)])
    rows = list(csv.reader(io.StringIO(form, newline="")))[1:]
    assert [row[0] for row in rows] == [str(n) for n in range(len(HOSTILE))]
    for (_, cell), text in zip(rows, HOSTILE, strict=True):
        assert cell[0] not in "=+-@\t\r"
        assert is_same_text(cell, text)
    assert not is_same_text("another", "text")


def test_what_a_spreadsheet_does_to_line_ends_changes_no_text():
    assert is_same_text("one\r\n two ", "one\ntwo")


def test_a_form_is_read_back(tmp_path):
    path = tmp_path / "form.csv"
    path.write_text(write_form(("id", "response"), [("a", HOSTILE[-1])]), encoding="utf-8-sig", newline="")
    (line,) = read_lines(path, ("id",), "")
    assert line.record == {"id": "a", "response": HOSTILE[-1]}


@pytest.mark.parametrize(("name", "text"), [("a.csv", "id\n"), ("a.jsonl", "\n \n")])
def test_a_file_without_lines_is_no_mistake(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_lines(tmp_path / name, ("id",), "") == []
