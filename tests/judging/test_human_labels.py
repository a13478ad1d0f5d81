import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import BadInput
from tasks.judging.human_labels import HumanLabel, read_human_labels
from tests.judging.texts import STEADY

LABELS = ("Correct", "Incorrect")


def read_file(tmp_path, text, name="labels.csv", labels=LABELS):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_human_labels(path, labels)


def read(*given, **options):
    return [line.label for line in read_file(*given, **options).labels]


def test_a_table_is_read(tmp_path):
    found = read(
        tmp_path,
        '\ufeffrater,id,label,note\r\nben,q2,Incorrect,\r\nann,q1,Correct,"a, b"\r\n\r\nben,q1,,x\r\n',
    )
    assert found == [HumanLabel("q2", "Incorrect", "ben"), HumanLabel("q1", "Correct", "ann")]


def test_json_lines_are_read(tmp_path):
    lines = ['{"id": "q1", "label": "Correct"}', "", '{"id": 2, "label": "Incorrect", "rater": "b"}']
    found = read(tmp_path, "\n".join([*lines, '{"id": 3, "label": null}']), "labels.jsonl")
    assert found == [HumanLabel("q1", "Correct"), HumanLabel("2", "Incorrect", "b")]


def test_scores_are_labels_too(tmp_path):
    scores = [str(n) for n in range(6)]
    assert read(tmp_path, "id,label\na,5\nb,0\n", labels=scores)[1].label == "0"
    assert read(tmp_path, '{"id": "a", "label": 4}', "x.jsonl", scores)[0].label == "4"


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("", "a.csv", "line 1: has no column 'id'"),
        ("id,verdict\nq,Correct\n", "a.csv", "line 1: has no column 'label'"),
        ("id,label,label\n", "a.csv", "two columns 'label'"),
        ("id,label\n", "a.csv", "contains no label"),
        ("id,label\nq,\n", "a.csv", "contains no label"),
        ("id,label\nq,Correct,x\n", "a.csv", "line 2: has 3 fields, but the header has 2"),
        ("id,label\nq,correct\n", "a.csv", "line 2: label is 'correct'; expected one of Correct, Incorrect"),
        ("id,label\n,Correct\n", "a.csv", "line 2: has no id"),
        ('id,label\nq,"Correct\n', "a.csv", "is not valid CSV"),
        ("id,label\nq,C\0\n", "a.csv", "is binary"),
        (b"id,label\nq,\xff\n", "a.csv", "is not UTF-8"),
        ("id,label\n" + "q" * 2000 + ",Correct\n", "a.csv", "longer than 1000"),
        ("id,label\n" + "q" * 200_000 + ",Correct\n", "a.csv", "is not valid CSV"),
        ("{}", "a.jsonl", "line 1: has no id"),
        ('{"id": "q", "label": 1.5}', "a.jsonl", "label is a number"),
        ('{"id": "q", "label": true}', "a.jsonl", "label is true or false"),
        ('{"id": "q", "label": ["Correct"]}', "a.jsonl", "label is a list"),
        ('{"id": "q"', "a.jsonl", "line 1: is not valid JSON"),
        ('{"id": "q", "label": NaN}', "a.jsonl", "NaN"),
        ("[" * 5000, "a.jsonl", "line 1"),
        ("id\tlabel", "a.tsv", "neither .csv nor .jsonl"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, text, name, what):
    with pytest.raises(BadInput) as error:
        read(tmp_path, text, name)
    assert what in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_line_that_cannot_be_used_is_named_with_its_reason_and_the_others_count(tmp_path):
    lines = [
        "id,label,rater,response",
        "q1,Correct,ann,said",
        "q1,Incorrect,ann,said",
        "q1,Incorrect,ben,said",
        "q2,correct,ann,said",
        ",Correct,ann,said",
        "q3,Correct",
        f"{'q' * 2000},Correct,ann,said",
        "q4,,ann,said",
    ]
    found = read_file(tmp_path, "\n".join(lines))
    assert [(line.line, line.label.label, line.shown) for line in found.labels] == [
        (2, "Correct", "said"), (4, "Incorrect", "said"),
    ]  # fmt: skip
    assert [(line.line, line.reason) for line in found.unusable] == [
        (3, "labelled_twice"), (5, "no_label"), (6, "no_id"), (7, "unreadable"), (8, "unreadable"),
    ]  # fmt: skip
    lines = ['{"id": "q", "label": "Correct"}', '{"id": "q"', '{"id": "r", "label": ["Correct"]}']
    found = read_file(tmp_path, "\n".join(lines), "a.jsonl")
    assert [(line.line, line.reason) for line in found.unusable] == [(2, "unreadable"), (3, "unreadable")]


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_human_labels(tmp_path / "none.csv", LABELS)
    with pytest.raises(BadInput, match="is a folder"):
        read_human_labels(tmp_path, LABELS)


@STEADY
@given(st.binary(max_size=200), st.sampled_from(["a.csv", "a.jsonl"]))
def test_no_file_brings_anything_but_labels_or_one_line(tmp_path_factory, raw, name):
    path = tmp_path_factory.mktemp("labels") / name
    path.write_bytes(b"id,label\n" * (name == "a.csv") + raw)
    found, said = [], ""
    try:
        found = [line.label for line in read_human_labels(path, LABELS).labels]
    except BadInput as error:
        said = str(error)
    assert bool(found) != bool(said)
    assert all(label.label in LABELS and label.id for label in found)
    assert "\n" not in said
