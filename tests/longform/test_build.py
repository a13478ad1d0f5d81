"""Tests of building a question set, from the stage `control` to the items."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import make_id
from tasks.errors import BadInput, StageFailed
from tasks.judging.decisions import Decision, digest_row, name_decisions, write_decisions
from tasks.longform.build.answers import conclude_figures, say_figure
from tasks.longform.build.classify import classify
from tasks.longform.build.conclude import Conclude, conclude
from tasks.longform.build.condense import Condense, CondensedQuestion, condense
from tasks.longform.build.confirm import Confirm, ConfirmedQuestion, confirm
from tasks.longform.build.conjecture import Conjecture, conjecture, list_choices
from tasks.longform.build.construct import Construct, SyntheticDatabase, add_tables, construct
from tasks.longform.build.control import Control, ControlledQuestion, control, round_amount
from tasks.longform.build.designs import DESIGNS, MOST, OPEN, TYPICAL, WITHIN
from tasks.longform.build.evidence import read_script
from tasks.longform.build.foci import Foci, Focus, count_digits, foci
from tasks.longform.build.items import LongformItem, items
from tasks.longform.build.schemas import SourceArtifacts
from tasks.longform.build.seeds import seeds
from tasks.longform.build.source_rows import WholeRow, source_rows
from tasks.longform.build.statement import state_figures
from tasks.longform.entries import LongformSet, MeasureWords, SourceDatabase
from tasks.longform.publish.contracts import find_unborne
from tasks.longform.solve.describe_database import read_script as read_database_script
from tasks.models.ask import Unparsed
from tests.longform.by_grammar import write_by_grammar
from tests.longform.scripted_judges import Asked, ScriptedJudges
from tests.longform.sources import GUESSED, SET, read_source, reply, write_questions, write_sources

SOURCE = """
CREATE TABLE countries (country_code TEXT PRIMARY KEY NOT NULL, country_name TEXT NOT NULL);
CREATE TABLE breeders (
    breeder_id INTEGER PRIMARY KEY, breeder_name TEXT NOT NULL,
    country_code TEXT NOT NULL REFERENCES countries (country_code)
);
CREATE TABLE clubs (club_id INTEGER PRIMARY KEY, club_name TEXT NOT NULL);
CREATE TABLE dogs (
    dog_id INTEGER PRIMARY KEY, dog_name TEXT NOT NULL, weight_kg REAL, litters INTEGER, birth_year INTEGER,
    breeder_id INTEGER NOT NULL REFERENCES breeders (breeder_id)
);
CREATE TABLE dog_clubs (
    dog_id INTEGER NOT NULL REFERENCES dogs (dog_id), club_id INTEGER NOT NULL REFERENCES clubs (club_id),
    PRIMARY KEY (dog_id, club_id)
);
INSERT INTO countries VALUES ('NO', 'Norway'), ('SE', 'Sweden');
INSERT INTO breeders VALUES (1, 'Alder', 'NO'), (2, 'Birk', 'SE'), (3, 'Cedar', 'NO'), (4, 'Dorn', 'SE');
INSERT INTO clubs VALUES (1, 'Agility'), (2, 'Rescue'), (3, 'Herding');
"""
ENTRY = {
    "groups": {"dogs.breeder": "bred by {}", "dogs.club": "of the club {}"},
    "measures": {"dogs.weight_kg": {"more": "weigh more"}, "dogs.litters": {"name": "litters"}},
    "qualities": {"are more successful": ["dogs.litters", "-dogs.weight_kg"]},
}
DOGS = 120


@pytest.fixture
def kennel(tmp_path: Path) -> SourceDatabase:
    """A database of dogs, with breeders by a foreign key, and clubs by a link table."""
    file = tmp_path / "kennel.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SOURCE)
        for number in range(1, DOGS + 1):
            weight = None if number % 10 == 0 else 10 + number * 37 % 50 / 2
            row = (number, f"Dog {number}", weight, number * 11 % 13, 2000 + number % 9, 1 + number % 4)
            connection.execute("INSERT INTO dogs VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute("INSERT INTO dog_clubs VALUES (?, ?)", (number, 1 + number // 3 % 3))
        connection.commit()
    return SourceDatabase.model_validate({"file": file, "questions": file.with_name("asked.json"), **ENTRY})


@pytest.fixture
def sources(kennel: SourceDatabase, tmp_path: Path) -> Path:
    """The artifacts of the database, in the format of the first four stages."""
    return write_sources(kennel, tmp_path / "sources")


class Built:
    """The stages' results for a set of questions."""

    def __init__(self, sources: Path, reply: Callable[[Asked], str], params: Construct | None = None) -> None:
        self.ask = ScriptedJudges(reply)
        self.questions = write_questions(sources, self.ask)
        self.short = list(asyncio.run(condense(self.questions, Condense(), self.ask)).rows)
        passed = confirm(self.short, self.questions, sources, sources, "k", Confirm(), self.ask)
        self.confirmed: list[ConfirmedQuestion] = list(asyncio.run(passed).rows)
        guessed = conjecture(self.confirmed, self.questions, sources, SET, GUESSED, self.ask)
        self.guesses: list[Conjecture] = list(asyncio.run(guessed).rows)
        made = construct(
            self.confirmed, self.questions, self.guesses, sources, params or Construct(), self.ask
        )
        self.construct = asyncio.run(made)
        self.made: list[SyntheticDatabase] = list(self.construct.rows)
        concluded = conclude(self.made, self.confirmed, self.questions, Conclude(), self.ask)
        self.answers = list(asyncio.run(concluded).rows)
        self.kinds = list(asyncio.run(classify(self.answers, self.confirmed, self.ask)).rows)

    def items(self) -> list[LongformItem]:
        return list(items(self.questions, self.confirmed, self.made, self.answers, self.kinds).rows)

    def list_rows(self) -> dict[str, Sequence[Any]]:
        return {
            "control": self.questions, "condense": self.short, "confirm": self.confirmed,
            "conjecture": self.guesses, "construct": self.made, "conclude": self.answers,
            "classify": self.kinds,
        }  # fmt: skip

    def walk_back(self, item: LongformItem) -> tuple[set[str], set[str]]:
        """Follow origins from an item to the end; return the rows and calls."""
        known = {f"{stage}#{row.id}": row.origin for stage, rows in self.list_rows().items() for row in rows}
        rows: set[str] = set()
        calls: set[str] = set()
        ahead = list(item.origin)
        while ahead:
            origin = ahead.pop()
            (rows if origin.kind == "row" else calls).add(origin.reference)
            ahead += known.get(origin.reference, ())
        return rows, calls

    def find(self, design: str) -> ControlledQuestion:
        return next(question for question in self.questions if question.design == design)


