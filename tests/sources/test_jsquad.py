import json
import os
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.jsquad import read_squad

SHARED = Path(os.environ.get("BENCHLOOM_JSQUAD", "no such folder"))
"""Real data on this machine, if present; they are not part of the project."""


def ask(name="q0", *texts, impossible=False):
    answers = [{"text": text, "answer_start": 0} for text in texts or ("雨季",)]
    return {"id": name, "question": "梅雨とは何か。 ", "answers": answers, "is_impossible": impossible}


def write(path, *qas, context="梅雨 [SEP] 梅雨は雨季の一種。", title="梅雨"):
    article = {"paragraphs": [{"context": context, "qas": list(qas)}]}
    if title:
        article["title"] = title
    path.write_text(json.dumps({"data": [article]}), encoding="utf-8")
    return path


def test_the_reference_is_what_most_people_answered(tmp_path):
    qas = [ask("q0", "雨", "雨季", "雨季"), ask("q1", "雨", "雨季"), ask("q2", "雨", impossible=True)]
    items, paragraphs = read_squad(write(tmp_path / "valid.json", *qas))
    assert [item.reference for item in items] == ["雨季", "雨", ""]
    assert (items[0].question, items[0].paragraph) == ("梅雨とは何か。", "0000.000")
    assert [(paragraph.id, paragraph.title, paragraph.text) for paragraph in paragraphs] == [
        ("0000.000", "梅雨", "梅雨は雨季の一種。")
    ]


def test_a_title_stands_in_the_context_where_the_article_has_none(tmp_path):
    _, (paragraph,) = read_squad(write(tmp_path / "valid.json", ask(), title=None))
    assert (paragraph.title, paragraph.text) == ("梅雨", "梅雨は雨季の一種。")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"data": 3}', '{"data": [{}]}', '{"data": ["x"]}',
     '{"data": [{"paragraphs": [{"qas": []}]}]}', '{"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}'],
)  # fmt: skip
def test_a_file_in_another_layout_is_one_clear_line(tmp_path, text):
    path = tmp_path / "valid.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"valid\.json"):
        read_squad(path)


def test_a_folder_holds_one_file(tmp_path):
    write(tmp_path / "a.json", ask())
    assert len(read_squad(tmp_path)[0]) == 1
    write(tmp_path / "b.json", ask())
    with pytest.raises(BadInput, match="contains 2 JSON files"):
        read_squad(tmp_path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="BENCHLOOM_JSQUAD names no copy of JSQuAD")
def test_the_published_file_is_read_whole():
    items, paragraphs = read_squad(SHARED)
    assert (len(items), len(paragraphs)) == (4442, 1145)
    assert all(item.reference and item.question for item in items)
