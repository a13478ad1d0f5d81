"""Building a question set: control, condense, confirm, conjecture, construct, conclude, classify, items."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.errors import BadInput, StageFailed
from tasks.judging.decisions import Decision, digest_row, name_decisions, write_decisions
from tasks.longform.build.classify import classify
from tasks.longform.build.conclude import Conclude, check_prose, conclude, read_script
from tasks.longform.build.condense import Condense, condense
from tasks.longform.build.confirm import Confirm, confirm
from tasks.longform.build.conjecture import conjecture
from tasks.longform.build.construct import Construct, construct
from tasks.longform.build.control import Control, control
from tasks.longform.build.evidence import make_claim, state_conclusion
from tasks.longform.build.foci import Foci, foci
from tasks.longform.build.items import items
from tasks.longform.build.source_columns import source_columns
from tasks.longform.entries import QuestionSet, SourceDatabase
from tasks.longform.rows import (
    CondensedQuestion,
    Conjecture,
    ControlledQuestion,
    Focus,
    SourceColumn,
    SyntheticDatabase,
)
from tasks.models.ask import Unparsed
from tests.longform.scripted_judges import Asked, ScriptedJudges

SOURCE = """
CREATE TABLE breeders (breeder_id INTEGER PRIMARY KEY, breeder_name TEXT NOT NULL);
CREATE TABLE dogs (
    dog_id INTEGER PRIMARY KEY, dog_name TEXT NOT NULL, weight_kg REAL, litters INTEGER, birth_year INTEGER,
    breeder_id INTEGER NOT NULL REFERENCES breeders (breeder_id)
);
INSERT INTO breeders VALUES (1, 'Alder'), (2, 'Birk');
"""
WHEN = "2031-01-02T03:04:05.000000Z"
FIRST, SECOND = "Alder", "Birk"
GOOD = """Here they are:
```sql
INSERT INTO breeders (breeder_id, breeder_name) VALUES (1, 'Alder'), (2, 'Birk');
INSERT INTO dogs (dog_id, dog_name, weight_kg, litters, breeder_id) VALUES
  (1, 'Rex', 30.5, 1, 1), (2, 'Ada', 20, 4, 2), (3, 'Bo', 31.5, 2, 1), (4, 'Cleo', 22, 5, 2);
```"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The artifacts of one database, `kennel`, as the first two stages write them."""
    file = tmp_path / "kennel.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SOURCE)
        for number in range(1, 41):
            row = (number, f"Dog {number}", 10 + number / 2, number % 7, 2000 + number % 9, 1 + number % 2)
            connection.execute("INSERT INTO dogs VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    entry, folder = SourceDatabase(file=file), tmp_path / "sources" / "kennel"
    folder.mkdir(parents=True)
    columns = list(source_columns(entry).rows)
    write_rows(folder / "source_columns.parquet", SourceColumn, columns)
    write_rows(folder / "foci.parquet", Focus, foci(entry, columns, Foci()).rows)
    return folder.parent


def reply(asked: Asked) -> str:
    """Write as a model that does what it is asked for."""
    definite = "yes or no" in asked.text
    if asked.prompt == "control" and definite:
        return (
            "Do dogs of the breeder Alder have a higher average weight, and also a higher average number of "
            "litters, than dogs of the breeder Birk?"
        )
    if asked.prompt == "control":
        return (
            "How do dogs of the breeder Alder and of the breeder Birk compare in average weight and number "
            "of litters, and which is more successful?"
        )
    if asked.prompt == "condense" and "successful" in asked.text:
        return "Which is more successful, dogs of Alder or of Birk?"
    replies = {
        "condense": "Do dogs of Alder have a higher weight and number of litters than those of Birk?",
        "confirm": "Verdict: 1 Yes\nVerdict: 2 Yes\nVerdict: 3 Yes",
        "conjecture": f"Higher average number of litters: {SECOND}\nHigher average weight: {FIRST}",
        "construct": GOOD,
        "conclude": "I would rather not say.",
        "classify": "Kind: Interpretive",
    }
    return replies[asked.prompt]


def write_questions(sources: Path, ask: ScriptedJudges, count: int = 2) -> list[ControlledQuestion]:
    entry = QuestionSet(databases=("kennel",), questions=count)
    return list(asyncio.run(control(sources, entry, Control(keywords=("is more successful",)), ask)).rows)


def set_measures(question: ControlledQuestion) -> tuple[str, ...]:
    return question.focus.measures


def test_amounts_are_compared_and_years_are_not(sources: Path) -> None:
    ask = ScriptedJudges(reply)
    questions = write_questions(sources, ask)
    assert {set_measures(question) for question in questions} == {("dogs.litters", "dogs.weight_kg")}
    assert {question.focus.group for question in questions} == {"breeders.breeder_name"}
    assert {question.keyword for question in questions} == {"is more successful", ""}


def test_a_question_that_names_too_little_is_asked_for_again_and_then_dropped(sources: Path) -> None:
    ask = ScriptedJudges(
        lambda asked: "Which of the many dogs that are known here is the very best of them all?"
    )
    drafts = asyncio.run(
        control(sources, QuestionSet(databases=("kennel",), questions=1), Control(rounds=3), ask)
    )
    assert not drafts.rows
    assert [row.reason for row in drafts.dropped] == ["uncontrolled"]
    assert "it does not name" in drafts.dropped[0].detail
    assert len(ask.asked) == 3
    assert "it does not name" in ask.asked[1].text


def test_an_unknown_database_is_named(sources: Path) -> None:
    with pytest.raises(BadInput, match="cattery"):
        asyncio.run(control(sources, QuestionSet(databases=("cattery",)), Control(), ScriptedJudges(reply)))


def build(sources: Path, ask: ScriptedJudges) -> tuple[list[ControlledQuestion], list[CondensedQuestion]]:
    questions = write_questions(sources, ask)
    return questions, list(asyncio.run(condense(questions, Condense(), ask)).rows)


def test_every_question_is_traceable_through_all_stages(sources: Path, tmp_path: Path) -> None:
    ask = ScriptedJudges(reply)
    questions, short = build(sources, ask)
    confirmed = list(asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(), ask)).rows)
    guesses = list(asyncio.run(conjecture(confirmed, questions, sources, ask)).rows)
    made = list(asyncio.run(construct(confirmed, questions, guesses, sources, Construct(), ask)).rows)
    answers = list(asyncio.run(conclude(made, confirmed, questions, Conclude(), ask)).rows)
    kinds = list(asyncio.run(classify(answers, confirmed, ask)).rows)
    found = list(items(questions, confirmed, made, answers, kinds).rows)
    assert {item.id for item in found} == {question.id for question in questions}
    assert {item.kind for item in found} == {"conclusive", "interpretive"}
    assert {item.confirmed_by for item in found} == {"model"}
    for item in found:
        assert len(item.claims) == 2
        for claim in item.claims:
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.executescript(item.script)
                assert [list(row) for row in connection.execute(claim.sql)] == json.loads(claim.rows)
            assert claim.text in item.reference
    weighed = next(answer for answer in answers if answer.text.startswith("No"))
    assert "31 kilograms over 2 dogs" in weighed.text