def test_amounts_are_compared_by_groups_and_years_are_not(sources: Path) -> None:
    questions = write_questions(sources, ScriptedJudges(reply))
    measures = {figure.measure for question in questions for figure in question.figures}
    assert measures == {"dogs.litters", "dogs.weight_kg"}
    groups = {question.focus.group for question in questions}
    assert groups == {"breeders.breeder_name", "clubs.club_name", "countries.country_name"} & groups
    assert {"breeders.breeder_name", "clubs.club_name"} <= groups


def test_every_design_is_asked_and_every_third_question_is_open(sources: Path) -> None:
    questions = write_questions(sources, ScriptedJudges(reply))
    assert {question.design for question in questions} == set(DESIGNS)
    assert sum(question.design == OPEN for question in questions) == 3
    assert all((question.quality is not None) == (question.design == OPEN) for question in questions)
    for question in questions:
        assert len(question.figures) >= 2
        assert question.decoy not in question.groups


def test_a_database_with_too_little_to_ask_says_how_much_is_missing(sources: Path) -> None:
    entry = LongformSet(databases=("kennel",), questions=500)
    drafts = asyncio.run(control(sources, entry, Control(), ScriptedJudges(reply)))
    assert len(drafts.rows) + len(drafts.dropped) == 500
    assert {row.reason for row in drafts.dropped} == {"no_plan"}
    assert f"for {len(drafts.rows)} questions of 500" in drafts.dropped[0].detail


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"groups": {"dogs.owner": "owned by {}"}}, "groups: dogs.owner: is not in the database"),
        ({"measures": {"dogs.height_cm": {}}}, "measures: dogs.height_cm: is not in the database"),
        ({"qualities": {"are fitter": ["-dogs.height_cm"]}}, "qualities: dogs.height_cm: is not in"),
    ],
)
def test_words_for_what_is_not_there_are_refused(
    kennel: SourceDatabase, given: dict[str, object], problem: str
) -> None:
    entry = SourceDatabase.model_validate({"file": kennel.file, "questions": kennel.questions, **given})
    with pytest.raises(BadInput, match=problem):
        foci(entry, read_source(entry), Foci())


def test_a_relation_says_where_the_value_goes(kennel: SourceDatabase) -> None:
    with pytest.raises(ValidationError, match=r"must have one \{\} where the value goes"):
        SourceDatabase(file=kennel.file, questions=kennel.questions, groups={"dogs.breeder": "bred by"})


def test_groups_and_measures_can_be_left_out(kennel: SourceDatabase) -> None:
    measures = {"dogs.litters": None, "dogs.weight_kg": MeasureWords()}
    entry = SourceDatabase(
        file=kennel.file, questions=kennel.questions, groups={"dogs.club": ""}, measures=measures
    )
    found = foci(entry, read_source(entry), Foci()).rows
    assert "club" not in {focus.group_words for focus in found}
    assert {measure.name for focus in found for measure in focus.measures} == {"weight"}
    assert {focus.relation for focus in found if focus.group_words == "breeder"} == {"whose breeder is {}"}


def test_where_there_is_nothing_to_ask_every_question_says_so(kennel: SourceDatabase, sources: Path) -> None:
    found = foci(kennel, read_source(kennel), Foci(least=1000)).rows
    write_rows(sources / "kennel" / "foci.parquet", Focus, found)
    entry = LongformSet(databases=("kennel",), questions=2)
    drafts = asyncio.run(control(sources, entry, Control(), ScriptedJudges(reply)))
    assert not drafts.rows
    assert [row.reason for row in drafts.dropped] == ["no_plan", "no_plan"]
    assert "kennel has groups and measures for 0 questions of 2" in drafts.dropped[0].detail


