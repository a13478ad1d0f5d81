"""Tests of RMS on cases by hand. Keys are "row header"; most cases have equal keys, so only values differ."""

import pytest

from bench.rms_plain import compute_plainly
from tasks.scoring.rms_paper import compute_paper, find_triplets
from tasks.scoring.rms_released import compute_released, find_datapoints
from tasks.scoring.similarity import compare_pairs, compare_values, parse_number
from tasks.scoring.tables import CellTable, parse_table


def released(gold: str, prediction: str):
    return compute_released(parse_table(gold), parse_table(prediction))


def paper(gold, prediction):
    return compute_paper(make_table(gold), make_table(prediction))


def make_table(source):
    if isinstance(source, str):
        return parse_table(source)
    rows = [[tuple(cell) if isinstance(cell, list) else cell for cell in row] for row in source]
    return CellTable(tuple(tuple(row) for row in rows))


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abcx", 0.75),  # 1 edit over 4: d = 0.25
        ("abcd", "abxy", 0.0),  # d = 0.5 is not under the cut
        ("abcde", "abcxy", 0.6),  # d = 0.4
        ("abc", "abcdefg", 0.0),  # d = 4/7, over the longer length
        ("", "", 1.0),
        ("", "a", 0.0),  # d = 1
        ("100", "95", 0.95),  # |100 - 95| / 100 = 0.05
        ("100", "91", 0.91),
        ("100", "90", 0.0),  # 0.1 is at the cut
        ("100", "110", 0.0),
        ("-100", "-95", 0.95),
        ("100", "-100", 0.0),  # min(1, 2) = 1
        ("50%", "0.5", 1.0),  # 50% is 0.5
        ("50%", "48%", 0.96),  # 0.02 / 0.5 = 0.04
        ("50%", "50", 0.0),  # 49.5 / 0.5 > 1
        ("0", "0", 1.0),  # a zero target is text: equal
        ("0", "0.0", 0.0),  # ... "0" and "0.0": 2 edits over 3
        ("0.00", "0.0", 0.75),  # ... 1 edit over 4
        ("5", "0", 0.0),  # the target is not zero: |5 - 0| / 5 = 1
        ("100", "100 m", 0.6),  # "100 m" is not a number: 2 edits over 5
        ("nan", "nan", 1.0),  # not a finite number, so text
        ("1e999", "1e999", 1.0),
    ],
)
def test_two_cells(gold, prediction, expected):
    assert compare_values(gold, prediction) == pytest.approx(expected)
    assert compare_pairs([gold], [prediction])[0] == pytest.approx(expected)


def test_numbers():
    assert [parse_number(text) for text in ("12", "12%", "1e2", "x", "", "%", "inf")] == [
        12, 0.12, 100, None, None, None, None,
    ]  # fmt: skip


