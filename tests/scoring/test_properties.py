"""Property tests for any input: perfect predictions, names and order of items, order of rows and columns."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.rms_plain import compute_plainly
from tasks.scoring.registry import make_metric
from tasks.scoring.rms_paper import compute_paper
from tasks.scoring.rms_released import compute_released, find_datapoints, score_datapoints
from tasks.scoring.running import Bootstrap, score_file
from tasks.scoring.tables import CellTable, parse_table
from tasks.scoring.toolbench import WITHOUT_JUDGE

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

words = st.text(string.ascii_lowercase, min_size=1, max_size=8)
cells = st.one_of(
    words,
    st.integers(-2000, 2000).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.integers(0, 100).map("{}%".format),
    st.text(st.characters(exclude_characters="|,", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8),
)


@st.composite
def tables(draw, cell=cells, least=0):
    """Draw text tables with up to 4 rows and 4 columns."""
    width = draw(st.integers(max(1, least), 4))
    header = draw(st.lists(words, min_size=width, max_size=width, unique=True))
    names = draw(st.lists(words, min_size=least, max_size=4, unique=True))
    rows = [[name, *draw(st.lists(cell, min_size=width - 1, max_size=width - 1))] for name in names]
    return [header, *rows]


def compute_as_it_stands(gold, prediction):
    """Score a table by the released rule, without transposing it."""
    return score_datapoints(find_datapoints(gold), find_datapoints(prediction))


def write(rows):
    return "\n".join("|".join(row) for row in rows)


@quick
@given(tables())
def test_a_perfect_table_scores_1_under_both_rules(rows):
    table = parse_table(write(rows))
    assert compute_released(table, table) == (1, 1, 1)
    assert compute_paper(table, table) == pytest.approx((1, 1, 1))


@quick
@given(tables(), tables())
def test_the_released_rule_is_its_plain_reading(gold, prediction):
    ours = compute_released(parse_table(write(gold)), parse_table(write(prediction)))
    assert ours == pytest.approx(compute_plainly(write(gold), write(prediction)))


@quick
@given(tables(least=2), tables(least=2), st.randoms(use_true_random=False))
def test_the_papers_rule_knows_no_order_and_no_direction(gold, prediction, dice):
    def shuffle(rows):
        head, *body = rows
        places = [0, *dice.sample(range(1, len(head)), len(head) - 1)]
        return [[row[place] for place in places] for row in (head, *dice.sample(body, len(body)))]

    def score(gold, prediction):
        return compute_paper(parse_table(write(gold)), parse_table(write(prediction)))

    expected = score(gold, prediction)
    assert score(shuffle(gold), shuffle(prediction)) == expected
    turned = [list(row) for row in zip(*shuffle(prediction), strict=True)]
    assert score(gold, turned) == expected
    assert score(gold, [list(row) for row in zip(*shuffle(gold), strict=True)]) == pytest.approx((1, 1, 1))


@quick
@given(tables(), tables())
def test_rates_lie_between_0_and_1_and_f1_between_the_two(gold, prediction):
    for compute in (compute_released, compute_paper):
        rates = compute(parse_table(write(gold)), parse_table(write(prediction)))
        assert all(0 <= rate <= 1 + 1e-12 for rate in rates)
        assert rates.f1 <= max(rates.precision, rates.recall) + 1e-12


@quick
@given(tables(words, least=2), st.data())
def test_permuted_rows_and_columns_score_the_same_where_the_keys_are_gold_ones(rows, data):
    # With gold's keys, the optimum costs nothing and is unique. If transposed, there may be several optima;
    # the order of the rows selects one.
    body = [[name, *(data.draw(words) for _ in rest)] for name, *rest in rows[1:]]
    prediction = [rows[0], *body]
    columns = [0, *data.draw(st.permutations(range(1, len(rows[0]))))]
    permuted = [rows[0], *data.draw(st.permutations(body))]
    permuted = [[row[n] for n in columns] for row in permuted]
    gold = parse_table(write(rows))
    for compute in (compute_as_it_stands, compute_paper):
        straight = compute(gold, parse_table(write(prediction)))
        assert compute(gold, parse_table(write(permuted))) == pytest.approx(straight)


@quick
@given(tables(words, least=2))
def test_a_transposed_table_scores_as_well_under_the_released_rule(rows):
    table = parse_table(write(rows))
    assert compute_released(table, CellTable(table.rows).transpose()) == (1, 1, 1)


keys = st.sampled_from(["d1", "d2", "d3"])
answers = st.text(string.ascii_letters + " .,'", min_size=1, max_size=20)
perfect = {
    "rms": tables().map(lambda rows: {"gold": write(rows), "prediction": write(rows)}),
    "hotpotqa": words.filter(lambda word: word not in ("a", "an", "the")).map(
        lambda word: {"gold": word, "prediction": word}
    ),
    "ddxplus": st.integers(0, 48).map(lambda label: {"gold": label, "prediction": f"{label}. x"}),
    "toolbench": st.dictionaries(words, st.one_of(words, st.integers(), st.booleans(), st.none())).map(
        lambda arguments: {
            "api": min(WITHOUT_JUDGE), "arguments": arguments, "predicted_api": min(WITHOUT_JUDGE),
            "predicted_arguments": json.dumps(arguments), "well_formed": True, "judged": None,
        }
    ),
    "grammar": st.tuples(keys, st.lists(keys, min_size=1)).map(
        lambda pair: {
            "group": pair[0], "judgement": "Correct", "retrieved_document_ids": pair[1],
            "true_document_ids": pair[1],
        }
    ),
}  # fmt: skip
FRACTIONS = {
    "rms": ("precision", "recall", "f1"),
    "hotpotqa": ("em", "f1"),
    "ddxplus": ("accuracy",),
    "toolbench": ("well_formed", "api_match", "accuracy"),
    "grammar": ("accuracy", "robustness", "retrieval_db_accuracy"),
}


def run(path, metric, rows, **options):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return score_file(make_metric(metric, {}), str(path), **options)


@pytest.mark.parametrize("metric", perfect)
@quick
@given(data=st.data())
def test_perfect_predictions_score_1(tmp_path, metric, data):
    rows = [
        {"id": n, **row} for n, row in enumerate(data.draw(st.lists(perfect[metric], min_size=1, max_size=5)))
    ]
    report = run(tmp_path / "items.jsonl", metric, rows)
    assert [report[name] for name in FRACTIONS[metric]] == [1] * len(FRACTIONS[metric])
    assert report["n_scored"] == len(rows)


some = {
    "rms": st.tuples(tables(), tables()).map(
        lambda pair: {"gold": write(pair[0]), "prediction": write(pair[1])}
    ),
    "hotpotqa": st.tuples(answers, st.one_of(answers, st.none())).map(
        lambda pair: {"gold": pair[0], "prediction": pair[1]}
    ),
    "ddxplus": st.tuples(
        st.integers(0, 48), st.one_of(answers, st.none(), st.integers(0, 60).map("{}.".format))
    ).map(
        lambda pair: {"gold": pair[0], "prediction": pair[1]}
    ),
    "grammar": st.tuples(
        keys,
        st.sampled_from(["Correct", "Incorrect", None]),
        st.lists(keys),
        st.one_of(st.none(), st.lists(keys)),
    ).map(
        lambda row: {
            "group": row[0], "judgement": row[1], "retrieved_document_ids": row[2],
            "true_document_ids": row[3],
        }
    ),
    "multiturn": st.lists(st.integers(0, 5), min_size=1, max_size=5).map(lambda scores: {"scores": scores}),
    "correlation": st.tuples(
        st.lists(st.integers(0, 5), min_size=1), st.one_of(st.none(), st.floats(0, 5))
    ).map(
        lambda pair: {"human": pair[0], "judge": pair[1]}
    ),
    "agreement": st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=3).map(
        lambda ratings: {"ratings": ratings}
    ),
}  # fmt: skip


@pytest.mark.parametrize("metric", some)
@quick
@given(data=st.data())
def test_other_ids_and_another_order_of_lines_change_nothing(tmp_path, metric, data):
    rows = data.draw(st.lists(some[metric], min_size=1, max_size=8))
    shuffled = data.draw(st.permutations(rows))
    options = {"rule": "all", "intervals": Bootstrap(draws=40)}
    before = run(tmp_path / "a.jsonl", metric, [{"id": n, **row} for n, row in enumerate(rows)], **options)
    renamed = [{"id": f"item {n}", **row} for n, row in enumerate(shuffled)]
    assert run(tmp_path / "a.jsonl", metric, renamed, **options) == before


@quick
@given(st.lists(some["grammar"], min_size=1, max_size=12), st.booleans())
def test_accuracy_is_robustness_times_the_share_outside_of_gap_groups(tmp_path, rows, closed):
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps({"id": n, **row}) for n, row in enumerate(rows)), encoding="utf-8")
    report = score_file(make_metric("grammar", {"closed": closed}), str(path))
    if report["robustness"] is not None:
        assert report["accuracy"] == pytest.approx(report["robustness"] * (1 - report["lambda"]))