def test_a_question_that_names_too_little_is_asked_for_again_and_then_dropped(sources: Path) -> None:
    ask = ScriptedJudges(
        lambda asked: "Which of the many dogs that are known here is the very best of them all?"
    )
    drafts = asyncio.run(
        control(sources, LongformSet(databases=("kennel",), questions=1), Control(rounds=3), ask)
    )
    assert not drafts.rows
    assert [row.reason for row in drafts.dropped] == ["uncontrolled"]
    assert "it does not name" in drafts.dropped[0].detail
    assert len(ask.asked) == 3
    assert "it does not name" in ask.asked[1].text


def test_a_database_s_own_questions_are_shown_to_the_model(sources: Path) -> None:
    ask = ScriptedJudges(reply)
    questions = write_questions(sources, ask, 2)
    assert {question.seed for question in questions} == {"Which dogs are heavy?"}
    assert all("how people ask this database: Which dogs are heavy?" in asked.text for asked in ask.asked)


@pytest.mark.parametrize("text", ['{"a": 1}', "[1]", "[", "[" * 100_000])
def test_a_file_of_questions_that_is_none_is_named(kennel: SourceDatabase, text: str) -> None:
    kennel.questions.write_text(text)
    with pytest.raises(BadInput, match=r"asked\.json"):
        seeds(kennel, kennel.file.with_name("seeds.json"))


def test_an_unknown_database_is_named(sources: Path) -> None:
    with pytest.raises(BadInput, match="cattery"):
        asyncio.run(control(sources, LongformSet(databases=("cattery",)), Control(), ScriptedJudges(reply)))


def test_every_question_is_traceable_through_all_stages(sources: Path) -> None:
    built = Built(sources, reply)
    found = built.items()
    assert {item.id for item in found} == {question.id for question in built.questions}
    assert {item.kind for item in found} == {"conclusive", "interpretive"}
    assert {item.confirmed_by for item in found} == {"model"}
    assert {answer.by for answer in built.answers} == {"model"}
    figures = {question.id: len(question.figures) for question in built.questions}
    for item in found:
        rows, made_by = built.walk_back(item)
        focus = next(question.focus.id for question in built.questions if question.id == item.id)
        assert rows == {*(f"{stage}#{item.id}" for stage in built.list_rows()), f"kennel/foci#{focus}"}
        asked = [asked for asked in built.ask.asked if asked.row == item.id]
        assert made_by == {make_id(request.prompt, request.text, request.sample) for request in asked}
        assert len(made_by) >= 6
        assert len(item.claims) == figures[item.id]
        for claim in item.claims:
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.executescript(item.script)
                assert [list(row) for row in connection.execute(claim.sql)] == json.loads(claim.rows)
                assert not connection.execute("PRAGMA foreign_key_check").fetchall()


def test_rows_are_whole_rows_of_the_source_and_none_comes_twice(
    sources: Path, kennel: SourceDatabase
) -> None:
    built = Built(sources, reply)
    with closing(sqlite3.connect(kennel.file)) as connection:
        known = set(connection.execute("SELECT dog_name, weight_kg, litters, breeder_id FROM dogs"))
    for made in built.made:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(made.script)
            rows = connection.execute("SELECT dog_name, weight_kg, litters, breeder_id FROM dogs").fetchall()
        assert len(rows) == len(set(rows)) >= 7
        assert set(rows) <= known


def test_groups_differ_in_size_and_a_further_group_stands_beside_them(sources: Path) -> None:
    built = Built(sources, reply)
    for question, made in zip(built.questions, built.made, strict=True):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(made.script)
            rows = connection.execute(
                f"SELECT {question.focus.group}, COUNT(*) FROM {question.focus.source} GROUP BY 1"
            ).fetchall()
        counts = dict(rows)
        sizes = [6, 4] if question.design == WITHIN else [5, 3, 4][: len(question.groups)]
        assert [counts[name] for name in question.groups] == sizes
        assert set(counts) == {*question.groups, *filter(None, [question.decoy])}


