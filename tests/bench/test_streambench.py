"""Tests that the benchmark of StreamBench's steps fails if a limit is exceeded."""

import pytest

from bench import streambench


def test_a_step_that_takes_too_long_or_grows_too_fast_is_named():
    assert streambench.list_broken({100: 0.9, 1_000: 1.1, 10_000: 5.0}) == []
    assert streambench.list_broken({100: 0.9, 1_000: 1.1, 10_000: 5.01}) == [
        "a step over 10,000 memories took 5.01 ms"
    ]
    assert streambench.list_broken({10_000: 4.4, 100: 0.1, 1_000: 0.4}) == [
        "from 1,000 to 10,000 memories a step takes 11.0 times as long"
    ]


def test_a_broken_bound_ends_the_benchmark(monkeypatch, capsys):
    monkeypatch.setattr(streambench, "SIZES", (10,))
    monkeypatch.setattr(streambench, "MEASURED", 3)
    monkeypatch.setattr(streambench, "BOUND_MS", 1e6)
    monkeypatch.setattr(streambench, "collect_seldom", lambda: None)
    monkeypatch.setattr(streambench, "measure_streams", lambda: print("streams"))
    streambench.main()
    said = capsys.readouterr().out
    assert "10 memories: " in said
    assert said.endswith("streams\n"), "the ratio is measured all the same"
    monkeypatch.setattr(streambench, "BOUND_MS", 1e-6)
    with pytest.raises(SystemExit, match="a step over 10 memories took"):
        streambench.main()
