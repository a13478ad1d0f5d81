"""Tests of decisions: combining several people's decisions, history, and invalid files."""

from dataclasses import dataclass, replace

import pytest

from tasks.errors import BadInput
from tasks.judging.decisions import (
    Decision,
    Decisions,
    PairAgreement,
    digest_row,
    load_decisions,
    name_decisions,
    write_decisions,
)


@dataclass(frozen=True)
class Row:
    id: str
    text: str
    keyword: str = ""


ROW = Row("1", "Which film won?")
SEEN = digest_row(ROW)


def act(reviewer, decision, text="", item="1", minute=0, **more):
    edited = {"text": text} if text else {}
    at = f"2031-11-23T10:{minute:02}:00.000000Z"
    fields = {"edited": edited, "seen": SEEN, **more}
    return Decision(item, "data/f/x/y.parquet", reviewer, at, decision, **fields)


def decide(*acts):
    return Decisions(tuple(acts)).decide("1", ROW)


def test_nobody_has_decided():
    assert Decisions().decide("1", ROW).state == "undecided"
    assert decide(act("a", "", rating=4)).state == "undecided"


@pytest.mark.parametrize(
    ("choices", "state"),
    [
        (["accept"], "accepted"),
        (["reject"], "rejected"),
        (["accept", "reject"], "split"),  # 1 : 1
        (["accept", "accept", "reject"], "accepted"),  # 2 : 1
        (["accept", "reject", "reject"], "rejected"),  # 1 : 2
        (["accept", "accept", "reject", "reject"], "split"),  # 2 : 2
    ],
)
def test_the_majority_decides_and_a_tie_is_split(choices, state):
    ruling = decide(*(act(f"p{n}", choice) for n, choice in enumerate(choices)))
    assert ruling.state == state
    assert ruling.keeps == (state == "accepted")
    assert ruling.people == tuple(f"p{n}" for n in range(len(choices)))


def test_an_edit_keeps_an_item_with_its_new_text():
    ruling = decide(act("a", "edit", "Who won?"), act("b", "edit", "Who won?"), act("c", "reject"))
    assert (ruling.state, ruling.text, ruling.keeps) == ("edited", "Who won?", True)


def test_one_edit_prevails_over_as_many_who_accept_the_text_as_it_is():
    assert decide(act("a", "accept"), act("b", "edit", "Who won?")).text == "Who won?"
    assert decide(act("a", "accept"), act("b", "accept"), act("c", "edit", "Who?")).state == "accepted"


def test_edits_that_differ_and_tie_are_split():
    assert decide(act("a", "edit", "Who won?"), act("b", "edit", "Who was it?")).state == "split"


def test_an_edit_against_a_rejection_is_split():
    assert decide(act("a", "edit", "Who won?"), act("b", "reject")).state == "split"


def test_a_decision_on_another_wording_does_not_count():
    decisions = Decisions((act("a", "accept"),))
    ruling = decisions.decide("1", replace(ROW, text="Which film lost?"))
    assert (ruling.state, ruling.outdated) == ("undecided", ("a",))
    assert decisions.decide("1").state == "accepted"


def test_what_is_not_judged_may_change():
    assert digest_row(replace(ROW, keyword="new")) == SEEN
    assert digest_row({"id": "1", "text": ROW.text, "n": 3}) == SEEN
    verdict = {"id": "1", "reason": "it is", "label": "Match"}
    assert digest_row(verdict) != digest_row({**verdict, "label": "Not Match"})


def test_the_last_act_stands_and_the_earlier_ones_are_history(tmp_path):
    path = tmp_path / "x.jsonl"
    write_decisions(path, [act("a", "reject", minute=9), act("a", "accept", minute=5), act("b", "accept")])
    decisions = load_decisions(path)
    assert [(decision.reviewer, decision.decision) for decision in decisions.history] == [
        ("a", "accept"), ("a", "reject"), ("b", "accept"),
    ]  # fmt: skip
    assert decisions.current["1"]["a"].decision == "reject"
    assert decisions.decide("1", ROW).state == "split"


def test_what_a_person_takes_back_does_not_count():
    assert decide(act("a", "reject"), act("a", "", minute=1)).state == "undecided"


def test_the_same_decisions_give_the_same_bytes(tmp_path):
    acts = [act("a", "accept"), act("b", "edit", "É\u2028\nx"), act("a", "reject", item="0")]
    write_decisions(tmp_path / "one.jsonl", acts)
    write_decisions(tmp_path / "other.jsonl", acts[::-1])
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()
    assert load_decisions(tmp_path / "one.jsonl").history == (acts[2], acts[0], acts[1])


def test_a_file_that_is_missing_or_empty_holds_none(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert load_decisions(tmp_path / "empty.jsonl") == load_decisions(tmp_path / "no.jsonl") == Decisions()


GOOD = (
    '{"item": "1", "artifact": "a", "reviewer": "a", "at": "2031-11-23T10:00:00.000000Z", '
    '"decision": "accept", "seen": "x", "edited": {}, "rating": null, "note": ""}'
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{", "<<<<<<< HEAD", "not valid JSON"),
        ('"accept"', '"perhaps"', "decision"),
        ('"rating": null', '"rating": 6', "rating"),
        ('"rating": null', '"rating": "5"', "rating"),
        ("10:00:00.000000Z", "10:00", "at"),
        ('"edited": {}', '"edited": {"text": "new"}', "edited"),
        ('"note": ""', '"note": "", "by": "b"', "by"),
        (', "note": ""', ', "note": 1', "note"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, old, new, said):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{GOOD}\n{GOOD.replace(old, new, 1)}\n")
    with pytest.raises(BadInput, match=rf"x\.jsonl, line 2: .*{said}"):
        load_decisions(path)


def test_agreement_of_two_people_by_hand():
    # a: accept accept reject reject, b: accept reject reject reject. Equal on 3 of 4: p_o = .75;
    # p_e = 2/4 * 1/4 + 2/4 * 3/4 = .5; kappa = (.75 - .5) / (1 - .5) = .5. Only a decided the last item.
    choices = {"a": "AARRA", "b": "ARRR"}
    words = {"A": "accept", "R": "reject"}
    acts = [
        act(name, words[letter], item=str(n)) for name, row in choices.items() for n, letter in enumerate(row)
    ]
    assert Decisions(tuple(acts)).measure_agreement() == [PairAgreement("a", "b", 4, 0.75, 0.5)]


def test_kappa_is_undefined_where_both_always_decide_the_same():
    acts = (act("a", "accept"), act("b", "accept"))
    assert Decisions(acts).measure_agreement() == [PairAgreement("a", "b", 1, 1.0, None)]


def test_agreement_leaves_out_what_the_two_saw_in_different_wordings():
    acts = (act("a", "accept"), act("b", "accept", seen="other"))
    assert Decisions(acts).measure_agreement() == []


def test_a_file_is_named_after_its_artifact():
    assert name_decisions("data/longform/sample/condense.parquet") == "longform-sample-condense.jsonl"