def compute(made: SyntheticDatabase, question: ControlledQuestion) -> dict[str, list[tuple[float, int]]]:
    """Return group -> (weight, litters) of dogs that have both values, in plain Python."""
    rows: dict[str, list[tuple[float, int]]] = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(made.script)
        for name, weight, litters in connection.execute(
            f"SELECT {question.focus.group}, weight_kg, litters FROM {question.focus.source}"
        ):
            rows.setdefault(name, []).append((weight, litters))
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_every_figure_equals_a_plain_computation(sources: Path, tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    built = Built(
        sources,
        lambda asked: (
            reply(asked) if asked.prompt in ("confirm", "classify") else write_by_grammar(asked.grammar, dice)
        ),
    )
    checked = set()
    for question, made in zip(built.questions, built.made, strict=True):
        rows = compute(made, question)
        for found in read_script(made.script, question):
            place = ("dogs.weight_kg", "dogs.litters").index(found.design.measure)
            over = ("dogs.weight_kg", "dogs.litters").index(found.design.over) if found.design.over else None
            amounts = {
                name: [
                    float(dog[place])
                    for dog in dogs
                    if dog[place] is not None
                    and (over is None or (dog[over] is not None and dog[over] > found.design.threshold))
                ]
                for name, dogs in rows.items()
            }
            checked.add(found.design.kind)
            if found.design.kind == "share":
                one, other = question.groups
                above = [amount for amount in amounts[one] if amount > fmean(amounts[other])]
                assert found.values[one] == pytest.approx(len(above) / len(amounts[one]))
                continue
            for name in question.groups:
                statistic = {"mean": fmean, "median": median, "highest": max}[found.design.kind]
                assert found.values[name] == pytest.approx(statistic(amounts[name]), abs=0.051)
                assert found.counts[name] == len(amounts[name])
    assert checked == {"mean", "median", "highest", "share"}


def answer_to(question: ControlledQuestion, script: str) -> str:
    figures = read_script(script, question)
    return " ".join(
        [conclude_figures(figures, question)[0], *(say_figure(figure, question)[0] for figure in figures)]
    )


def write_dogs(question: ControlledQuestion, weights: dict[str, list[float]]) -> str:
    """Return a script for a database in which each group's dogs have these weights, and 3 litters each."""
    lines = [
        "CREATE TABLE breeders (breeder_id INTEGER PRIMARY KEY, breeder_name TEXT);",
        "CREATE TABLE dogs "
        "(dog_id INTEGER PRIMARY KEY, weight_kg REAL, litters INTEGER, breeder_id INTEGER);",
    ]
    for number, (name, dogs) in enumerate(weights.items()):
        lines.append(f"INSERT INTO breeders VALUES ({number}, '{name}');")
        lines += [f"INSERT INTO dogs VALUES (NULL, {weight}, 3, {number});" for weight in dogs]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        ([[30, 32], [20, 22]], "Yes, by both."),
        ([[20, 22], [30, 32]], "No, by neither."),
        ([[10, 10, 90], [20, 22, 24]], "No: on average they do, by the median they do not."),
        ([[30, 31, 1], [20, 25, 50]], "No: by the median they do, on average they do not."),
        ([[20, 22], [20, 22]], "No, by neither."),
    ],
)
def test_the_answer_follows_from_the_rows(sources: Path, weights: list[list[float]], answer: str) -> None:
    question = breed(sources, TYPICAL)
    assert answer_to(question, write_dogs(question, dict(zip("AB", weights, strict=True)))).startswith(answer)


def breed(sources: Path, design: str) -> ControlledQuestion:
    """Return a question with a design about the weights of the breeders A and B."""
    questions = write_questions(sources, ScriptedJudges(reply))
    question = next(question for question in questions if question.design == design)
    focus = next(question.focus for question in questions if question.focus.group == "breeders.breeder_name")
    figures = tuple(replace(figure, measure="dogs.weight_kg") for figure in question.figures)
    return replace(question, focus=focus, groups=("A", "B"), figures=figures)


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        ([[30, 32, 1], [19, 22]], "Yes, most of them do. The average weight is 21 kilograms for"),
        ([[30, 1], [20, 22]], "No, not most of them."),
    ],
)
def test_most_means_more_than_half(sources: Path, weights: list[list[float]], answer: str) -> None:
    question = breed(sources, MOST)
    script = write_dogs(question, dict(zip("AB", weights, strict=True)))
    assert answer_to(question, script).startswith(answer)


def test_a_group_within_a_threshold_needs_rows_above_it(sources: Path) -> None:
    built = Built(sources, reply)
    question = built.find(WITHIN)
    made = next(row for row in built.made if row.id == question.id)
    threshold = question.figures[1].threshold
    assert f"{threshold:g}" in question.text
    _, within = read_script(made.script, question)
    assert all(within.counts[name] >= 2 for name in question.groups)


GOOD = """Here they are:
```sql
INSERT INTO countries VALUES ('NO', 'Norway');
INSERT INTO breeders (breeder_id, breeder_name, country_code) VALUES (1, '{0}', 'NO'), (2, '{1}', 'NO');
INSERT INTO dogs (dog_id, dog_name, weight_kg, litters, breeder_id) VALUES
  (1, 'Rex', 30.5, 1, 1), (2, 'Ada', 20, 4, 2), (3, 'Bo', 31.5, 2, 1), (4, 'Cleo', 22, 5, 2);
```"""


def confirm_one(sources: Path) -> tuple[ControlledQuestion, list[ConfirmedQuestion]]:
    """Confirm a definite question about two breeders; return the question and its confirmation."""
    questions = write_questions(sources, ScriptedJudges(reply), 60)
    question = next(
        question
        for question in questions
        if question.focus.group == "breeders.breeder_name" and question.design == TYPICAL
    )
    return question, [ConfirmedQuestion(question.id, question.text, "model", ())]


def test_statements_that_do_not_run_go_back_with_what_was_wrong(sources: Path) -> None:
    question, confirmed = confirm_one(sources)
    good = GOOD.format(*question.groups)
    replies = iter(["DROP TABLE dogs;", good.replace("(2, '", "(3, '"), good])
    ask = ScriptedJudges(lambda asked: next(replies) if asked.prompt == "construct" else reply(asked))
    guesses = list(asyncio.run(conjecture(confirmed, [question], sources, SET, GUESSED, ask)).rows)
    (made,) = asyncio.run(construct(confirmed, [question], guesses, sources, Construct(), ask)).rows
    asked = [request.text for request in ask.asked if request.prompt == "construct"]
    assert made.rounds == len(asked) == 3
    assert "DROP TABLE dogs" in asked[1]
    assert "breeder_id" in asked[2]
    assert "DROP" not in made.script


