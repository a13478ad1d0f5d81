"""Tests of items: content, selection, the audit's rejections, contracts and statistics."""

import json
from collections import Counter
from dataclasses import asdict, replace

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Dropped, Origin
from tasks.errors import ContractBroken, StageFailed
from tasks.reports.figures_file import read_figures
from tasks.tanq.build.item_faults import (
    find_disorder,
    find_leak,
    find_shared_name,
    find_unlike_noun,
    find_unnamed_unit,
    list_faults,
)
from tasks.tanq.build.items import Items, choose_items, has_gap, items
from tasks.tanq.build.skills import make_graph
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing
from tasks.tanq.labels import Support
from tasks.tanq.publish.contracts import ROWS, ItemReferences, contracts, list_item_rules
from tasks.tanq.publish.statistics import statistics
from tasks.tanq.tables_set import SetStatistics, tabulate_set
from tests.tanq.made_set import (
    ENTRY,
    EXTENDED,
    FACTS,
    PROOFS,
    RELATIONS,
    REPHRASED,
    SEEDS,
    TABLES,
    THINGS,
    VERDICTS,
    make_skilled,
)


def make_items(**params):
    return items(
        make_skilled(), REPHRASED, TABLES, SEEDS, FACTS, THINGS, RELATIONS, PROOFS, VERDICTS,
        Items(**{"share": 0.5, **params}), ENTRY,
    )  # fmt: skip


MADE = make_items()


def test_an_item_has_its_questions_table_things_and_proofs():
    item = next(item for item in MADE.rows if item.kind == "composition")
    assert item.init_question == "Which countries are in a union?"
    assert item.instance_type == ("country",)
    assert [thing.id for thing in item.intermediates] == ["Between"]
    assert {thing.label for thing in item.things} >= {"Norway", "Oslo"}
    head, *lines = item.answer_table.splitlines()
    assert head.startswith("entity|capital|area")
    assert [line.split("|")[0] for line in lines] == [row.label for row in item.rows if row.filter_pass]
    facts = {fact for row in item.rows for cell in row.cells for fact in cell.facts}
    assert {proof.fact for proof in item.proofs} == facts
    assert {proof.eval_result for proof in item.proofs} == {"supported"}


def test_all_kinds_are_in_and_the_rest_is_counted():
    assert {item.kind for item in MADE.rows} == {"simple", "intersection", "composition"}
    assert len(MADE.rows) == ENTRY.questions
    assert {drop.reason for drop in MADE.dropped} == {"not_chosen"}
    assert len(MADE.rows) + len(MADE.dropped) == len(make_skilled())


def test_two_entities_of_an_item_with_one_name_are_a_fault():
    item = next(item for item in MADE.rows if len(item.things) > 1)
    assert find_shared_name(item) == ""
    first, second, *others = item.things
    alike = replace(item, things=(first, replace(second, label=first.label), *others))
    assert find_shared_name(alike) == f"two of its entities are called {first.label}"
    assert ("shared_name", find_shared_name(alike)) in list(list_faults(alike, {}))
    assert find_shared_name(replace(item, things=(first, first, second))) == ""  # the same entity twice


def test_a_set_whose_shapes_are_too_alike_is_no_set():
    with pytest.raises(StageFailed, match=r"more than 1% of the items \(tanq.items.share\)"):
        make_items(share=0.01)


def test_no_shape_is_above_its_share_and_seeds_are_spread():
    shapes = [f"shape{number % 30}" for number in range(300)]
    pool = [
        replace(
            MADE.rows[0],
            id=f"{number:04}",
            shape=shape,
            init_qid=f"s{number % 40}",
            ext_question=f"q{number % 80}",
        )
        for number, shape in enumerate(shapes)
    ]
    chosen = choose_items(pool, 60, Items(), 0)
    assert len(chosen) == 60
    assert max(Counter(item.shape for item in chosen).values()) <= 6
    assert len({item.init_qid for item in chosen}) == 40
    assert choose_items(pool, 60, Items(), 0) == chosen != choose_items(pool, 60, Items(), 1)


def test_questions_without_skills_leave_places_to_those_with():
    skilled = next(item for item in MADE.rows if item.skills)
    pool = [
        replace(
            skilled, id=f"{number:04}", shape=f"shape{number % 40}", init_qid=str(number),
            skills=skilled.skills if number % 10 == 0 else (),
        )
        for number in range(400)
    ]  # fmt: skip
    chosen = choose_items(pool, 60, Items(), 0)
    assert len(chosen) == 60
    assert sum(bool(item.skills) for item in chosen) >= 24
    assert len({item.shape for item in chosen}) >= 20