PLAIN = "entity|born|died\nada|1815|1852\nmary|1797|1851"


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        (PLAIN, PLAIN, (1, 1, 1)),
        # rows and columns in another order
        (PLAIN, "entity|died|born\nmary|1851|1797\nada|1852|1815", (1, 1, 1)),
        # transposed: without transposing, the keys would be "born ada"
        (PLAIN, "entity|ada|mary\nborn|1815|1797\ndied|1852|1851", (1, 1, 1)),
        # case and spaces do not count
        (PLAIN, "Entity | Born | Died \n ADA|1815|1852\nMary|1797|1851", (1, 1, 1)),
        # one of two rows: 2 of 2 predicted, 2 of 4 gold points
        (PLAIN, "entity|born|died\nada|1815|1852", (1, 1 / 2, 2 / 3)),
        # one row too many: 4 of 6, 4 of 4
        (PLAIN, PLAIN + "\nkeynes|1883|1946", (4 / 6, 1, 4 / 5)),
        # key "x a" against "x b": 1 edit over 3, similarity 2/3; the value is equal
        ("entity|a\nx|red", "entity|b\nx|red", (2 / 3, 2 / 3, 2 / 3)),
        # key similarity 2/3 times value similarity 3/4
        ("entity|a\nx|abcd", "entity|b\nx|abcx", (1 / 2, 1 / 2, 1 / 2)),
        # the keys are too far apart: "x a" against "y b", 2 edits over 3; a sum of 0 gives 0, 0, 0
        ("entity|a\nx|1", "entity|b\ny|1", (0, 0, 0)),
        # later duplicates win: {"x a": 2}
        ("entity|a\nx|1\nx|2", "entity|a\nx|2", (1, 1, 1)),
        ("entity|a\nx|1\nx|2", "entity|a\nx|1", (0, 0, 0)),
        # empty sides, and tables that are a header only or one column only
        ("", "", (1, 1, 1)),
        ("", PLAIN, (0, 1, 0)),
        (PLAIN, "", (1, 0, 0)),
        (PLAIN, "entity|born|died", (1, 0, 0)),
        ("entity|born", "entity", (1, 1, 1)),
        (PLAIN, "entity\nada\nmary", (1, 0, 0)),
        # a title is a datapoint: 3 of 3 predicted, 3 of 3 gold; without it 2 of 2 and 2 of 3
        ("title|poets\nentity|a\nx|1\ny|2", "title|poets\nentity|a\nx|1\ny|2", (1, 1, 1)),
        ("title|poets\nentity|a\nx|1\ny|2", "entity|a\nx|1\ny|2", (1, 2 / 3, 4 / 5)),
        # a title is the only datapoint of a table with no row beside its header: 1 of 1, "1975" against none
        ("title|year\njaws|1975", "entity|year\njaws|1975", (0, 0, 0)),
        # a header `title` before a space is a header
        ("title |year\njaws|1975", "title | year\njaws|1975", (1, 1, 1)),
        # a newline at the end ends the last line, and a header alone has no datapoint either way
        ("entity|a\nx|1", "entity|x\na|1\n", (1, 1, 1)),
        (PLAIN, "entity|born|died\n", (1, 0, 0)),
        # ... a second one is an empty row: transposed {"x a": 1, "x ": ""}, 1 of 2 predicted, 1 of 1 gold
        ("entity|a\nx|1", "entity|x\na|1\n\n", (1 / 2, 1, 2 / 3)),
        # ... which has no datapoint without transposing
        ("entity|a\nx|1", "entity|a\nx|1\n\n", (1, 1, 1)),
        # a title counts in both readings: {"title": poets, "x a": 1}
        ("title|poets\nentity|a\nx|1", "title|poets\nentity|x\na|1", (1, 1, 1)),
        # cells beyond the shorter of header and row are dropped
        ("entity|a\nx|1", "entity|a\nx|1|2|3", (1, 1, 1)),
        ("entity|a|b\nx|1", "entity|a\nx|1", (1, 1, 1)),
        # Straight there is no datapoint (1, 0, 0); transposed there is {"b c": ""}, like nothing in gold
        # (0, 0, 0): F1 is equal, so the transposed reading counts.
        ("entity|year\nzzzzz|7", "a|b\nc", (0, 0, 0)),
    ],
)
def test_released(gold, prediction, expected):
    assert released(gold, prediction) == pytest.approx(expected)
    assert compute_plainly(gold, prediction) == pytest.approx(expected)


def test_keys_are_assigned_for_the_least_total_not_one_after_the_other():
    # gold "aba", "ab" and predicted "aba", "ba" (each + " h", d over the longer length):
    # equal keys first would cost 0 + d("ab h", "ba h") = 2/4, not under the cut, so 1;
    # crosswise it costs d("aba h", "ba h") + d("ab h", "aba h") = 1/5 + 1/5, which is less.
    gold, prediction = "e|h\naba|1\nab|1", "e|h\naba|1\nba|1"
    assert released(gold, prediction).f1 == pytest.approx(4 / 5)
    assert compute_plainly(gold, prediction)[2] == pytest.approx(4 / 5)


def test_datapoints_keep_the_first_place_and_the_last_cell():
    table = parse_table("entity|a|b\nx|1|2\ny|3|4\nx|5|6")
    assert list(find_datapoints(table).items()) == [("x a", "5"), ("x b", "6"), ("y a", "3"), ("y b", "4")]


def test_a_list_of_rows_is_as_good_as_text(score):
    rows = [
        {"id": 1, "gold": PLAIN, "prediction": [["entity", "born", "died"], ["Ada", 1815, 1852],
                                                ["Mary", 1797, None]]},
    ]  # fmt: skip
    report = score("rms", rows)
    # 3 of 4 points are equal; null is an empty cell: "" against "1851" is 0
    assert (report["precision"], report["recall"]) == (3 / 4, 3 / 4)