def test_statements_that_do_not_run_go_back_with_what_was_wrong(sources: Path, tmp_path: Path) -> None:
    replies = iter(["DROP TABLE dogs;", GOOD.replace("(2, 'Birk')", "(3, 'Birk')"), GOOD])
    ask = ScriptedJudges(lambda asked: next(replies) if asked.prompt == "construct" else reply(asked))
    questions, short = build(sources, ask)
    one = [short[0]]
    confirmed = list(asyncio.run(confirm(one, questions, sources, tmp_path, "k", Confirm(), ask)).rows)
    guesses = list(asyncio.run(conjecture(confirmed, questions, sources, ask)).rows)
    (made,) = asyncio.run(construct(confirmed, questions, guesses, sources, Construct(), ask)).rows
    asked = [each.text for each in ask.asked if each.prompt == "construct"]
    assert made.rounds == len(asked) == 3
    assert "DROP TABLE dogs" in asked[1]
    assert "breeder_id" in asked[2]
    assert "DROP" not in made.script


def test_rows_must_bear_the_conjecture_out_where_that_is_wished(sources: Path, tmp_path: Path) -> None:
    def guess(asked: Asked) -> str:
        if asked.prompt == "conjecture":
            return f"Higher average number of litters: {SECOND}\nHigher average weight: {SECOND}"
        return reply(asked)

    ask = ScriptedJudges(guess)
    questions, short = build(sources, ask)
    confirmed = list(asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(), ask)).rows)
    guesses = list(asyncio.run(conjecture(confirmed, questions, sources, ask)).rows)
    kept = asyncio.run(construct(confirmed, questions, guesses, sources, Construct(), ask))
    assert {made.borne_out for made in kept.rows} == {(True, False)} or {
        made.borne_out for made in kept.rows
    } == {(False, True)}
    strict = asyncio.run(construct(confirmed, questions, guesses, sources, Construct(borne_out=True), ask))
    assert not strict.rows
    assert {row.reason for row in strict.dropped} == {"not_borne_out"}
    assert "must be higher for Birk" in strict.dropped[0].detail