def test_rows_without_one_of_the_groups_go_back(sources: Path) -> None:
    question, confirmed = confirm_one(sources)
    lost = GOOD.format(question.groups[0], "Nobody")
    ask = ScriptedJudges(lambda asked: lost if asked.prompt == "construct" else reply(asked))
    guesses = list(asyncio.run(conjecture(confirmed, [question], sources, SET, GUESSED, ask)).rows)
    drafts = asyncio.run(construct(confirmed, [question], guesses, sources, Construct(), ask))
    assert [row.reason for row in drafts.dropped] == ["nothing_to_compare"]
    assert f"dogs bred by {question.groups[1]}: no row has a known" in drafts.dropped[0].detail


def test_rows_must_bear_the_conjecture_out_where_that_is_wished(sources: Path) -> None:
    question, confirmed = confirm_one(sources)
    first, second = question.groups
    guess = Conjecture(question.id, "A guess.", (second, second), ())
    weight = question.figures[0].measure == "dogs.weight_kg"
    good = GOOD.format(first, second) if weight else GOOD.format(second, first)
    ask = ScriptedJudges(lambda asked: good)
    (kept,) = asyncio.run(construct(confirmed, [question], [guess], sources, Construct(), ask)).rows
    assert kept.borne_out == (False, False)
    strict = asyncio.run(construct(confirmed, [question], [guess], sources, Construct(borne_out=True), ask))
    assert [row.reason for row in strict.dropped] == ["not_borne_out"]
    assert f"must be {second}, but the rows show {first}" in strict.dropped[0].detail


def test_further_tables_are_the_nearest_by_keys(sources: Path) -> None:
    columns = [row.column for row in SourceArtifacts(sources).read("kennel").values()]
    needed = ["countries", "breeders"]
    assert add_tables(needed, columns, 0) == add_tables(needed, columns, 2) == needed
    assert add_tables(needed, columns, 3) == [*needed, "dogs"]
    assert add_tables(needed, columns, None) == [*needed, "dogs", "dog_clubs", "clubs"]
    assert (
        add_tables(["clubs"], [column for column in columns if column.table != "dog_clubs"], 2)[0] == "clubs"
    )


def test_further_tables_of_the_source_are_created_without_rows(sources: Path) -> None:
    question, confirmed = confirm_one(sources)
    good = GOOD.format(*question.groups)
    asked, made = [], []
    for tables in (0, None):
        ask = ScriptedJudges(lambda asked: good if asked.prompt == "construct" else reply(asked))
        guesses = list(asyncio.run(conjecture(confirmed, [question], sources, SET, GUESSED, ask)).rows)
        params = Construct(tables=tables)
        (row,) = asyncio.run(construct(confirmed, [question], guesses, sources, params, ask)).rows
        made.append(row)
        asked += [request.text for request in ask.asked if request.prompt == "construct"]
    assert [row.tables for row in made] == [3, 5]
    assert len({row.rows for row in made}) == 1
    assert read_script(made[-1].script, question) == read_script(made[0].script, question)
    shown = read_database_script(made[-1].script).tables
    assert {table.name: len(table.rows) for table in shown if not table.rows} == {"dog_clubs": 0, "clubs": 0}
    assert made[-1].columns == sum(len(table.columns) for table in shown)
    assert [text.count("CREATE TABLE") for text in asked] == [3, 5]
    assert len({text.partition("Insert, in this order:")[2] for text in asked}) == 1


def test_what_is_expected_steers_which_rows_are_offered(sources: Path) -> None:
    """Rows support either of two contradictory conjectures."""
    ask = ScriptedJudges(reply)
    question = next(question for question in write_questions(sources, ask, 60) if question.design == TYPICAL)
    confirmed = [ConfirmedQuestion(question.id, question.text, "model", ())]
    for ahead in question.groups:
        guess = Conjecture(question.id, "A guess.", (ahead, ahead), ())
        (made,) = asyncio.run(construct(confirmed, [question], [guess], sources, Construct(), ask)).rows
        assert made.borne_out == (True, True)


def test_a_conjecture_names_one_of_the_choices(sources: Path) -> None:
    built = Built(sources, reply)
    for question, guess in zip(built.questions, built.guesses, strict=True):
        pairs = zip(guess.expected, list_choices(question), strict=True)
        assert all(expected in choices for expected, choices in pairs)
    vague = ScriptedJudges(lambda asked: "It depends.\nHard to say.\nBoth.")
    first = [ConfirmedQuestion(built.questions[0].id, "?", "model", ())]
    drafts = asyncio.run(conjecture(first, built.questions, sources, SET, GUESSED, vague))
    assert [row.reason for row in drafts.dropped] == ["no_conjecture"]


