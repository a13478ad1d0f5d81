"""Tests that contracts detect and name planted errors, with real artifacts and real Great Expectations."""

import hashlib
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.artifacts.contracts import RESULTS, read_findings
from tasks.artifacts.rows import Dropped, schema_of
from tasks.errors import ContractBroken
from tasks.grammar.construct.pairs import Question
from tests.grammar.sample import HOSTILE
from tests.grammar.world import World, make_world

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(made, tmp_path) -> World:
    """A copy for planting errors."""
    shutil.copytree(made.folder.parents[2], tmp_path, dirs_exist_ok=True)
    return World(tmp_path / "data/grammar/clinic", tmp_path / "clinic.sqlite")


def find_broken(world: World, **params) -> dict[str, tuple[str, ...]]:
    """Run the stage; return the violated contracts with the rows that they name."""
    with pytest.raises(ContractBroken) as caught:
        world.check(**params)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{world.folder}: ")
    assert caught.value.exit_code == 1
    found = [finding for finding in read_findings(world.folder / "contracts") if finding.state == "broken"]
    lines = [
        f" {finding.artifact}.parquet breaks {finding.contract} in {finding.broken} of {finding.checked} "
        for finding in found
    ]
    named = [finding for line, finding in zip(lines, found, strict=True) if line in str(caught.value)]
    assert len(named) == min(3, len(found))
    assert all(finding.ids[0][:16] in str(caught.value) for finding in named)
    return {finding.id: finding.ids for finding in found}


def test_what_the_stages_write_holds(made):
    found = made.check("held")

    assert {finding.state for finding in found} == {"held"}
    rows = {stem: len(made.read(stem)) for stem in ("fill_in", "unbalanced", "balanced")}
    assert min(rows.values()) >= 10
    checked = {finding.id: finding.checked for finding in found}
    for stem, count in rows.items():
        for contract in (
            "unique_ids",
            "no_nulls",
            "sql_parses",
            "placeholders",
            "answer_reproduces",
            "origins",
        ):
            assert checked[f"{stem}.{contract}"] == count
    assert checked["balanced.balanced_groups"] == checked["balanced.no_bracket_left"] == rows["balanced"]
    assert checked["balanced.columns"] == 10
    assert checked["documents.words"] == checked["documents.facts_told"] == len(made.read("documents")) >= 5
    assert checked["questions.documents_exist"] == len(made.read("questions")) >= 10
    assert checked["true_documents.documents_exist"] == len(made.read("true_documents")) >= 5


def test_a_row_that_stands_twice_is_named(world):
    world.plant("balanced", lambda rows: [*rows, dict(rows[3])])
    twice = world.read("balanced")[3]["id"]
    broken = find_broken(world)
    assert broken.pop("balanced.unique_ids") == (twice, twice)
    assert set(broken) == {"balanced.balanced_groups"}  # its group has one more of its criterion


def change_cell(rows, *, place, column, value):
    rows[place][column] = value


def test_a_wrong_cell_is_named_by_its_row(world):
    wrong = [
        ("fill_in", 2, "answer", None, "no_nulls"),
        ("schema", -1, "type", None, "no_nulls"),
        ("profiles", -1, "name", None, "no_nulls"),
        ("sql_templates", 0, "sql", "SELECT * FROM doctors", "sql_parses"),
        ("back_check", 0, "text", "Another text.", "as_written"),
        ("second_reading", 0, "text", "One more text.", "as_confirmed"),
        ("schema", 4, "references", "clinics.nothing", "references"),
        ("unbalanced", 0, "id", "NOT A HASH", "ids_are_hashes"),
    ]
    for stem, place, column, value, _ in wrong:
        world.plant(stem, partial(change_cell, place=place, column=column, value=value))
    broken = find_broken(world)
    named = {f"{stem}.{contract}": (world.read(stem)[place]["id"],) for stem, place, *_, contract in wrong}
    assert broken | named == broken


