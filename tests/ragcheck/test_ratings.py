import pytest

from tasks.errors import BadInput
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.ratings import make_form, ratings
from tests.ragcheck.scripted import make_question

QUESTIONS = [make_question(1), make_question(2)]


def make_answer(name, question="q1", system="s", text="an answer"):
    return SystemAnswer(name, question, system, "1", text, "", (), ())


ANSWERS = [make_answer("a1"), make_answer("a2", "q2")]


def read(tmp_path, content, name="ratings.csv", answers=ANSWERS):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    entry = Assessment(systems=("s",), ratings=path)
    drafts = ratings(QUESTIONS, answers, entry)
    return [(r.answer, r.rater, r.rating) for r in drafts.rows], [d.reason for d in drafts.dropped]


def test_ratings_are_read_from_csv_and_from_json_lines_alike(tmp_path):
    expected = ([("a1", "ann", 4), ("a1", "bo", 0)], [])
    csv = 'note,item,rater,rating\r\n,a1,ann,4\r\n"x, y",a1,bo,0\r\n'
    assert read(tmp_path, "\ufeff" + csv) == expected
    lines = '{"item": "a1", "rater": "ann", "rating": 4}\n\n{"item": "a1", "rater": "bo", "rating": "0"}\n'
    assert read(tmp_path, lines, "r.jsonl") == expected


def test_an_item_may_be_named_by_its_question_where_one_system_answered(tmp_path):
    csv = "item,rater,rating\nq1,ann,1\nkey-2,ann,2\n"
    assert read(tmp_path, csv) == ([("a1", "ann", 1), ("a2", "ann", 2)], [])
    two = [*ANSWERS, make_answer("a3", "q1", "other")]
    assert read(tmp_path, csv, answers=two) == ([("a2", "ann", 2)], ["unknown_item"])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a1,ann,6", "no_rating"), ("a1,ann,-1", "no_rating"), ("a1,ann,4.5", "no_rating"),
        ("a1,ann,", "no_rating"), ("a1,ann,nan", "no_rating"), ("a1,ann,٤", "no_rating"),
        ("a9,ann,4", "unknown_item"), ("a1,,4", "no_name"), (",ann,4", "no_name"),
        (f"a1,{'x' * 300},4", "no_name"), ("a1", "unreadable"),
    ],
)  # fmt: skip
def test_what_is_no_rating_is_dropped_with_its_reason(tmp_path, row, reason):
    kept, dropped = read(tmp_path, f"item,rater,rating\n{row}\na2,ann,3\n")
    assert kept == [("a2", "ann", 3)]
    assert dropped == [reason]


def test_a_second_rating_by_the_same_person_is_dropped(tmp_path):
    assert read(tmp_path, "item,rater,rating\na1,ann,3\na1,ann,5\n") == ([("a1", "ann", 3)], ["rated_twice"])


def test_booleans_and_nested_values_are_no_ratings(tmp_path):
    lines = '{"item": "a1", "rater": "ann", "rating": true}\n{"item": ["a1"], "rater": "bo", "rating": 3}\n'
    assert read(tmp_path, lines, "r.jsonl") == ([], ["no_rating", "no_name"])


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (b"\xff\xfe\x00", "r.csv", "UTF-8"),
        (b"item,rater,rating\nx\0,y,1\n", "r.csv", "NUL"),
        (b"", "r.csv", "no column 'item'"),
        (b"id,who,score\n", "r.csv", "no column 'item'"),
        (b'item,rater,rating\n"a1,ann,4\n', "r.csv", "is not valid CSV"),
        (b"item,rater,rating\n" + b"x" * 200_000 + b",a,1\n", "r.csv", "is not valid CSV"),
        (b"{oops\n", "r.jsonl", "line 1: is not valid JSON"),
        (b"[1]\n", "r.jsonl", "expected a JSON object"),
        (b"[" * 100_000, "r.jsonl", "line 1: is nested too deeply"),
    ],
)
def test_a_file_that_is_none_is_one_clear_line(tmp_path, content, name, says):
    with pytest.raises(BadInput, match=says) as caught:
        read(tmp_path, content, name)
    assert "\n" not in str(caught.value)


def test_a_line_that_cannot_be_read_leaves_the_others(tmp_path):
    lines = '{oops\n{"item": "a1", "rater": "ann", "rating": 3}\n[1]\n'
    assert read(tmp_path, lines, "r.jsonl") == ([("a1", "ann", 3)], ["unreadable", "unreadable"])


def test_the_form_is_filled_in_and_read_and_what_is_left_open_is_no_mistake(tmp_path):
    texts = {"a1": "=1+1", "a2": 'two\n"lines"', "a3": None}
    hostile = [make_answer(name, "q2" if name == "a2" else "q1", text=text) for name, text in texts.items()]
    form = make_form(QUESTIONS, hostile)
    assert form.splitlines()[0] == "item,system,question,reference,response,rating,rater"
    assert "\na1,s," in form.replace("\r", "")
    assert "'=1+1" in form
    assert "a3" not in form
    filled = form.replace("'=1+1,,", "'=1+1,4,ann")
    assert read(tmp_path, filled, answers=hostile) == ([("a1", "ann", 4)], [])


def test_nobody_has_rated_in_the_file_that_ships():
    from pathlib import Path

    import tasks.ragcheck

    entry = Assessment(systems=("s",), ratings=Path(tasks.ragcheck.__file__).with_name("unrated.csv"))
    assert not ratings(QUESTIONS, ANSWERS, entry).rows