def test_questions_without_a_skill_have_their_share():
    skilled = next(item for item in MADE.rows if item.skills)
    pool = [
        replace(
            skilled, id=f"{number:04}", shape=f"shape{number}", init_qid=f"s{number // 4}",
            skills=skilled.skills if number % 4 == 0 else (),
        )
        for number in range(80)
    ]  # fmt: skip
    assert sum(not item.skills for item in choose_items(pool, 40, Items(), 0)) == 20
    few = choose_items(pool, 40, Items(plain=0.25), 0)
    assert (len(few), sum(not item.skills for item in few)) == (26, 6)


def test_classes_take_turns_where_they_are_told_to():
    pool = [
        replace(
            MADE.rows[0], id=f"{number:04}", shape=f"shape{number}", init_qid=str(number),
            noun="cities" if number % 10 == 0 else "countries",
        )
        for number in range(100)
    ]  # fmt: skip
    shares = [
        Counter(item.noun for item in choose_items(pool, 20, Items(classes=by_class), 0))
        for by_class in (True, False)
    ]
    assert shares[0] == {"cities": 10, "countries": 10}
    assert shares[1]["cities"] < 6


def test_fewer_items_are_chosen_where_one_shape_would_be_too_many():
    pool = [
        replace(MADE.rows[0], id=f"{number:04}", shape=f"shape{min(number, 10)}") for number in range(100)
    ]
    chosen = choose_items(pool, 60, Items(), 0)
    # ten shapes with one item, one shape with ninety: with at most 11 items, no shape exceeds 10%
    assert len(chosen) == 11


def test_tables_with_an_empty_cell_have_their_share_and_come_last():
    whole, row = MADE.rows[0], MADE.rows[0].rows[0]
    empty = replace(row, cells=(replace(row.cells[0], facts=(), values=()), *row.cells[1:]), filter_pass=True)
    gap = replace(whole, rows=(empty, *whole.rows[1:]))
    assert (has_gap(whole), has_gap(gap)) == (False, True)
    assert not has_gap(replace(gap, rows=(replace(empty, filter_pass=False), *whole.rows[1:])))
    pool = [
        replace(gap if number % 2 else whole, id=f"{number:04}", shape=f"shape{number % 40}")
        for number in range(80)
    ]
    assert sum(map(has_gap, choose_items(pool, 60, Items(), 0))) == 20
    few = choose_items(pool, 60, Items(gaps=0.2), 0)
    assert (len(few), sum(map(has_gap, few))) == (50, 10)


def test_an_answer_in_the_question_is_found():
    item = MADE.rows[0]
    assert find_leak(item) == ""
    for name in ("Norway", "Oslo"):
        leaky = replace(item, ext_question_cleaned=f"Which neighbours of {name} are in the North?")
        assert find_leak(leaky) == f"the question names {name}, which is in its answer table"
    assert find_leak(replace(item, ext_question_cleaned="Which Norwayans?")) == ""
    assert find_leak(replace(item, ext_question_cleaned="What borders South Norway?")) == ""


def test_death_before_birth_is_found():
    item = replace(MADE.rows[0], relations=("P570", "P569"))
    assert "P570, P569" in find_disorder(item, {"P569": 1, "P570": 2})
    assert find_disorder(replace(item, relations=("P569", "P570")), {"P569": 1, "P570": 2}) == ""


@pytest.mark.parametrize(
    ("noun", "classes", "fits"),
    [
        ("countries", ("sovereign state", "country"), True),
        ("countries", ("island country",), True),
        ("software", ("film",), False),
        ("people", ("human",), True),
        ("Italian footballers", ("footballer",), True),
        ("films", (), True),
        ("", ("film",), True),
    ],
)
def test_a_noun_is_what_answers_are_instances_of(noun, classes, fits):
    assert (find_unlike_noun(replace(MADE.rows[0], noun=noun, instance_type=classes)) == "") == fits


def test_an_amount_without_its_unit_is_found():
    item = MADE.rows[0]
    assert find_unnamed_unit(item) == ""
    bare = item.question.replace("square", "big")
    assert "square" in find_unnamed_unit(replace(item, question=bare))


def check(item, proofs=PROOFS, verdicts=VERDICTS):
    references = ItemReferences(
        make_graph(FACTS, RELATIONS, THINGS),
        {proof.id: proof for proof in proofs},
        {verdict.id: verdict for verdict in verdicts},
    )
    record = to_record(item)
    return {rule.name: found for rule in list_item_rules(references) if (found := rule.check(record))}


def to_record(item):
    return json.loads(json.dumps(asdict(item)))


@pytest.mark.parametrize("item", MADE.rows, ids=lambda item: item.shape)
def test_a_good_item_breaks_no_rule(item):
    assert check(item) == {}


def change_cell(item, row, place, values):
    old = item.rows[row]
    cells = list(old.cells)
    cells[place] = replace(cells[place], values=values)
    rows = list(item.rows)
    rows[row] = replace(old, cells=tuple(cells))
    return replace(item, rows=tuple(rows))


