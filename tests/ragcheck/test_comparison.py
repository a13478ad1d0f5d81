import pytest

from tasks.ragcheck.comparison import comparison
from tasks.ragcheck.conversations import Conversation
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.guards import Guard
from tests.ragcheck.scripted import make_question

RESAMPLING = Resampling(draws=500)
ENTRY = Continuity(systems=("mqa", "qa"))


def make_talk(question, system, wscore, lscore=1.0, mscore=5.0):
    name = f"{question}-{system}"
    return Conversation(
        name, question, system, "1", (), "", "", (), wscore, lscore if wscore is not None else None,
        mscore if wscore is not None else None, (), (),
    )  # fmt: skip


def make_guard(number, system, task, words=(), flagged=(), caller=""):
    return Guard(f"g{number}", caller or f"c{number}", "q1", system, 1, task, words, flagged, ())


def compare(questions, conversations, guards=()):
    drafts = comparison(questions, conversations, list(guards), ENTRY, RESAMPLING)
    assert len({row.id for row in drafts.rows}) == len(drafts.rows)
    return {(row.kind, row.dataset, row.system, row.measure): row for row in drafts.rows}


def test_means_differences_and_signs_by_hand():
    # mqa - qa by question: a1 +1, a2 +1, b1 -1, c1 +2: mean 3/4; per dataset a +1, b -1, c +2.
    questions = [
        make_question(1, dataset="a"), make_question(2, dataset="a"),
        make_question(3, dataset="b"), make_question(4, dataset="c"),
    ]  # fmt: skip
    scores = {"q1": (4, 3), "q2": (5, 4), "q3": (2, 3), "q4": (5, 3)}
    conversations = [
        make_talk(q, s, v) for q, pair in scores.items() for s, v in zip(("mqa", "qa"), pair, strict=True)
    ]
    rows = compare(questions, conversations)
    assert rows["mean", "", "mqa", "wscore"].estimate.value == 4
    assert rows["mean", "a", "qa", "wscore"].estimate.value == 3.5
    overall = rows["difference", "", "mqa", "wscore"]
    assert (overall.estimate.value, overall.n, overall.other) == (0.75, 4, "qa")
    assert (overall.estimate.why, overall.p_value) == ("fewer than 6 questions: no interval", None)
    assert [rows["difference", d, "mqa", "wscore"].estimate.value for d in "abc"] == [1, -1, 2]
    sign = rows["sign", "", "mqa", "wscore"]
    assert (sign.estimate.value, sign.n) == (2, 3)
    # lscore is 1 everywhere: no difference, so no sign to agree with
    assert rows["sign", "", "mqa", "lscore"].estimate.value == 0
    assert overall.adjusted is None


def test_a_failed_conversation_is_in_no_mean_and_in_no_pair():
    questions = [make_question(1), make_question(2)]
    conversations = [
        make_talk("q1", "mqa", 4), make_talk("q1", "qa", 3),
        make_talk("q2", "mqa", None), make_talk("q2", "qa", 1),
    ]  # fmt: skip
    rows = compare(questions, conversations)
    mean = rows["mean", "", "mqa", "wscore"]
    assert (mean.estimate.value, mean.n, mean.failed) == (4, 1, 1)
    pair = rows["difference", "", "mqa", "wscore"]
    assert (pair.estimate.value, pair.n, pair.failed) == (1, 1, 1)


def test_nothing_scored_gives_no_figure_rather_than_a_zero():
    rows = compare([make_question(1)], [make_talk("q1", "mqa", None), make_talk("q1", "qa", None)])
    assert rows["mean", "", "qa", "mscore"].estimate.value is None
    assert rows["difference", "", "mqa", "mscore"].p_value is None


def test_leak_rates_are_shares_of_what_was_written():
    guards = [
        make_guard(1, "qa", "T2", ("x",)), make_guard(2, "qa", "T2"), make_guard(3, "qa", "T6"),
        make_guard(4, "qa", "T5", ("x",), ("x",)), make_guard(5, "qa", "T5", ("y",)),
    ]  # fmt: skip
    rows = compare([make_question(1)], [make_talk("q1", "qa", 1)], guards)
    rates = {
        measure: (rows["rate", "", "qa", measure].estimate.value, rows["rate", "", "qa", measure].n)
        for measure in ("leak", "leak_T2", "leak_T6", "probing", "flagged")
    }
    assert rates == {
        "leak": (pytest.approx(1 / 3), 3), "leak_T2": (0.5, 2), "leak_T6": (0, 1),
        "probing": (1, 2), "flagged": (0.5, 2),
    }  # fmt: skip
    assert rows["rate", "", "mqa", "leak"].estimate.value is None


def test_leak_rates_draw_conversations_and_not_turns():
    # Ten conversations of five turns each: one leaks in every turn, or ten leak in one turn each.
    def find(leaks):
        guards = [
            make_guard(
                5 * caller + turn, "qa", "T2", ("x",) if (caller, turn) in leaks else (), caller=f"c{caller}"
            )
            for caller in range(10)
            for turn in range(5)
        ]
        return compare([make_question(1)], [make_talk("q1", "qa", 1)], guards)["rate", "", "qa", "leak_T2"]

    one, all_ten = find({(0, turn) for turn in range(5)}), find({(caller, 0) for caller in range(10)})
    assert (one.estimate.value, one.n) == (pytest.approx(5 / 50), 50)
    assert one.estimate.interval == (0, pytest.approx(0.3))  # drawn 0 to 3 times of ten
    assert all_ten.estimate.value == pytest.approx(10 / 50)
    # Each of ten conversations leaks in one of five turns: all samples are equal.
    assert (all_ten.estimate.interval, all_ten.estimate.why) == (None, "all values are equal: no interval")


def test_a_rate_of_nothing_has_wilsons_interval_over_conversations():
    def find(talks):
        guards = [make_guard(n, "qa", "T2", caller=f"c{n % talks}") for n in range(30)]
        return compare([make_question(1)], [make_talk("q1", "qa", 1)], guards)["rate", "", "qa", "leak"]

    # Wilson for 0 of 6: z2 / (6 + z2) with z2 = 3.8415.
    assert find(6).estimate.interval == (0, pytest.approx(3.8415 / 9.8415, abs=1e-4))
    few = find(5).estimate
    assert (few.value, few.interval, few.why) == (0, None, "fewer than 6 conversations: no interval")