EVITA = [["entity", "duration", "genre"], ["Evita", "129 min", ["biographical film", "musical"]]]
EVITA = [[cell if isinstance(cell, list) else cell.lower() for cell in row] for row in EVITA]


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        # three triplets; text cells are split at commas
        (EVITA, "entity|duration|genre\nEvita|129 min|biographical film, musical", (1, 1, 1)),
        # order within a cell does not count
        (EVITA, "entity|duration|genre\nEvita|129 min|musical, biographical film", (1, 1, 1)),
        # 2 of 2 predicted, 2 of 3 gold triplets
        (EVITA, "entity|duration|genre\nEvita|129 min|musical", (1, 2 / 3, 4 / 5)),
        # a whole cell that equals a gold value is not split
        ([["entity", "town"], ["x", ["paris, texas"]]], "entity|town\nx|Paris, Texas", (1, 1, 1)),
        # ... other cells are: "paris" and "ohio" match nothing ("paris, texas": 7 edits over 12)
        ([["entity", "town"], ["x", ["paris, texas"]]], "entity|town\nx|Paris, Ohio", (0, 0, 0)),
        # a text gold is split as well
        ("entity|a\nx|red, blue", "entity|a\nx|blue", (1, 1 / 2, 2 / 3)),
        # the product of three fields: entity 3/4, relation 3/4, value 0.95
        ("entity|born\nabcd|100", "entity|borx\nabcx|95", (0.534375, 0.534375, 0.534375)),
        # numbers by relative distance in every field: entity 1984 against 1985 is 1 - 1/1984
        ("entity|a\n1984|x", "entity|a\n1985|x", (1983 / 1984,) * 3),
        # Greedy, not optimal: 100-101 (0.99) is taken first; 109-92 is 0. The optimum would be
        # 100-92 (0.92) and 109-101 (0.93).
        ([["entity", "a"], ["x", ["100", "109"]]], "entity|a\nx|101, 92", (0.99 / 2,) * 3),
        # transposed: without transposing, the entity would be "aaaa"
        ("entity|aaaa\nbbbb|1", "entity|bbbb\naaaa|1", (1, 1, 1)),
        (EVITA, "entity|Evita\nduration|129 min\ngenre|musical, biographical film", (1, 1, 1)),
        # ... with equal F1, the better precision counts: without transposing, there is no triplet
        ("entity|a\nx|1", "entity|b\n", (1, 0, 0)),
        # `Title` is a header like any other
        ("entity|year|genre\njaws|1975|thriller", "Title|year|genre\nJaws|1975|thriller", (1, 1, 1)),
        ("title|year\njaws|1975", "Title|Year\nJaws|1975", (1, 1, 1)),
        # empty cells have no triplet; empty sides as in `released`
        ("entity|a|b\nx|1|", "entity|a\nx|1", (1, 1, 1)),
        ("entity|a\nx|", "entity|a", (1, 1, 1)),
        ("entity|a", "entity|a\nx|1", (0, 1, 0)),
        ("entity|a\nx|1", "", (1, 0, 0)),
    ],
)
def test_paper(gold, prediction, expected):
    assert paper(gold, prediction) == pytest.approx(expected)


def test_triplets_are_those_of_the_paper():
    assert list(find_triplets(make_table(EVITA))) == [
        ("evita", "duration", "129 min"),
        ("evita", "genre", "biographical film"),
        ("evita", "genre", "musical"),
    ]


def test_the_corpus_is_an_unweighted_mean_and_a_null_prediction_is_failed(score):
    rows = [
        {"id": "a", "gold": "e|h\nx|1", "prediction": "e|h\nx|1"},  # f1 1
        {"id": "b", "gold": PLAIN, "prediction": "entity|born|died\nada|1815|1852"},  # 1, 1/2, 2/3
        {"id": "c", "gold": PLAIN, "prediction": None},
        {"id": "d", "gold": PLAIN},
    ]
    report = score("rms", rows, rule="all")
    assert (report["n"], report["n_scored"], report["n_failed"]) == (4, 2, 2)
    assert report["released"] == pytest.approx({"precision": 1, "recall": 3 / 4, "f1": 5 / 6})
    assert report["paper"] == pytest.approx({"precision": 1, "recall": 3 / 4, "f1": 5 / 6})