def test_a_planted_wrong_cell_is_named():
    found = check(change_cell(MADE.rows[0], 1, 0, ("Bergen",)))
    assert found["cells_follow"] == "capital of Sweden is Bergen; expected Stockholm"


def test_a_planted_wrong_pass_is_named():
    item = MADE.rows[0]
    row = item.rows[0]
    found = check(replace(item, rows=(replace(row, filter_pass=not row.filter_pass), *item.rows[1:])))
    assert "Norway" in found["filters_hold"]
    found = check(replace(item, answer_table=f"{item.answer_table}\nAtlantis|x"))
    assert "answer table" in found["filters_hold"]


def test_a_planted_proof_that_says_something_else_is_named():
    item = MADE.rows[0]
    planted = replace(item.proofs[0], text="The king likes fish.")
    found = check(replace(item, proofs=(planted, *item.proofs[1:])))
    assert found["proofs_say_it"].endswith("differs from the text that was verified: The king likes fish.")
    everywhere = [
        replace(proof, text="The king likes fish.", mention="") if proof.id == planted.id else proof
        for proof in PROOFS
    ]
    found = check(replace(item, proofs=(planted, *item.proofs[1:])), everywhere)
    assert "does not mention" in found["proofs_say_it"]


def test_a_cell_without_a_proof_is_named():
    item = MADE.rows[0]
    found = check(replace(item, proofs=item.proofs[1:]))
    assert f"no proof supports the fact {item.proofs[0].fact}" in found["cells_are_proven"]
    refuted = tuple(replace(proof, eval_result=Support.REFUTED) for proof in item.proofs)
    assert "cells_are_proven" in check(replace(item, proofs=refuted))


def test_a_proof_with_an_unknown_label_breaks_the_rules_of_its_item():
    item = MADE.rows[0]
    spoilt = replace(item, proofs=(replace(item.proofs[0], eval_result="Supported"), *item.proofs[1:]))
    found = check(spoilt)
    assert found["cells_are_proven"].startswith("proofs.0.eval_result is 'Supported': Input should be")


def test_a_leaked_answer_and_another_question_are_named():
    item = MADE.rows[0]
    leaky = f"Norway aside, {item.ext_question_cleaned}"
    assert "names Norway" in check(replace(item, ext_question_cleaned=leaky))["no_answer_in_question"]
    assert "question_follows" in check(replace(item, question="Who?"))


def write_set(folder, rows=None):
    made = {
        "seeds": SEEDS, "extend": EXTENDED, "proofs": PROOFS, "candidates": EXTENDED, "verify": VERDICTS,
        "tables": TABLES, "rephrase": REPHRASED, "skills": make_skilled(), "items": MADE.rows, **(rows or {}),
    }  # fmt: skip
    paths = {}
    for stem, listed_row in made.items():
        paths[stem] = folder / f"{stem}.parquet"
        fixed = [
            row
            if row.origin and stem in ("skills", "items")
            else replace(row, origin=(Origin("evidence", "made"),))
            for row in listed_row
        ]
        write_rows(paths[stem], ROWS[stem], sorted(fixed, key=lambda row: row.id))
    for stem, row, rows in (
        ("facts", Fact, FACTS),
        ("relations", Relation, RELATIONS),
        ("things", Thing, THINGS),
    ):
        paths[stem] = folder / f"{stem}.parquet"
        write_rows(paths[stem], row, sorted(rows, key=lambda row: row.id))
    return paths


def test_a_good_set_holds_its_contracts_and_a_planted_cell_and_proof_break_them(tmp_path):
    (tmp_path / "good").mkdir()
    assert contracts(**write_set(tmp_path / "good"), out=tmp_path / "good" / "contracts").rows_in
    (tmp_path / "bad").mkdir()
    broken = [
        replace(proof, text="It rains.", mention="") if not place else proof
        for place, proof in enumerate(PROOFS)
    ]
    planted = [change_cell(MADE.rows[0], 1, 0, ("Bergen",)), *MADE.rows[1:]]
    paths = write_set(tmp_path / "bad", {"proofs": broken, "items": planted})
    with pytest.raises(ContractBroken, match=r"proofs.parquet breaks mentions_fact.*items.parquet breaks"):
        contracts(**paths, out=tmp_path / "bad" / "contracts")