def test_a_short_question_keeps_what_its_answer_needs(sources: Path) -> None:
    questions = write_questions(sources, ScriptedJudges(reply))
    vague = ScriptedJudges(lambda asked: "Which of all the dogs that there are is best?")
    drafts = asyncio.run(condense(questions, Condense(rounds=2), vague))
    assert not drafts.rows
    assert {row.reason for row in drafts.dropped} == {"uncondensed"}
    within = next(question for question in questions if question.design == WITHIN)
    short = asyncio.run(condense([within], Condense(), ScriptedJudges(reply))).rows[0].text
    other = short.replace(f"{within.figures[1].threshold:g}", "99")
    drafts = asyncio.run(condense([within], Condense(), ScriptedJudges(lambda asked: other)))
    assert [row.reason for row in drafts.dropped] == ["uncondensed"]


def shorten_two(sources: Path) -> tuple[list[ControlledQuestion], list[CondensedQuestion]]:
    ask = ScriptedJudges(reply)
    questions = write_questions(sources, ask, 2)
    return questions, list(asyncio.run(condense(questions, Condense(), ask)).rows)


def test_people_overrule_the_model(sources: Path, tmp_path: Path) -> None:
    questions, short = shorten_two(sources)
    first, second = short
    refusing = ScriptedJudges(lambda asked: "Verdict: 1 No\nVerdict: 2 No\nVerdict: 3 No")
    path = tmp_path / "review" / name_decisions("data/longform/k/condense.parquet")
    path.parent.mkdir()
    acts: list[tuple[str, CondensedQuestion]] = [("accept", first), ("reject", second)]
    write_decisions(
        path,
        [
            Decision(
                item=row.id,
                artifact="condense.parquet",
                reviewer="anna",
                decision=word,
                at="2031-01-02T03:04:05.000000Z",
                seen=digest_row(row),
            )
            for word, row in acts
        ],
    )
    drafts = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(), refusing))
    assert [(row.id, row.confirmed_by) for row in drafts.rows] == [(first.id, "anna")]
    assert [(row.id, row.reason) for row in drafts.dropped] == [(second.id, "rejected")]


def test_a_refusal_by_the_model_is_dropped_with_what_it_missed(sources: Path, tmp_path: Path) -> None:
    questions, short = shorten_two(sources)
    refusing = ScriptedJudges(lambda asked: "Verdict: 1 Yes\nVerdict: 2 No\nVerdict: 3 Yes")
    drafts = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(), refusing))
    assert {row.reason for row in drafts.dropped} == {"refused_by_model"}
    assert all(row.detail.startswith("not answerable") for row in drafts.dropped)
    lenient = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(least=2), refusing))
    assert len(lenient.rows) == 2


@pytest.fixture
def answered(sources: Path, tmp_path: Path) -> tuple[ControlledQuestion, str]:
    """A definite question of the breeders A and B, and its database: A's dogs are heavier by both figures."""
    question = breed(sources, TYPICAL)
    return question, write_dogs(question, {"A": [30, 32], "B": [20, 22.5]})


def hold(prose: str, answered: tuple[ControlledQuestion, str]) -> str:
    """Check an answer against the figures of the fixture."""
    question, script = answered
    return state_figures(script, question).check(prose)


RIGHT = (
    "Yes, by both. The average weight of dogs bred by A is higher than of those bred by B, 31 against "
    "21.3 (2 and 2). The median says the same, 31 kilograms for A and 21.3 kilograms for B."
)


@pytest.mark.parametrize(
    ("prose", "problem"),
    [
        ("Yes, by both. A has 31 and B has 21.3 and 99 kilograms.", "number 99"),
        ("Yes, by both. A is ahead of B in average weight.", "leaves out the number"),
        ("No, A is not ahead.", "does not begin"),
        ("Yes, by both, for A.", "leaves out the name B"),
        ("Yes: A 31/2 vs. B 21/2.", "not plain prose"),
        ("Yes, A is, and B is not: 31 against 21.3, 2 and 2.", "these words: Yes, by both"),
        (RIGHT.replace("higher", "lower"), "the comparison is reversed"),
        (
            RIGHT.replace("bred by A", "bred by C").replace("bred by B", "bred by A").replace("C", "B"),
            "next to the name of its group",
        ),
        (RIGHT.replace("31 against 21.3", "21.3 against 31"), "next to the name of its group"),
        (f"{RIGHT} B is the heaviest of all.", "next to the name of its group"),
        (
            RIGHT.replace("higher than of those bred by B,", "higher and lower than of those bred by B,"),
            "both directions",
        ),
    ],
)
def test_a_models_answer_that_the_rows_do_not_bear_out_is_refused(
    answered: tuple[ControlledQuestion, str], prose: str, problem: str
) -> None:
    with pytest.raises(Unparsed, match=problem):
        hold(prose, answered)


def test_a_models_own_words_pass_where_every_number_stands_beside_its_group(
    answered: tuple[ControlledQuestion, str],
) -> None:
    assert hold(RIGHT, answered) == RIGHT


def test_swapped_values_of_an_open_question_are_refused(sources: Path) -> None:
    built = Built(sources, reply)
    question = built.find(OPEN)
    made = next(row for row in built.made if row.id == question.id)
    found = state_figures(made.script, question)
    first, second = question.groups
    swapped = found.stated[0][0].replace(first, "#").replace(second, first).replace("#", second)
    prose = " ".join([swapped, *(wordings[0] for wordings in found.stated[1:]), found.verdicts[0]])
    with pytest.raises(Unparsed, match="next to the name of its group"):
        found.check(prose)


