"""Tests of analysis questions: kinds, expected results, invented rows, and checks of claims."""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from statistics import correlation, fmean, linear_regression
from typing import Any

import pytest

from tasks.longform.build.analyses.frames import read_task
from tasks.longform.build.analyses.kinds import CORRELATED, HALVES, KINDS, PERIODS, SLOPE
from tasks.longform.build.analyses.plans import Tally, plan_analyses
from tasks.longform.build.analyses.queries import read_analysis, write_analysis
from tasks.longform.build.analyses.steering import find_mentions
from tasks.longform.build.designs import FigureDesign
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.findings.answers import say_found
from tasks.longform.build.findings.prose import check_sentence
from tasks.longform.build.foci import Focus, FocusMeasure
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.entries import SourceDatabase
from tasks.longform.publish.contracts import find_unborne
from tasks.models.ask import Unparsed
from tests.longform.analysed import Analysed, find_unborne_claims
from tests.longform.scripted_analyst import HOSTILE, INJECTION, MALFORMED
from tests.longform.sources import write_sources

ARENA = """
CREATE TABLE stadium (stadium_id INTEGER PRIMARY KEY, name TEXT, city TEXT, capacity INTEGER, stands INTEGER);
CREATE TABLE concert (
    concert_id INTEGER PRIMARY KEY, theme TEXT, genre TEXT, year INTEGER, price REAL, visitors INTEGER,
    stadium_id INTEGER REFERENCES stadium (stadium_id)
);
CREATE TABLE ticket_office (office_id INTEGER PRIMARY KEY, street TEXT);
INSERT INTO stadium VALUES (1, 'Balmoor', 'Peterhead', NULL, NULL), (2, 'Glebe Park', 'Brechin', NULL, NULL);
INSERT INTO concert VALUES (1, 'Free', 'rock', 2014, 3.5, 100, 1), (2, 'Wide', 'jazz', 2015, 4.0, 90, 2);
"""
ROWLESS = """
CREATE TABLE flights (flight_id INTEGER PRIMARY KEY, distance INTEGER, price REAL, departure_date DATE);
"""
ASKED = {
    "arena": [
        "What is the average capacity of the stadiums?",
        "How many concerts were there in each year?",
        "Which genre of concerts has the highest price?",
        "Show the visitors and the price of all concerts.",
    ],
    "rowless": [],
}
DISTANCE, PRICE, YEAR = "flights.distance", "flights.price", "flights.departure_date"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifacts of two databases: one with two rows and its own questions, one without."""
    folder = tmp_path_factory.mktemp("analyses")
    for name, script in {"arena": ARENA, "rowless": ROWLESS}.items():
        file = folder / f"{name}.sqlite"
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(script)
        write_sources(SourceDatabase(file=file, questions=folder / f"{name}.json"), folder / "sources")
        seeds = folder / "sources" / name / "seeds.json"
        seeds.write_text(json.dumps(ASKED[name]))
    return folder / "sources"


def test_two_rows_or_none_are_enough_and_kinds_and_readings_take_turns(sources: Path) -> None:
    known, tally = SourceArtifacts(sources), Tally(0.5)
    plans = plan_analyses(known, "arena", 12, 0, tally)
    assert Counter(plan.design for plan in plans) == dict.fromkeys(KINDS, 2)
    assert sum(plan.chosen.quality is not None for plan in plans) == 6
    assert all(len(plan.chosen.figures) > 1 for plan in plans)
    rowless = plan_analyses(known, "rowless", 3, 0, Tally(0))
    assert {plan.design for plan in rowless} == {"correlation", "relationship", "trend"}


def test_what_a_question_names_is_what_the_plan_is_about(sources: Path) -> None:
    known = SourceArtifacts(sources)
    columns = known.read("arena")
    assert find_mentions(ASKED["arena"][0], columns) == {"stadium", "stadium.capacity"}
    for plan in plan_analyses(known, "arena", 12, 0, Tally(0.5)):
        assert plan.seed in ASKED["arena"]
        about = {plan.focus.table, plan.focus.group, *(measure.column for measure in plan.focus.measures)}
        assert about & find_mentions(plan.seed, columns)
    made = plan_analyses(known, "rowless", 3, 0, Tally(0))
    assert all("flights" in plan.seed and find_mentions(plan.seed, known.read("rowless")) for plan in made)


def err(prompt: str, row: str, sample: int) -> str:
    """Return an error for every sixth question by id, once or always."""
    place = int(row[:6], 16) % 6
    always = {
        ("construct", 0): "wrong rows",
        ("construct", 1): HOSTILE,
        ("conclude", 2): INJECTION,
        ("control", 5): "Which?",
    }
    once = {("construct", 3): MALFORMED, ("construct", 4): "wrong rows", ("control", 4): "Which?"}
    return always.get((prompt, place), "") or (once.get((prompt, place), "") if sample == 0 else "")


SET = 8
"""Number of questions requested for each of the two databases."""


@pytest.fixture(scope="module")
def analysed(sources: Path) -> Analysed:
    """A question set on both databases, by a model that errs."""
    return Analysed(sources, ["arena", "rowless"], SET, err, unknown=0.2)


def test_the_model_is_shown_the_steering_question_and_all_tables(analysed: Analysed) -> None:
    for question in analysed.questions:
        first, *more = analysed.list_asked("control_question", question.id)
        assert f"Somebody asked this database: {question.seed}" in first.text
        tables = {"arena": "ticket_office: office_id, street", "rowless": "flights: "}[question.database]
        assert tables in first.text
        assert len(more) == (int(question.id[:6], 16) % 6 == 4)
        assert all("An earlier try was refused" in asked.text for asked in more)
    lost = analysed.dropped["control", "uncontrolled"] + analysed.dropped["control", "no_plan"]
    assert len(analysed.questions) == 2 * SET - lost


def test_errors_go_back_and_what_does_not_mend_is_dropped_by_name(analysed: Analysed) -> None:
    places = Counter(int(question.id[:6], 16) % 6 for question in analysed.questions)
    silent = {guess.id for guess in analysed.guesses if "unknown" in guess.expected}
    wrong = [question.id for question in analysed.questions if int(question.id[:6], 16) % 6 == 0]
    told = sum(row in silent for row in wrong)
    due = {("construct", "refused"): places[1], ("construct", "not_borne_out"): len(wrong) - told,
           ("construct", "told"): told}  # fmt: skip
    counted = {key: count for key, count in analysed.dropped.items() if key[0] == "construct"}
    assert counted == {key: count for key, count in due.items() if count}
    rounds = {row.id: row.rounds for row in analysed.made}
    for row, count in rounds.items():
        assert count == (2 if int(row[:6], 16) % 6 in (3, 4) else 1)
        if count == 2:
            asked = analysed.list_asked("construct_invented", row)
            assert "Your last statements were refused" in asked[1].text
    assert not any("Ignore what you were told" in answer.text for answer in analysed.answers)
    assert len(analysed.items) == len(analysed.questions) - places[0] - places[1]


def test_every_claim_is_what_its_query_finds_and_the_reference_says_no_more(analysed: Analysed) -> None:
    assert analysed.items
    for item in analysed.items:
        assert len(item.claims) > 1
        assert find_unborne_claims(item) == []
        assert find_unborne(asdict(item), analysed.find(item)) == ""


def test_the_rows_of_an_unknown_answer_do_not_tell(analysed: Analysed) -> None:
    drawn = [guess for guess in analysed.guesses if "unknown" in guess.expected]
    assert len(drawn) == round(0.2 * len(analysed.guesses))
    assert not any(analysed.list_asked("conjecture", guess.id) for guess in drawn)
    unknown = [item for item in analysed.items if item.reference.startswith("Unknown")]
    assert unknown
    assert {item.id for item in unknown} <= {guess.id for guess in drawn}
    for item in unknown:
        assert item.kind == "conclusive"
        assert all(" 0 " in claim.text or " 1 " in claim.text for claim in item.claims)


def test_all_tables_of_the_source_are_created(analysed: Analysed) -> None:
    for item in analysed.items:
        tables = {"arena": ("stadium", "concert", "ticket_office"), "rowless": ("flights",)}[item.database]
        assert all(f"CREATE TABLE {table}" in item.script for table in tables)


def make_focus() -> Focus:
    """Return a focus on the flights' distance, price and date."""
    measures = tuple(
        FocusMeasure(column, name, "", f"have a higher {name}", "", 3)
        for column, name in ((DISTANCE, "distance"), (PRICE, "price"), (YEAR, "departure date"))
    )
    return Focus("f", "flights", "flights", measures, (), "", "", "{}", (), "flights", ("flights",), ())