def test_a_column_of_another_type_is_named_and_no_row_is_read(world):
    schema = schema_of(Question)
    other = schema.set(schema.get_field_index("answer"), pa.field("answer", pa.int64()))
    world.plant("balanced", lambda rows: [row.update(answer=7) for row in rows] and rows, other)
    assert find_broken(world) == {"balanced.columns": ("answer",)}
    states = {finding.id: finding.state for finding in read_findings(world.folder / "contracts")}
    assert states["balanced.rows"] == states["fill_in.rows"] == "unchecked"


def test_a_column_that_is_missing_and_one_too_many_are_named(world):
    schema = schema_of(Question)
    fields = [field.with_name("reply") if field.name == "answer" else field for field in schema]
    world.plant(
        "unbalanced", lambda rows: [row.update(reply="x") for row in rows] and rows, pa.schema(fields)
    )
    assert find_broken(world) == {"unbalanced.columns": ("answer", "reply")}


def test_a_group_that_lost_a_text_is_named_by_what_is_left_of_it(world):
    lost = world.read("balanced")[4]
    world.plant("balanced", lambda rows: rows[:4] + rows[5:])
    (left,) = [question["id"] for question in world.read("balanced") if question["group"] == lost["group"]]
    gone = (lost["id"],)  # this row was also a question
    assert find_broken(world) == {
        "balanced.balanced_groups": (left,), "questions.origins": gone, "questions.set_exists": gone
    }  # fmt: skip
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "balanced.balanced_groups"]
    assert f"0 {lost['criterion']}" in finding.details[0]


def test_a_text_with_an_open_bracket_is_named(world):
    world.plant("balanced", lambda rows: rows[5].update(question=rows[5]["question"] + " [visits.day"))
    own = world.read("balanced")[5]["id"]
    assert find_broken(world) == {"balanced.no_bracket_left": (own,), "balanced.placeholders": (own,)}


def test_a_text_template_with_an_open_bracket_is_named(world):
    for stem in ("text_templates", "back_check", "second_reading"):
        world.plant(stem, lambda rows: rows[0].update(text=rows[0]["text"] + " [sic"))
    own = world.read("back_check")[0]["id"]
    broken = find_broken(world)
    assert broken["text_templates.placeholders"] == broken["back_check.placeholders"] == (own,)
    assert "balanced.placeholders" in broken  # its questions are not this text filled in


def test_a_placeholder_that_was_not_filled_is_named(world):
    templates = {row["id"]: row["sql"] for row in world.read("sql_templates")}
    world.plant("fill_in", lambda rows: rows[0].update(sql=templates[rows[0]["sql_template"]]))
    broken = find_broken(world)
    own = world.read("fill_in")[0]["id"]
    assert broken["fill_in.placeholders"] == (own,)
    assert broken["fill_in.answer_reproduces"] == (own,)  # no name is [doctors.name]


def test_sql_that_is_no_query_of_ours_is_named_and_does_no_harm(world):
    before = world.database.read_bytes()
    bad = ["SELECT FROM WHERE", "DROP TABLE doctors", "SELECT 1; SELECT 2", "SELECT sum(1) FROM doctors"]
    for stem in ("fill_in", "unbalanced"):
        world.plant(
            stem, lambda rows: [row.update(sql=sql) for row, sql in zip(rows, bad, strict=False)] and rows
        )
    broken = find_broken(world)
    own = {stem: tuple(row["id"] for row in world.read(stem)[:4]) for stem in ("fill_in", "unbalanced")}
    assert broken["unbalanced.sql_parses"] == own["unbalanced"]
    assert broken["fill_in.sql_parses"] == broken["fill_in.answer_reproduces"] == own["fill_in"]
    assert world.database.read_bytes() == before


def test_an_edited_answer_is_named_wherever_it_stands(world):
    group = world.read("fill_in")[0]
    edit = {"answer": "surgery", "answer_rows": '[["surgery"]]'}
    named = {}
    for stem in ("fill_in", "unbalanced", "balanced"):
        world.plant(
            stem, lambda rows: [row.update(edit) for row in rows if row["sql"] == group["sql"]] and rows
        )
        named[f"{stem}.answer_reproduces"] = tuple(
            e["id"] for e in world.read(stem) if e["sql"] == group["sql"]
        )
    asked = [question["id"] for question in world.read("questions") if question["group"] == group["id"]]
    named["questions.as_in_its_set"] = tuple(asked)
    assert find_broken(world) == named
    assert [len(ids) for ids in named.values()] == [1, 2, 2, 2]