def test_the_contract_holds_the_words_of_claims_and_references_to_the_rows(sources: Path) -> None:
    built = Built(sources, reply)
    questions = {question.id: question for question in built.questions}
    made = built.items()
    assert {find_unborne(asdict(item), questions[item.id]) for item in made} == {""}
    for item in (made[0], next(item for item in made if questions[item.id].design == OPEN)):
        record = asdict(item)
        first, *rest = record["claims"]
        number = next(iter(re.findall(r"\d+", first["text"])))
        wrong = {**first, "text": first["text"].replace(number, str(int(number) + 1), 1)}
        assert "the rows do not support this claim" in (
            find_unborne({**record, "claims": [wrong, *rest]}, questions[item.id]) or ""
        )
        assert find_unborne({**record, "claims": rest}, questions[item.id]) == (
            f"the item has {len(rest)} of {len(rest) + 1} claims"
        )
        said = record["reference"].replace(number, str(int(number) + 777), 1)
        assert "the database does not support the reference answer" in (
            find_unborne({**record, "reference": said}, questions[item.id]) or ""
        )
        group, other = questions[item.id].groups[:2]
        swapped = record["reference"].replace(group, "#").replace(other, group).replace("#", other)
        assert "the database does not support the reference answer" in (
            find_unborne({**record, "reference": swapped}, questions[item.id]) or ""
        )


def test_what_does_not_pass_is_stated_plainly(sources: Path) -> None:
    built = Built(
        sources, lambda asked: "I would rather not." if asked.prompt == "conclude" else reply(asked)
    )
    assert {answer.by for answer in built.answers} == {"plain"}
    for answer in built.answers:
        assert all(claim.text in answer.text for claim in answer.claims)


def test_no_item_at_all_fails_and_says_where_they_were_lost(sources: Path) -> None:
    questions = write_questions(sources, ScriptedJudges(reply), 2)
    with pytest.raises(StageFailed, match="2 were written, 0 were confirmed"):
        items(questions, [], [], [], [])


def read_club_rows(kennel: SourceDatabase) -> dict[str, set[str]]:
    """Return club -> dogs."""
    columns = read_source(kennel)
    found = [focus for focus in foci(kennel, columns, Foci()).rows if focus.group == "clubs.club_name"]
    kept: dict[str, set[str]] = {}
    for row in source_rows(kennel, columns, found).rows:
        if row.group:
            kept.setdefault(row.group, set()).add(json.loads(row.tables)["dogs"]["dog_name"])
    return kept