def find_figure(design: FigureDesign, rows: Sequence[tuple[Any, ...]]) -> FoundFigure:
    """Run the query of a figure on (distance, price, date) rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE flights (distance INTEGER, price REAL, departure_date TEXT)")
        connection.executemany("INSERT INTO flights VALUES (?, ?, ?)", rows)
        sql = write_analysis(make_focus(), (), design, 3)
        cursor = connection.execute(sql)
        columns = tuple(name for name, *_ in cursor.description)
        found = [tuple(row) for row in cursor.fetchall()]
    return FoundFigure(design, sql, columns, tuple(found), *read_analysis(design.kind, found))


def draw_rows(dice: random.Random) -> list[tuple[Any, ...]]:
    return [
        (dice.randrange(1, 999), round(dice.uniform(1, 500), 2), f"{dice.randrange(1980, 2020)}-05-17")
        for _ in range(30)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_correlation_and_slope_are_those_of_the_statistics_module(seed: int) -> None:
    rows = draw_rows(random.Random(seed))
    distances, prices = [row[0] for row in rows], [row[1] for row in rows]
    years = [int(row[2][:4]) for row in rows]
    empty = [(None, 5.0, "1900-01-01"), (7, None, None)]
    found = find_figure(FigureDesign(CORRELATED, PRICE, DISTANCE), rows + empty)
    assert found.values["value"] == pytest.approx(correlation(distances, prices), abs=0.0051)
    assert (found.counts["value"], found.totals["value"]) == (30, 32)
    found = find_figure(FigureDesign(SLOPE, PRICE, YEAR), rows)
    slope = linear_regression(years, prices).slope
    assert found.values["value"] == pytest.approx(slope, abs=0.0001)
    change = slope * (max(years) - min(years)) / fmean(prices)
    assert found.values["change"] == pytest.approx(change, abs=0.0051)


def test_halves_and_periods_are_means_on_either_side_of_a_border() -> None:
    days = [f"{year}-01-01" for year in (2000, 2001, 2009, 2010)]
    rows = list(zip((10, 20, 60, 70), (1.0, 2.0, 9.0, 4.0), days, strict=True))
    halves = find_figure(FigureDesign(HALVES, PRICE, DISTANCE), rows)  # the mean distance is 40
    assert (halves.values["above"], halves.values["below"], halves.values["border"]) == (6.5, 1.5, 40)
    assert halves.ahead == "above"
    periods = find_figure(FigureDesign(PERIODS, PRICE, YEAR), rows)  # 2005 lies in the middle
    assert (periods.values["later"], periods.values["earlier"], periods.values["border"]) == (6.5, 1.5, 2005)


@pytest.mark.parametrize(
    ("prices", "outcome"),
    [
        ((1, 2, 3, 4), "positive"),
        ((4, 3, 2, 1), "negative"),
        ((5, 1, 5, 1.5), "negative"),
        ((1, 5, 5, 1), "weak"),
        ((3, 3, 3, 3), ""),
    ],
)
def test_a_correlation_comes_to_its_sign_and_size(prices: Sequence[float], outcome: str) -> None:
    rows = [(10 * place, price, None) for place, price in enumerate(prices)]
    assert find_figure(FigureDesign(CORRELATED, PRICE, DISTANCE), rows).ahead == outcome


def check(sentence: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Check a sentence written by a model against the correlation of rows."""
    question: Any = type("Question", (), {"focus": make_focus(), "groups": ()})()
    found = find_figure(FigureDesign(CORRELATED, PRICE, DISTANCE), rows)
    check_sentence(sentence, [found], [say_found(found, question)], question)