@pytest.mark.parametrize("fault", ["cell", "proof", "leak", "leaked cell"])
def test_each_planted_fault_alone_ends_the_run_and_is_named(tmp_path, fault):
    item = MADE.rows[0]
    other = replace(item.proofs[0], text="The king likes fish.")
    planted, said = {
        "cell": (
            change_cell(item, 1, 0, ("Bergen",)),
            "capital of Sweden is Bergen; expected Stockholm",
        ),
        "proof": (
            replace(item, proofs=(other, *item.proofs[1:])),
            "differs from the text that was verified: The king likes fish.",
        ),
        "leak": (
            replace(item, ext_question_cleaned=f"Norway aside, {item.ext_question_cleaned}"),
            "the question names Norway, which is in its answer table",
        ),
        "leaked cell": (
            replace(item, ext_question_cleaned=f"Beside that of Oslo, {item.ext_question_cleaned}"),
            "the question names Oslo, which is in its answer table",
        ),
    }[fault]
    assert said in find_broken(tmp_path, {"items": [planted, *MADE.rows[1:]]}, item)


@pytest.mark.parametrize(
    ("text", "objection"),
    [("The capital of Sweden is not Stockholm.", "denied"), ("Stockholm was formerly the capital.", "past")],
)
def test_a_proof_that_denies_its_fact_ends_the_run_though_text_and_verdict_agree(tmp_path, text, objection):
    name = "proof-Sweden-P36-Stockholm"
    item = next(row for row in MADE.rows if name in {proof.id for proof in row.proofs})

    def deny(proofs):
        return [replace(proof, text=text) if proof.id == name else proof for proof in proofs]

    turned = [replace(row, proofs=tuple(deny(row.proofs))) for row in MADE.rows]
    said = find_broken(tmp_path, {"proofs": deny(PROOFS), "items": turned}, item)
    assert f"the proof {name} from Sweden contradicts the fact ({objection}): {text}" in said


def find_broken(folder, rows, item):
    """Check a set's contracts; return the error line, which names the item."""
    paths = write_set(folder, rows)
    with pytest.raises(ContractBroken) as broken:
        contracts(**paths, out=folder / "contracts")
    assert item.id in str(broken.value)
    assert "\n" not in str(broken.value)
    return str(broken.value)


def test_statistics_are_what_a_plain_count_gives(tmp_path):
    dropped = {}
    for stem in (
        "list_questions",
        "extend",
        "proofs",
        "candidates",
        "verify",
        "tables",
        "rephrase",
        "skills",
        "items",
    ):
        dropped[f"{stem}_dropped"] = tmp_path / f"{stem}.dropped.parquet"
        write_rows(dropped[f"{stem}_dropped"], Dropped, [Dropped("a", "some_reason", "")])
    out = tmp_path / "statistics.json"
    statistics(list(MADE.rows), TABLES, RELATIONS, **dropped, out=out)
    figures = json.loads(out.read_text())
    assert figures["items"] == len(MADE.rows)
    used = Counter(use.name for item in MADE.rows for use in item.skills)
    used["no_skill"] = len([item for item in MADE.rows if item.skills == ()])
    numbers = Counter(str(len(item.skills)) for item in MADE.rows)
    values = {}
    for item in MADE.rows:
        for row in item.rows:
            for column, cell in zip(item.columns, row.cells, strict=True):
                values |= dict.fromkeys(cell.facts, column.kind)
    plain = {
        "kinds": (Counter(item.kind for item in MADE.rows), len(MADE.rows)),
        "skills": (used, len(MADE.rows)),
        "skills_per_question": (numbers, len(MADE.rows)),
        "types": (Counter(values.values()), len(values)),
    }
    for part, (counts, whole) in plain.items():
        assert set(counts) <= set(figures[part])
        for name, figure in figures[part].items():
            assert figure == {
                "count": counts[name],
                "share": pytest.approx(counts[name] / whole, abs=1e-4),
            }, name
    tables = tabulate_set(read_figures(out, SetStatistics))
    shown = {
        line.label: [cell.value for cell in line.cells] for table in tables.values() for line in table.lines
    }
    assert len(shown) == sum(len(figures[part]) for part in plain)
    assert shown["item",] == list(figures["types"]["item"].values())
    assert shown["skills per question", "two skills"] == list(figures["skills_per_question"]["2"].values())
    assert figures["with_skill"] == pytest.approx(1 - used["no_skill"] / len(MADE.rows), abs=1e-4)
    tokens = [len(item.question.split(" ")) for item in MADE.rows]
    rows = [len(item.answer_table.splitlines()) - 1 for item in MADE.rows]
    assert figures["means"]["tokens"] == pytest.approx(sum(tokens) / len(tokens), abs=1e-4)
    assert figures["means"]["rows"] == pytest.approx(sum(rows) / len(rows), abs=1e-4)
    columns = [len(item.columns) + 1 for item in MADE.rows]
    assert figures["means"]["columns"] == pytest.approx(sum(columns) / len(columns), abs=1e-4)
    absent = figures["absent_skills"]
    assert absent["filter_time"] == f"none of the {len(TABLES)} tables has a column of dates"
    assert absent["time_calculation"].endswith("has two columns of dates")
    assert figures["dropped"]["verify"] == {"some_reason": 1}