def test_an_answer_that_does_not_say_its_rows_is_named(world):
    world.plant("balanced", lambda rows: rows[0].update(answer="surgery"))
    own = (world.read("balanced")[0]["id"],)
    assert find_broken(world) == {
        "balanced.answer_reproduces": own, "balanced.as_its_group": own, "questions.as_in_its_set": own
    }  # fmt: skip


def test_answers_that_the_database_no_longer_gives_are_named(world):
    with closing(sqlite3.connect(world.database)) as connection, connection:
        connection.execute("UPDATE doctors SET specialty = 'surgery' WHERE name = 'Ada Zwick'")
        connection.execute("DELETE FROM clinics WHERE name = 'Xanadu House'")

    def is_stale(sql):
        return ("specialty" in sql and "Ada Zwick" in sql) or "Xanadu" in sql

    def is_about_stale(row):
        values = {value for fact in row["facts"] for value in fact["values"]}
        return row["name"] in ("Ada Zwick", "Xanadu House") or "Xanadu House" in values

    def list_stale(stem):
        return tuple(row["id"] for row in world.read(stem) if is_stale(row["sql"]))

    stems = ("fill_in", "unbalanced", "balanced")
    broken = find_broken(world)
    stale = [row["id"] for row in world.read("profiles") if is_about_stale(row)]
    assert set(broken.pop("profiles.facts_reproduce")) == set(stale)
    assert broken == {f"{stem}.answer_reproduces": list_stale(stem) for stem in stems}
    assert len(list_stale("fill_in")) == 2
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "fill_in.answer_reproduces"]
    told = " ".join(finding.details)
    assert 'the database returns [["surgery"]], not [["ozonotomy"]]' in told
    assert "the database returns [], not" in told


def test_a_question_that_stands_on_nothing_is_named(world):
    exists = {"group": "group_exists", "text_template": "text_exists", "sql_template": "sql_template_exists"}
    world.plant(
        "balanced",
        lambda rows: [rows[n].update({column: "0" * 16}) for n, column in enumerate(exists)] and rows,
    )
    broken = find_broken(world)
    for number, contract in enumerate(exists.values()):
        assert broken[f"balanced.{contract}"] == (world.read("balanced")[number]["id"],)


def test_a_row_without_a_source_is_named(world):
    gaps = [[], [{"kind": "row", "reference": "fill_in#0000"}], [{"kind": "call", "reference": "0000"}]]
    world.plant(
        "unbalanced", lambda rows: [rows[n].update(origin=origin) for n, origin in enumerate(gaps)] and rows
    )
    assert find_broken(world) == {"unbalanced.origins": tuple(e["id"] for e in world.read("unbalanced")[:3])}


def test_everything_is_written_though_it_broke_and_nothing_is_taken_away(world):
    world.plant("balanced", lambda rows: [row.update(question="[") for row in rows] and rows)
    planted = world.path("balanced").read_bytes()
    broken = find_broken(world)

    assert world.path("balanced").read_bytes() == planted
    out = world.folder / "contracts"
    rows = len(world.read("balanced"))
    (finding,) = [finding for finding in read_findings(out) if finding.id == "balanced.no_bracket_left"]
    assert finding.broken == finding.checked == rows > len(finding.ids) == 20
    page = (out / "index.html").read_text(encoding="utf-8")
    assert finding.ids[0] in page
    assert re.search(rf"{len(broken)} of \d+ contracts are broken", page)
    # Artifacts with failures come first and are expanded; failures come first in each artifact.
    states = re.findall(r'<tr data-row="{[^"]*state&#34;: &#34;(\w+)&#34;', page)
    opened = page.count('<details class="artifact" data-group open>')
    assert opened == len({finding.partition(".")[0] for finding in broken})
    assert states[0] == "broken"
    assert page.rindex("data-group open>") < page.index("data-group>")


