"""Tests of the reported cost of a run, and of the total cost of its artifacts."""

from flows.commands.run import describe_bill
from tests.flows.running import finish_run


def run_and_bill(trial) -> str:
    return describe_bill(finish_run(trial.open()))


# An answer has 20 + 5 tokens; at the trial's prices, 20 x $100 + 5 x $1,000 per million = $0.007.
def test_a_run_says_what_it_paid_and_what_its_artifacts_stand_on(trial):
    assert run_and_bill(trial) == (
        "model calls: paid in this run: 125 tokens ($0.0350); "
        "the artifacts of 1 stage cost 125 tokens ($0.0350) in total"
    )
    trial.write("source.txt", "an oddity apple pear plum peach")
    # With an additional word, one more call is paid, and five calls are in the ledger.
    assert run_and_bill(trial) == (
        "model calls: paid in this run: 25 tokens ($0.0070); "
        "the artifacts of 1 stage cost 150 tokens ($0.0420) in total"
    )


def test_a_run_with_nothing_to_ask_says_nothing(trial):
    run_and_bill(trial)
    assert run_and_bill(trial) == ""


def test_calls_by_batch_count_at_their_share(trial):
    run_and_bill(trial)
    run = trial.open()
    session = run.open_session()
    ledger = session.dispatcher.ledger
    ledger.submit([("UPDATE calls SET batch = 1 WHERE key = (SELECT min(key) FROM calls)", ())])
    session.close()
    run.recorder.close()
    trial.write("source.txt", "an oddity apple pear plum peach")
    # Five calls at $0.0070 and one call at half this price.
    assert "cost 150 tokens ($0.0385) in total" in run_and_bill(trial)
