import pytest

from tasks.models.sending import progress
from tasks.models.sending.budget import Amount
from tasks.models.sending.client import CallResult
from tasks.models.sending.progress import CallCounter, Progress, format_time
from tests.models.scenes import make_entry, make_request


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def answer(number, *, live=True):
    return CallResult(make_entry(make_request(number)), live, Amount(0.5, 10) if live else Amount())


def test_rate_cost_and_time_left(clock):
    counter = CallCounter()
    counter.begin(10)
    clock[0] += 2
    counter.end(3, [answer(1), answer(2), answer(3, live=False)])
    counter.end(1, [])
    look = counter.read_progress()
    # Three calls in two seconds; six of ten calls remain.
    assert (look.answered, look.failed, look.waiting, look.per_second) == (2, 1, 6, 1.5)
    assert (look.usd, look.tokens, look.left_s) == (1.0, 20, 4.0)


def test_a_stall_shows_and_idle_time_does_not(clock):
    counter = CallCounter()
    counter.begin(2)
    clock[0] += 1
    counter.end(1, [answer(1)])
    clock[0] += 9
    assert counter.read_progress().per_second == 0.1
    counter.end(1, [answer(2)])
    clock[0] += 1_000
    counter.begin(1)
    clock[0] += 1
    counter.end(1, [answer(3)])
    assert counter.read_progress().per_second == 1.0


def test_before_the_first_answer_the_time_left_is_unknown():
    line = Progress(0, 0, 7, 0.0, 0.0, 0).describe()
    assert (
        line == "calls: 0 answered, 7 waiting, 0.0 a second, 0 tokens, $0.0000, time left unknown for these"
    )


def test_the_line_says_which_endpoint_only_fails():
    line = Progress(0, 0, 7, 0.0, 0.0, 0, ("ours: 5 failures in a row, for 40 s",)).describe()
    assert line.endswith("time left unknown for these; ours: 5 failures in a row, for 40 s")


def test_the_line_says_what_failed():
    line = Progress(1_200, 2, 90, 1.5, 0.1234, 45_120).describe()
    assert line == (
        "calls: 1200 answered, 2 failed, 90 waiting, 1.5 a second, 45,120 tokens, $0.1234, "
        "time left about 1:00 for these"
    )


def test_what_is_slow_is_counted_by_the_minute():
    line = Progress(17, 0, 3, 0.05, 0.0, 6_297).describe()
    assert line.startswith("calls: 17 answered, 3 waiting, 3.0 a minute, 6,297 tokens")


def test_the_time_left_is_of_the_whole_run_where_it_is_known_what_is_to_come():
    look = Progress(10, 0, 6, 1.5, 0.0, 0, to_come=894)
    assert look.left_s == 600
    assert look.describe().endswith("time left about 10:00 with 894 to come")


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (3_723, "1:02:03")])
def test_times_are_written_as_people_do(seconds, text):
    assert format_time(seconds) == text


def test_the_line_says_what_is_spent_of_the_budget():
    line = Progress(10, 0, 6, 1.5, 0.25, 900, limit_usd=2.0, limit_tokens=5_000).describe()
    assert "900 of 5,000 tokens, $0.2500 of $2.00, time left about 0:04" in line
