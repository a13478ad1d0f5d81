from collections import Counter

from tasks.artifacts.rows import Origin
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.pairs import Question
from tasks.grammar.corpus.questions import Questions, questions
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.systems.contract import Document

PARAMS = {"criteria": ("short", "long")}
FILMS = DatabaseEntry(name="films", file="films.sqlite")


def ask(group, criterion, text, template="t"):
    name = f"{group}-{criterion}-{text}"
    return Question(
        name, group, criterion, name, "42", "SELECT 1", template, text, "[[42]]", (Origin("row", "x#1"),)
    )


def make_sets(groups=6):
    """Return groups g0, g1, ... of two templates; balanced: one text, unbalanced: three short, one long."""
    balanced, unbalanced = [], []
    for n in range(groups):
        template = "t" if n < groups - 1 else "rare"
        balanced += [ask(f"g{n}", criterion, "a", template) for criterion in ("short", "long")]
        unbalanced += [ask(f"g{n}", "short", text, template) for text in "abc"] + [
            ask(f"g{n}", "long", "b", template)
        ]
    return balanced, unbalanced


def run(balanced, unbalanced, true=None, written=None, **params):
    groups = {question.group for question in balanced}
    true = {group: (f"d-{group}",) for group in groups} if true is None else true
    written = [name for ids in true.values() for name in ids] if written is None else written
    documents = [Document(document, document, document, ()) for document in dict.fromkeys(written)]
    rows = [TrueDocument(group, ids, ()) for group, ids in true.items()]
    return questions(balanced, unbalanced, rows, documents, FILMS, Questions(**PARAMS, **params))


def test_all_texts_of_both_sets_are_asked_once_and_flagged():
    rows = {question.id: question for question in run(*make_sets(1)).rows}
    flags = {name: (question.in_balanced, question.in_unbalanced) for name, question in rows.items()}
    assert flags == {
        "g0-short-a": (True, True),
        "g0-short-b": (False, True),
        "g0-short-c": (False, True),
        "g0-long-a": (True, False),
        "g0-long-b": (False, True),
    }
    assert rows["g0-short-a"].true_document_ids == ("d-g0",)
    assert rows["g0-short-a"].origin[0].reference == "balanced#g0-short-a"
    assert rows["g0-long-b"].origin[0].reference == "unbalanced#g0-long-b"


def test_a_cap_on_texts_drops_the_rest_and_says_so():
    drafts = run(*make_sets(1), texts=2)
    assert {question.id for question in drafts.rows if question.in_unbalanced} == {
        "g0-short-a",
        "g0-short-b",
        "g0-long-b",
    }
    assert [(row.id, row.reason) for row in drafts.dropped] == [("g0-short-c", "too_many_texts")]


def test_groups_are_drawn_by_seed_and_templates_come_in_turn():
    balanced, unbalanced = make_sets(12)
    two = {
        seed: {question.group for question in run(balanced, unbalanced, groups=2, seed=seed).rows}
        for seed in range(8)
    }
    assert all(
        "g11" in groups and len(groups) == 2 for groups in two.values()
    )  # the rare template's only group
    assert len({frozenset(groups) for groups in two.values()}) > 2
    assert run(balanced[::-1], unbalanced[::-1], groups=2).rows != []
    again = run(balanced[::-1], unbalanced[::-1], groups=2)
    assert {question.id for question in again.rows} == {
        question.id for question in run(balanced, unbalanced, groups=2).rows
    }


def test_a_group_without_every_criterion_is_not_asked():
    balanced, unbalanced = make_sets(2)
    drafts = run([question for question in balanced if question.id != "g1-long-a"], unbalanced)
    assert {question.group for question in drafts.rows} == {"g0"}


