"""Tests of building items, sequences and shots from datasets, and a dataset from GRAMMAR's questions."""

import json
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.errors import BadInput, StageFailed
from tasks.sources.drawing import draw_evenly
from tasks.sources.stream_dataset import DatasetHead, DatasetItem, DatasetShot, write_dataset
from tasks.streambench.build.dataset_reading import open_dataset
from tasks.streambench.build.grammar_dataset import grammar_dataset, write_question
from tasks.streambench.build.items import items
from tasks.streambench.build.sequence import sequence
from tasks.streambench.build.shots import shots
from tasks.streambench.entries import QuestionDatabase, Stream
from tests.streambench.environment_scenes import judge, make_database, make_environment

HEAD = DatasetHead("one", "hotpotqa", "One", "CC0", "here", "type")


def make_items(count, name="q"):
    return [
        DatasetItem(f"{name}-{n}", f"{name} {n}?", f"{name} {n}?", "", f"a{n}", {"type": "ab"[n % 2]})
        for n in range(count)
    ]


def write(folder, count=10, name="one", shot_count=5, **head):
    shot_list = [DatasetShot(f"s{n}", f"{name} s{n}?", f"{name} s{n}?", "b") for n in range(shot_count)]
    # The first example is an item of the dataset, too.
    shot_list += [DatasetShot("same", f"{name} 0?", f"{name} 0?", "a0")]
    about = replace(HEAD, name=name, **head)
    write_dataset(folder / name, about, make_items(count, name), shot_list, {"x/y.txt": b"z"})
    return folder


def test_all_items_are_read_with_their_fields_and_origin(tmp_path):
    write(tmp_path, 3)
    rows = items(tmp_path, Stream(datasets=("one",))).rows
    assert sorted(row.key for row in rows) == ["one-0", "one-1", "one-2"]
    row = next(row for row in rows if row.key == "one-1")
    assert (row.dataset, row.kind, row.gold, json.loads(row.details)) == (
        "one",
        "hotpotqa",
        "a1",
        {"type": "b"},
    )
    assert row.origin[0].reference == "data/raw/streambench/one/items.jsonl"
    assert len(items(tmp_path, Stream(datasets=("one",)), limit=2).rows) == 2


def test_a_draw_takes_as_many_of_each_dataset_and_stratum(tmp_path):
    write(tmp_path, 20, "one")
    write(tmp_path, 8, "two")
    rows = items(tmp_path, Stream(datasets=("one", "two"), take=12)).rows
    counts = Counter((row.dataset, json.loads(row.details)["type"]) for row in rows)
    assert counts == {("one", "a"): 3, ("one", "b"): 3, ("two", "a"): 3, ("two", "b"): 3}
    again = items(tmp_path, Stream(datasets=("one", "two"), take=12)).rows
    assert again == rows
    other = items(tmp_path, Stream(datasets=("one", "two"), take=12, draw_seed=7)).rows
    assert {row.id for row in other} != {row.id for row in rows}
    # Two strata of `two` have only four items each; other strata fill the remaining places.
    counts = Counter(row.dataset for row in items(tmp_path, Stream(datasets=("one", "two"), take=24)).rows)
    assert counts == {"one": 16, "two": 8}
    with pytest.raises(BadInput, match="take asks for 29, but 28 items can be used"):
        items(tmp_path, Stream(datasets=("one", "two"), take=29))


def test_a_draw_does_not_hang_on_the_order_of_what_it_is_given():
    names = [f"n{number}" for number in range(50)]
    drawn = draw_evenly(names, 10, 42, str)
    assert draw_evenly(reversed(names), 10, 42, str) == drawn
    assert draw_evenly(names, 20, 42, str)[:10] == drawn
    assert len(set(draw_evenly(names, None, 42, str))) == 50


def test_a_sequence_is_each_item_once_in_an_order_by_seed(tmp_path):
    rows = list(items(write(tmp_path, 30), Stream(datasets=("one",))).rows)
    entry = Stream(datasets=("one",), seeds=(42, 7))
    places = list(sequence(rows, tmp_path, entry, "s").rows)
    assert len({place.id for place in places}) == 60
    orders = {
        seed: [place.item for place in sorted(places, key=lambda place: place.position) if place.seed == seed]
        for seed in entry.seeds
    }
    assert sorted(orders[42]) == sorted(orders[7]) == sorted(row.id for row in rows)
    assert orders[42] != orders[7]
    assert orders[42] != [row.id for row in rows]
    assert [place.position for place in places if place.seed == 7] == list(range(1, 31))
    shuffled = list(sequence(rows[::-1], tmp_path, entry, "s").rows)
    assert {place.id: place for place in shuffled} == {place.id: place for place in places}