def test_only_so_many_answers_are_run_again_where_it_is_asked(world):
    checked = {finding.id: finding.checked for finding in world.check(answers=1)}
    assert checked["fill_in.answer_reproduces"] == 4  # one per SQL template
    assert checked["balanced.answer_reproduces"] == 8  # a short and a long text each
    group = next(iter(world.read("fill_in")))
    edit = {"sql": group["sql"].replace("SELECT", "SELECT DISTINCT DISTINCT"), "answer": "x"}
    world.plant("unbalanced", lambda rows: rows[0].update(edit))
    assert world.read("unbalanced")[0]["id"] in find_broken(world, answers=1)["unbalanced.answer_reproduces"]


def test_a_document_that_stands_twice_is_named_and_so_is_its_entity(world):
    world.plant("documents", lambda rows: [*rows, dict(rows[1])])
    twice = world.read("documents")[1]["id"]
    assert find_broken(world) == {
        "documents.unique_ids": (twice, twice), "documents.one_per_entity": (twice, twice),
    }  # fmt: skip


def test_two_documents_of_one_entity_are_named_though_their_ids_differ(world):
    def copy(rows):
        return [*rows, {**rows[0], "id": "0" * 16}]

    world.plant("profiles", copy)
    world.plant("documents", copy)
    own = world.read("documents")[0]["id"]
    broken = find_broken(world)
    assert broken["documents.one_per_entity"] == broken["profiles.one_per_entity"] == (own, "0" * 16)


def test_a_document_that_is_too_short_or_too_long_is_named(world):
    texts = {0: "Short.", 2: "word " * 91}
    world.plant("documents", lambda rows: [rows[n].update(text=texts[n]) for n in texts] and rows)
    short, long = (world.read("documents")[n]["id"] for n in (0, 2))
    broken = find_broken(world)
    assert broken["documents.words"] == (short, long)
    assert set(broken) == {"documents.words", "documents.facts_told", "documents.writers"}
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "documents.words"]
    assert finding.details == ("has 1 words; expected 4 to 90", "has 91 words; expected 8 to 90")


def test_a_document_with_an_open_bracket_is_named(world):
    world.plant("documents", lambda rows: rows[1].update(text=rows[1]["text"] + " [sic"))
    planted = (world.read("documents")[1]["id"],)
    assert find_broken(world) == {"documents.no_bracket_left": planted, "documents.writers": planted}


def add_sentence(world, text, writer="model", place=0):
    """Append a sentence to a document, to its text and its list of sentences; return the row's id.

    place: the document's rank by number of sentences, from the highest.
    """

    def find(rows):
        return sorted(rows, key=lambda row: -len(row["sentences"]))[place]

    row = find(world.read("documents"))["id"]

    def plant(rows):
        (found,) = [member for member in rows if member["id"] == row]
        last = found["sentences"][-1]
        found["sentences"] = [*found["sentences"], {**last, "text": text, "writer": writer}]
        found["text"] = f"{found['text']} {text}"
        return rows

    world.plant("documents", plant)
    return row


def test_a_broken_and_a_false_sentence_are_named(world):
    sentences = {
        "The doctor has the eterity ertity ertity.": "no_broken_word",
        "The doctor is a doctor of the doctor.": "no_broken_word",
        "The clinic of the doctor is in Vex.": "no_contradiction",
        "The doctor was born in 1971.": "no_contradiction",
        "The doctor is highly renowned.": "no_contradiction",
    }
    planted = {text: add_sentence(world, text, place=place) for place, text in enumerate(sentences)}
    assert len(set(planted.values())) == len(sentences)
    broken = find_broken(world)
    findings = {finding.id: finding for finding in read_findings(world.folder / "contracts")}
    assert set(broken) == {"documents.no_broken_word", "documents.no_contradiction"}
    for contract in dict.fromkeys(sentences.values()):
        finding = findings[f"documents.{contract}"]
        told = dict(zip(finding.ids, finding.details, strict=True))
        texts = [text for text, other in sentences.items() if other == contract]
        assert set(told) == {planted[text] for text in texts}
        assert all(text in told[planted[text]] for text in texts)