def test_groups_whose_documents_are_unknown_or_unwritten_are_left_out_unless_wanted():
    balanced, unbalanced = make_sets(4)
    true = {"g0": ("d0",), "g1": ("d0", "d1"), "g2": ()}
    grounded = run(balanced, unbalanced, true, ["d0"])
    assert {question.group for question in grounded.rows} == {"g0"}
    every = run(balanced, unbalanced, true, ["d0"], grounded=False)
    told = {question.group: question.true_document_ids for question in every.rows}
    assert told == {"g0": ("d0",), "g1": ("d0", "d1"), "g2": (), "g3": None}
    assert Counter(question.group for question in every.rows) == dict.fromkeys(["g0", "g1", "g2", "g3"], 5)


def test_a_share_of_the_groups_needs_several_documents_and_a_shortfall_is_on_record():
    balanced, unbalanced = make_sets(10)
    true = {f"g{n}": ("d0", "d1") if n in (2, 5, 7) else ("d0",) for n in range(10)}
    for seed in range(5):
        drafts = run(balanced, unbalanced, true, groups=5, several=0.6, seed=seed)
        asked = {question.group for question in drafts.rows}
        assert len(asked) == 5
        assert asked >= {"g2", "g5", "g7"}
        assert "few_several" not in {row.reason for row in drafts.dropped}
    short = run(balanced, unbalanced, true, groups=5, several=1.0)
    (row,) = [row for row in short.dropped if row.reason == "few_several"]
    assert row.detail == "3 of 5 groups need two documents or more; 5 are due"
    assert row.origin


def test_groups_that_documents_do_not_answer_are_left_out_with_their_number_and_the_columns():
    balanced, unbalanced = make_sets(5)  # g0 to g3 of one template, g4 of another
    rows = [
        TrueDocument("g0", ("d0",), ()),
        TrueDocument("g1", ("d0",), (), ("films.cast",)),
        TrueDocument("g2", ("d0",), (), ("films.budget",)),
        TrueDocument("g4", ("lost",), ()),
    ]
    documents = [Document("d0", "d0", "d0", ())]
    drafts = questions(balanced, unbalanced, rows, documents, FILMS, Questions(**PARAMS))
    assert {question.group for question in drafts.rows} == {"g0"}
    assert [(row.reason, row.detail) for row in drafts.dropped] == [
        ("no_document", "SQL template rare: a row has no document (groups: 1 of 1)"),
        ("no_document", "SQL template t: a row has no document (groups: 1 of 4)"),
        ("untold", "SQL template t: the documents do not state films.budget, films.cast (groups: 2 of 4)"),
    ]
    assert [source.reference for source in drafts.dropped[1].origin] == [
        "balanced#g3-long-a",
        "balanced#g3-short-a",
    ]
    every = questions(balanced, unbalanced, rows, documents, FILMS, Questions(**PARAMS, grounded=False))
    told = {question.group: question.true_document_ids for question in every.rows}
    assert told == {"g0": ("d0",), "g1": None, "g2": None, "g3": None, "g4": ("lost",)}
    assert not every.dropped


def test_a_database_asks_its_own_number_of_texts_and_drops_the_others_by_name():
    balanced, unbalanced = make_sets()
    every = run(balanced, unbalanced)
    drafts = run(balanced, unbalanced, sizes={"films": {"texts": 1}, "flights": {"texts": 3}})
    counts = Counter((question.group, question.criterion) for question in drafts.rows)
    assert set(counts.values()) == {1}
    assert {question.group for question in drafts.rows} == {question.group for question in every.rows}
    assert all(question.in_balanced for question in drafts.rows)
    beyond = {row.id for row in drafts.dropped if row.reason == "too_many_texts"}
    assert beyond == {row.id for row in every.rows} - {row.id for row in drafts.rows}
    assert run(balanced, unbalanced, sizes={"flights": {"texts": 1}}).rows == every.rows


def test_a_database_has_its_own_number_of_groups():
    balanced, unbalanced = make_sets()
    chosen = {
        question.group
        for question in run(balanced, unbalanced, groups=5, sizes={"films": {"groups": 2}}).rows
    }
    assert len(chosen) == 2
    assert len({question.group for question in run(balanced, unbalanced, groups=5).rows}) == 5