def test_shots_are_drawn_once_and_none_is_an_item(tmp_path):
    write(tmp_path, 4, "one", 5)
    write(tmp_path, 4, "two", 1)
    found = shots(tmp_path, Stream(datasets=("one", "two"), shots=4)).rows
    assert [shot.place for shot in found] == [0, 1, 2, 3]
    assert Counter(shot.dataset for shot in found) == {"one": 3, "two": 1}
    made = shots(tmp_path, Stream(datasets=("one", "two"), shots=16))
    every = made.rows
    assert len(every) == 6
    assert sorted((row.reason, row.detail) for row in made.dropped) == [
        ("asked", "one 0?"), ("asked", "two 0?"),
    ]  # fmt: skip
    assert not any(shot.text in {"one 0?", "two 0?"} for shot in every)
    assert shots(tmp_path, Stream(datasets=("one",), shots=0)).rows == []


def test_what_cannot_be_asked_is_dropped_with_its_reason(tmp_path):
    pets = tmp_path / make_database(tmp_path)
    golds = {
        "a": "SELECT 1",
        "b": "SELECT date('now')",
        "c": " ",
        # The text is not decisive: this query reads the clock through a composed expression, and the next
        # query names the clock in a branch that is never reached.
        "d": "SELECT date('no' || 'w') FROM pets",
        "e": "SELECT CASE WHEN age > 99 THEN date('now') ELSE name END FROM pets",
        "f": "SELECT nothing FROM pets",
    }
    given = [
        DatasetItem(key, f"{key}?", f"{key}?", "", gold, {"db_id": "pets"}, "files/pets/pets.sqlite")
        for key, gold in golds.items()
    ]
    head = replace(HEAD, kind="sql", stratum="")
    write_dataset(tmp_path / "sql", head, given, [], {"pets/pets.sqlite": pets})
    found = items(tmp_path, Stream(datasets=("sql",)))
    assert sorted(row.key for row in found.rows) == ["a", "e", "f"]
    assert sorted(drop.reason for drop in found.dropped) == ["clock", "clock", "no_gold"]
    hung = "it depends on the clock, the time zone or random numbers: date()"
    assert sorted(drop.detail for drop in found.dropped) == [hung, hung, "the gold answer is empty"]
    gold = replace(given[0], gold="49", file="")
    write_dataset(tmp_path / "ill", replace(HEAD, kind="ddxplus", stratum=""), [gold], [], {})
    with pytest.raises(BadInput, match=r"all items are dropped.*gold is '49'"):
        items(tmp_path, Stream(datasets=("ill",)))


def test_datasets_of_two_kinds_or_none_are_refused(tmp_path):
    write(tmp_path, 2, "one")
    write(tmp_path, 2, "two", kind="sql")
    with pytest.raises(BadInput, match="be of one kind, but one is hotpotqa and two is sql"):
        items(tmp_path, Stream(datasets=("one", "two")))
    with pytest.raises(BadInput, match="dataset none: does not exist"):
        items(tmp_path, Stream(datasets=("none",)))
    with pytest.raises(BadInput, match="is not a valid name"):
        items(tmp_path, Stream(datasets=("../one",)))


@pytest.mark.parametrize("file", ["items.jsonl", "shots.jsonl", "files/x/y.txt"])
def test_a_file_that_changed_since_its_import_is_refused(file, tmp_path):
    write(tmp_path)
    place = tmp_path / "one" / file
    place.write_text(place.read_text().replace("?", "!") + " ")
    with pytest.raises(BadInput, match=f"{file}: has changed since it was imported"):
        open_dataset(tmp_path / "one")
    place.unlink()
    with pytest.raises(BadInput, match=f"{file}: no longer exists"):
        open_dataset(tmp_path / "one")