RISING = [(10, 1.0, None), (20, 2.0, None), (30, 2.5, None), (40, 5.0, None)]


@pytest.mark.parametrize(
    ("sentence", "taken"),
    [
        ("The price and the distance are positively correlated, at 0.95.", True),
        ("This is what the records hold.", True),
        ("The price and the distance are negatively correlated, at 0.95.", False),
        ("The price and the distance are positively correlated, at 0.94.", False),
        ("The price rises and falls with the distance.", False),
        ("Long flights have the highest price.", False),
    ],
)
def test_a_sentence_of_the_models_own_goes_the_right_way_with_the_figures_numbers(
    sentence: str, taken: bool
) -> None:
    if taken:
        check(sentence, RISING)
        return
    with pytest.raises(Unparsed):
        check(sentence, RISING)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Analyze the relationship between the age and the pay of teachers.", True),
        ("Is there a correlation between the age and the pay of teachers?", True),
        ("There is a correlation between the age and the pay of teachers.", False),
        ("Analyze the age of teachers. Then analyze their pay as well.", False),
        ("Analyze the age of teachers by SELECT age FROM teacher.", False),
    ],
)
def test_a_question_may_be_put_as_a_task(text: str, taken: bool) -> None:
    if taken:
        assert read_task(text, 6, 40) == text
        return
    with pytest.raises(Unparsed):
        read_task(text, 6, 40)