def test_people_overrule_the_model(sources: Path, tmp_path: Path) -> None:
    ask = ScriptedJudges(reply)
    questions, short = build(sources, ask)
    first, second = short
    refusing = ScriptedJudges(lambda asked: "Verdict: 1 No\nVerdict: 2 No\nVerdict: 3 No")
    path = tmp_path / "review" / name_decisions("data/longform/k/condense.parquet")
    path.parent.mkdir()
    acts = [("accept", first), ("reject", second)]
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
    ask = ScriptedJudges(reply)
    questions, short = build(sources, ask)
    refusing = ScriptedJudges(lambda asked: "Verdict: 1 Yes\nVerdict: 2 No\nVerdict: 3 Yes")
    drafts = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(), refusing))
    assert {row.reason for row in drafts.dropped} == {"refused_by_model"}
    assert all(row.detail.startswith("not answerable") for row in drafts.dropped)
    lenient = asyncio.run(confirm(short, questions, sources, tmp_path, "k", Confirm(least=2), refusing))
    assert len(lenient.rows) == 2


@pytest.fixture
def answered(sources: Path) -> tuple[ControlledQuestion, SyntheticDatabase]:
    """A definite question with its database."""
    ask = ScriptedJudges(reply)
    question = next(each for each in write_questions(sources, ask) if not each.keyword)
    short = list(asyncio.run(condense([question], Condense(), ask)).rows)
    confirmed = list(asyncio.run(confirm(short, [question], sources, sources, "k", Confirm(), ask)).rows)
    guesses: list[Conjecture] = list(asyncio.run(conjecture(confirmed, [question], sources, ask)).rows)
    (made,) = asyncio.run(construct(confirmed, [question], guesses, sources, Construct(), ask)).rows
    return question, made


@pytest.mark.parametrize(
    ("prose", "problem"),
    [
        ("No, not in all: the average weight of Alder is 31 kilograms and 99 for Birk.", "number 99"),
        ("No, not in all: Alder is ahead in average weight.", "leaves out"),
        ("Yes, Alder is ahead in both.", "does not begin"),
        ("No, not in all: Alder is ahead in average weight only.", "leaves out the name Birk"),
        ("No: Alder (31/2) vs. Birk (21/2).", "no plain prose"),
    ],
)
def test_a_models_answer_that_the_rows_do_not_bear_out_is_refused(
    answered: tuple[ControlledQuestion, SyntheticDatabase], prose: str, problem: str
) -> None:
    question, made = answered
    figures = read_script(made.script, question)
    claims = [make_claim(figure, question) for figure in figures]
    conclusion = state_conclusion(figures, question)
    with pytest.raises(Unparsed, match=problem):
        check_prose(prose, figures, claims, question, conclusion, "No")


def test_a_comparison_the_wrong_way_round_is_refused(
    answered: tuple[ControlledQuestion, SyntheticDatabase],
) -> None:
    question, made = answered
    figures = read_script(made.script, question)
    claims = [make_claim(figure, question) for figure in figures]
    conclusion = state_conclusion(figures, question)
    right = " ".join([conclusion, *(claim.text for claim in claims)])
    assert check_prose(right, figures, claims, question, conclusion, "No") == right
    wrong = right.replace("higher than", "lower than")
    with pytest.raises(Unparsed, match="the other way"):
        check_prose(wrong, figures, claims, question, conclusion, "No")


def test_no_item_at_all_fails_and_says_where_they_were_lost(sources: Path) -> None:
    questions = write_questions(sources, ScriptedJudges(reply))
    with pytest.raises(StageFailed, match="2 were written, 0 confirmed"):
        items(questions, [], [], [], [])