def make_own(folder, *lines):
    own = folder / "own"
    own.mkdir(exist_ok=True)
    (own / "dataset.json").write_text('{"name": "own", "kind": "hotpotqa"}')
    (own / "items.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_a_stream_of_one_s_own_needs_two_files_and_three_fields(tmp_path):
    make_own(tmp_path, '{"key": 1, "text": "Who?", "gold": "Ann"}')
    (row,) = items(tmp_path, Stream(datasets=("own",))).rows
    assert (row.key, row.memory_key, row.context, row.details, row.file) == ("1", "Who?", "", "{}", "")
    assert shots(tmp_path, Stream(datasets=("own",))).rows == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "items.jsonl: is empty"),
        ("no json", "items.jsonl: is not valid JSON"),
        ('{"key": "b"', "line 2 cannot be read"),
        ("[1]", "line 2 cannot be read: it is not an object"),
        ('{"key": "b", "text": ""}', "line 2: text is empty"),
        ('{"text": "b", "gold": "c"}', "line 2: key is"),
        ('{"key": "b", "text": ["x"]}', "line 2: text is list"),
        ('{"key": "b", "text": "x", "details": []}', "line 2: details is not an object"),
        ('{"key": "a", "text": "x", "gold": "y"}', "has the key 'a' twice"),
        ('{"key": "b", "text": "x", "file": "../../etc/passwd"}', "which is not in the folder"),
        ('{"key": "b", "text": "x", "file": "/etc/passwd"}', "which is not in the folder"),
        ('{"key": "b", "text": "x", "details": ' + '{"a":' * 3000 + "1" + "}" * 3001, "cannot be"),
    ],
)
def test_a_broken_stream_of_one_s_own_is_one_clear_line(line, said, tmp_path):
    good = [] if said.startswith("items.jsonl") else ['{"key": "a", "text": "Who?", "gold": "Ann"}']
    make_own(tmp_path, *good, line)
    with pytest.raises(BadInput) as caught:
        items(tmp_path, Stream(datasets=("own",)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# --- GRAMMAR's questions


def make_questions(folder, templates=6, groups=5):
    """Write questions with two wordings each, from templates on one table."""
    rows = [
        {
            "id": f"{template}-{group}-{word[0]}", "group": f"{template}-{group}",
            "question": f"{word} pet {group} by way {template}",
            "sql": f"SELECT name, {group}, {template} FROM pets WHERE id = 1",
            "sql_template": f"t{template}",
        }
        for template in range(templates)
        for group in range(groups)
        for word in ("which name has", "name of")
    ]  # fmt: skip
    path = folder / "balanced.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read_dataset(folder):
    dataset = open_dataset(folder)
    return dataset.read_items(), dataset.read_shots()


def make_entry(folder, **options):
    file = folder / make_database(folder)
    return QuestionDatabase(questions=make_questions(folder), file=file, **options)


def test_a_dataset_of_few_templates_holds_back_the_others_as_shots(tmp_path):
    entry = make_entry(tmp_path, shots=4, templates=3, each=2, first_words=("which",))
    grammar_dataset(entry, "pets", tmp_path / "pets")
    found, held = read_dataset(tmp_path / "pets")
    templates = Counter(item.details["template"] for item in found)
    assert sorted(templates.values()) == [2, 2, 2]
    assert len({item.gold for item in found}) == 6
    assert all(item.text.startswith("Which name has pet ") and item.text.endswith("?") for item in found)
    assert found[0].context.startswith("CREATE TABLE pets")
    assert len(held) == 4
    others = {f"by way {name[1:]}?" for name in templates}
    assert not any(shot.text.endswith(tuple(others)) for shot in held)
    # The environment can judge the dataset: each gold answer is correct.
    rows = list(items(tmp_path, Stream(datasets=("pets",))).rows)
    verdicts = judge(make_environment("sql", tmp_path, rows), [(row, row.gold) for row in rows])
    assert [verdict.outcome for verdict in verdicts] == ["correct"] * 6


def test_without_limits_every_group_is_asked_once_and_some_templates_are_held_back(tmp_path):
    entry = make_entry(tmp_path, shots=16)
    grammar_dataset(entry, "pets", tmp_path / "pets")
    found, held = read_dataset(tmp_path / "pets")
    assert len(found) == 5 * 5
    assert len(held) == 5
    grammar_dataset(entry, "pets", tmp_path / "again")
    assert read_dataset(tmp_path / "again") == (found, held)


def test_no_question_left_ends_the_stage(tmp_path):
    entry = make_entry(tmp_path, first_words=("whence",))
    with pytest.raises(StageFailed, match="pets: none of the 60 questions can be used"):
        grammar_dataset(entry, "pets", tmp_path / "pets")
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(BadInput, match="contains no questions"):
        grammar_dataset(entry.model_copy(update={"questions": tmp_path / "no.parquet"}), "p", tmp_path / "p")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("which film is it", "Which film is it?"),
        ("film of 1990", "Film of 1990"),
        ("Is it so?", "Is it so?"),
        ("island of 1990", "Island of 1990"),
        ("", ""),
    ],
)
def test_a_question_is_written_as_a_person_would(text, shown):
    assert write_question(text) == shown