def test_the_writers_of_all_sentences_are_counted_and_an_unknown_one_is_named(world):
    total = sum(len(row["sentences"]) for row in world.read("documents"))
    row = add_sentence(world, "This is a doctor.", writer="somebody")
    assert find_broken(world) == {"documents.writers": (row,)}
    add_sentence(world, "There is one doctor here.")
    assert find_broken(world) == {"documents.writers": (row,)}
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "documents.writers"]
    assert f"Of {total + 2} sentences, a model wrote 1 " in finding.says
    assert f"code wrote {total} from the facts" in finding.says


def test_a_document_that_lost_a_fact_is_named_with_the_fact(world):
    profile = next(profile for profile in world.read("profiles") if profile["facts"])
    fact = profile["facts"][0]

    def cut(rows):
        for row in rows:
            if row["id"] == profile["id"]:
                row["text"] = row["text"].replace(fact["values"][0], "nothing")
        return rows

    world.plant("documents", cut)
    planted = (profile["id"],)
    assert find_broken(world) == {"documents.facts_told": planted, "documents.writers": planted}
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "documents.facts_told"]
    assert fact["attribute"] in finding.details[0]


def test_a_document_of_which_too_few_facts_were_read_is_named(world):
    profile = max(world.read("profiles"), key=lambda profile: len(profile["facts"]))
    lost = profile["facts"][: len(profile["facts"]) // 2 + 1]  # readable is 0.5
    before = world.read("documents.dropped")
    gone = {row["id"] for row in before}
    more = [{**before[0], "id": fact["id"]} for fact in lost if fact["id"] not in gone]
    path = world.path("documents.dropped")
    pq.write_table(pa.Table.from_pylist([*before, *more], schema=schema_of(Dropped)), path)
    assert find_broken(world) == {"documents.facts_read": (profile["id"],)}


def test_a_document_that_is_gone_is_named_by_all_who_ask_for_it(world):
    lost = world.read("questions")[0]["true_document_ids"][0]
    world.plant("documents", lambda rows: [row for row in rows if row["id"] != lost])
    groups = [row["id"] for row in world.read("true_documents") if lost in row["documents"]]
    asked = [question["id"] for question in world.read("questions") if lost in question["true_document_ids"]]
    assert find_broken(world) == {
        "true_documents.documents_exist": tuple(groups), "questions.documents_exist": tuple(asked),
    }  # fmt: skip


def test_a_question_without_true_documents_and_one_with_anothers_are_named(world):
    rows = world.read("questions")
    other = next(n for n, row in enumerate(rows) if row["true_document_ids"] != rows[0]["true_document_ids"])
    edits = {0: None, other: rows[0]["true_document_ids"]}
    world.plant(
        "questions", lambda rows: [rows[n].update(true_document_ids=ids) for n, ids in edits.items()] and rows
    )
    assert find_broken(world) == {
        "questions.documents_exist": (rows[0]["id"],), "questions.as_its_group": (rows[other]["id"],),
    }  # fmt: skip


def test_a_question_that_is_of_no_set_or_was_changed_is_named(world):
    def change(rows):
        rows[0]["id"] = "0" * 16
        rows[1]["in_balanced"] = not rows[1]["in_balanced"]
        rows[2]["question"] += "?"
        return rows

    world.plant("questions", change)
    rows = world.read("questions")
    assert find_broken(world) == {
        "questions.set_exists": (rows[0]["id"], rows[1]["id"]),
        "questions.as_in_its_set": (rows[2]["id"],),
    }


def test_a_database_without_a_corpus_holds(world):
    for stem in ("profiles", "documents", "true_documents", "questions"):
        world.plant(stem, lambda rows: rows.clear())
        for kind in ("dropped", "calls"):
            if (path := world.path(f"{stem}.{kind}")).is_file():
                pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert {finding.state for finding in world.check("empty")} == {"held"}


def list_hashes(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_artifacts_give_the_same_bytes(world):
    world.plant("balanced", lambda rows: rows[0].update(question="["))
    hashes = []
    for out in ("one", "two"):
        with pytest.raises(ContractBroken):
            world.check(out)
        hashes.append(list_hashes(world.folder / out))
    assert hashes[0] == hashes[1]
    assert {"index.html", RESULTS} == set(hashes[0])
    text = "".join(page.read_text("utf-8") for page in (world.folder / "one").rglob("*.html"))
    assert str(world.folder) not in text
    assert "load_time" not in text


def test_what_a_model_wrote_is_no_markup_in_any_page(world):
    world.plant("balanced", lambda rows: rows[0].update(question=HOSTILE + "$x \x1b[2J", id=HOSTILE * 9))
    find_broken(world)
    pages = list((world.folder / "contracts").rglob("*.html"))
    texts = {page.name: page.read_text("utf-8") for page in pages}
    assert "onerror=alert(1)" in texts["index.html"]
    for name, text in texts.items():
        assert "<img" not in text, name


WATCH = """
import sys
import tempfile
heard = []
sys.dont_write_bytecode = True
told = {"socket.connect", "socket.getaddrinfo", "socket.sendto", "os.mkdir", "os.rename", "open"}
sys.addaudithook(lambda name, about: heard.append((name, about)) if name in told else None)
import tasks.grammar.publish.contracts
assert "great_expectations" not in sys.modules, "the stage's module alone imports it"
from tests.grammar.world import World
from pathlib import Path
found = World(Path(sys.argv[1]), Path(sys.argv[2])).check()
assert "great_expectations" in sys.modules and len(found) > 50
reached = [event for event in heard if event[0].startswith("socket.")]
assert not reached, reached
made = [str(about[0]) for name, about in heard if name in ("os.mkdir", "os.rename")]
made += [about[0] for name, about in heard if name == "open" and str(about[1])[:1] in ("w", "a", "x")]
passing = tempfile.gettempdir() + "/tmp"
named = [path for path in made if isinstance(path, str)]  # the others are pipes
elsewhere = [path for path in named if not path.startswith((sys.argv[1], passing, "/dev/null"))]
assert any(path.startswith(sys.argv[1]) for path in named)
assert not elsewhere, elsewhere
"""


@pytest.mark.timeout(1200)
def test_nothing_is_sent_or_left_anywhere(world):
    command = [sys.executable, "-c", WATCH, str(world.folder), str(world.database)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_answer_that_is_another_one_in_the_world_is_named_with_its_question(world, tmp_path):
    whole = tmp_path / "whole.sqlite"
    shutil.copyfile(world.database, whole)
    assert {finding.state for finding in world.check(whole=whole)} == {"held"}
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("UPDATE doctors SET hourly_rate = 1 WHERE name = 'Ada Zwick'")
        connection.execute("INSERT INTO clinics SELECT max(clinic_id) + 1, 'Further', 'Afar' FROM clinics")
        rows = sum(
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for (table,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
        )
    rate = next(
        row for row in world.read("fill_in") if "hourly_rate FROM" in row["sql"] and "Ada Zwick" in row["sql"]
    )

    assert find_broken(world, whole=whole) == {"fill_in.true_in_world": (rate["id"],)}
    (finding,) = [e for e in read_findings(world.folder / "contracts") if e.id == "fill_in.true_in_world"]
    assert finding.checked == len(world.read("fill_in"))
    assert finding.says.endswith(
        f"has {rows - 1} of the {rows} rows of the full database. "
        "A group is not checked if its texts limit the question to this database."
    )
    assert "Ada Zwick" in finding.details[0]
    assert finding.details[0].endswith(f"the full database returns [[1]], not {rate['answer_rows']}")


def test_what_is_no_query_is_not_run_in_the_world(world):
    world.plant("fill_in", lambda rows: rows[0].update(sql="DROP TABLE doctors"))
    world.plant("fill_in", lambda rows: rows[1].update(answer_rows="no rows"))
    broken = find_broken(world, whole=world.database)
    assert broken["fill_in.sql_parses"] == (world.read("fill_in")[0]["id"],)
    assert "fill_in.true_in_world" not in broken