def add_clubs(kennel: SourceDatabase, last: int) -> set[str]:
    """Put each dog up to `last` into a second club; these clubs are too small for questions."""
    with closing(sqlite3.connect(kennel.file)) as connection:
        for number in range(1, last + 1):
            connection.execute(
                "INSERT OR IGNORE INTO clubs VALUES (?, ?)", (9 + number // 5, f"Sled {number // 5}")
            )
            connection.execute("INSERT INTO dog_clubs VALUES (?, ?)", (number, 9 + number // 5))
        connection.commit()
    return {f"Dog {number}" for number in range(1, last + 1)}


def test_a_row_of_several_groups_is_not_told_of_one(kennel: SourceDatabase) -> None:
    several = add_clubs(kennel, 20)
    kept = read_club_rows(kennel)
    assert set(kept) == {"Agility", "Rescue", "Herding"}
    assert all(len(dogs) > 12 and not dogs & several for dogs in kept.values())


def test_where_few_rows_have_one_group_those_of_none_asked_about_do(kennel: SourceDatabase) -> None:
    several = add_clubs(kennel, 114)
    with closing(sqlite3.connect(kennel.file)) as connection:
        connection.execute("INSERT INTO dog_clubs VALUES (1, 2)")
        connection.commit()
    kept = read_club_rows(kennel)
    assert all(len(dogs & several) > 12 for dogs in kept.values())
    assert all("Dog 1" not in dogs for dogs in kept.values())


def test_an_answer_says_of_how_many_rows_an_amount_is_known(sources: Path) -> None:
    question = breed(sources, TYPICAL)
    script = write_dogs(question, {"A": [30, 32], "B": [20]})
    script += "\nINSERT INTO dogs VALUES (NULL, NULL, 3, 0);"
    answer = answer_to(question, script)
    assert "31 kilograms for dogs bred by A (known for 2 of 3 dogs)" in answer
    assert "20 kilograms for those bred by B (one only)" in answer


def test_measures_that_go_together_are_not_asked_about_together(
    sources: Path, kennel: SourceDatabase
) -> None:
    with closing(sqlite3.connect(kennel.file)) as connection:
        connection.execute("UPDATE dogs SET litters = weight_kg * 2")
        connection.commit()
    columns = read_source(kennel)
    found = list(foci(kennel, columns, Foci()).rows)
    write_rows(sources / "kennel" / "source_rows.parquet", WholeRow, source_rows(kennel, columns, found).rows)
    questions = write_questions(sources, ScriptedJudges(reply))
    assert {question.design for question in questions} == {OPEN, MOST, TYPICAL}


@pytest.mark.parametrize(
    ("amount", "said"),
    [(81, 80), (73, 75), (130, 130), (1340, 1300), (24.6, 25), (0.083, 0.085), (0, 0), (-81, -80), (9.9, 10)],
)
def test_a_threshold_is_a_number_that_people_say(amount: float, said: float) -> None:
    assert round_amount(amount) == said


def test_a_link_table_whose_keys_may_be_empty_is_filled(kennel: SourceDatabase, tmp_path: Path) -> None:
    with closing(sqlite3.connect(kennel.file)) as connection:
        connection.executescript(
            "CREATE TABLE linked (dog_id INTEGER REFERENCES dogs (dog_id), "
            "club_id INTEGER REFERENCES clubs (club_id)); INSERT INTO linked SELECT * FROM dog_clubs; "
            "DROP TABLE dog_clubs; ALTER TABLE linked RENAME TO dog_clubs;"
        )
    built = Built(write_sources(kennel, tmp_path / "sources"), reply)
    asked = [question for question in built.questions if question.focus.group == "clubs.club_name"]
    assert asked
    assert {made.id for made in built.made} == {question.id for question in built.questions}


@pytest.mark.parametrize(
    ("typical", "digits"), [(50_000, 0), (320, 1), (10, 1), (3.4, 2), (0.35, 3), (0.04, 4), (0, 1)]
)
def test_figures_have_three_digits_that_tell(typical: float, digits: int) -> None:
    assert count_digits(typical) == digits


def test_values_that_rounding_makes_the_same_are_told_apart(sources: Path) -> None:
    question = breed(sources, TYPICAL)
    answer = answer_to(question, write_dogs(question, {"A": [30.04], "B": [30.01]}))
    assert answer.startswith("Yes, by both.")
    assert "30.04 kilograms" in answer
    assert "30.01 kilograms" in answer


def test_an_amount_below_zero_is_said_in_words_where_there_are_some(sources: Path) -> None:
    question = breed(sources, TYPICAL)
    focus = question.focus
    measures = tuple(replace(measure, negative="too light") for measure in focus.measures)
    question = replace(question, focus=replace(focus, measures=measures))
    answer = answer_to(question, write_dogs(question, {"A": [-3.5], "B": [20]}))
    assert "3.5 kilograms too light for those bred by A" in answer


def test_a_large_group_is_read_over_all_its_amounts(kennel: SourceDatabase) -> None:
    with closing(sqlite3.connect(kennel.file)) as connection:
        connection.executemany(
            "INSERT INTO dogs VALUES (?, ?, ?, 3, 2000, 1)",
            [(number, f"Dog {number}", number) for number in range(1000, 1770)],
        )
        connection.commit()
    columns = read_source(kennel)
    found = [focus for focus in foci(kennel, columns, Foci()).rows if focus.group == "breeders.breeder_name"]
    rows = [
        json.loads(row.tables) for row in source_rows(kennel, columns, found).rows if row.group == "Alder"
    ]
    assert max(row["dogs"]["weight_kg"] or 0 for row in rows) > 1700


def test_rows_that_are_alike_and_have_no_key_are_one(tmp_path: Path) -> None:
    file = tmp_path / "weather.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE observations (station TEXT, temperature_celsius REAL)")
        for number in range(40):
            row = ("Ash" if number % 2 else "Birch", 10.0 + number % 8)
            connection.execute("INSERT INTO observations VALUES (?, ?)", row)
        connection.commit()
    entry = SourceDatabase(file=file, questions=tmp_path / "none.json")
    columns = read_source(entry)
    rows = source_rows(entry, columns, list(foci(entry, columns, Foci()).rows)).rows
    assert rows
    assert len({row.id for row in rows}) == len(rows)


def test_a_key_back_to_the_measured_table_is_no_group_of_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "firm.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE departments (id INTEGER PRIMARY KEY, department_name TEXT NOT NULL, "
            "manager_id INTEGER REFERENCES employees (id)); "
            "CREATE TABLE employees (id INTEGER PRIMARY KEY, salary INTEGER, "
            "department_id INTEGER REFERENCES departments (id));"
        )
        for number in range(40):
            connection.execute(
                "INSERT INTO departments VALUES (?, ?, ?)", (number, f"D{number % 2}", number // 4)
            )
            connection.execute("INSERT INTO employees VALUES (?, ?, ?)", (number, 100 + number, number % 8))
        connection.commit()
    entry = SourceDatabase(file=file, questions=tmp_path / "none.json")
    found = foci(entry, read_source(entry), Foci()).rows
    assert found
    assert not any("manager_id" in focus.source for focus in found)


def test_without_a_model_s_word_what_nobody_decided_says_so(sources: Path, tmp_path: Path) -> None:
    questions, short = shorten_two(sources)
    silent = ScriptedJudges(lambda asked: pytest.fail("the model is called, but its reply has no effect"))
    drafts = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(least=0), silent))
    assert [row.confirmed_by for row in drafts.rows] == ["nobody", "nobody"]


def test_a_quality_without_a_measure_is_refused(kennel: SourceDatabase) -> None:
    with pytest.raises(ValidationError, match="qualities"):
        SourceDatabase(file=kennel.file, questions=kennel.questions, qualities={"do well": ()})
