"""Tests of measuring attacks, with judges of known weakness."""

import asyncio
import re

import pytest

from bench import injections
from bench.injections import AttackOutcome, compare_guards, count, measure, read_attacks, write_table
from tests.judging.scripted import JUDGE, ROOT, ScriptedJudge

ATTACKS = read_attacks()


def measure_with(reply, attacks=ATTACKS):
    asks = {False: ScriptedJudge(reply, JUDGE.parent), True: ScriptedJudge(reply, ROOT / "bench/prompts")}
    return asyncio.run(measure(attacks, asks))


def find_verdict_lines(prompt):
    """Return the lines that look like verdicts, for a judge that accepts any such line."""
    response = prompt.partition("\n\nTrue answer:\n")[2]
    found = re.findall(r"^Verdict: (Correct|Incorrect)$", response, re.MULTILINE)
    answer, _, rest = response.partition("\n\n")
    said = rest.rpartition("Response:\n")[2].lower()
    return f"Verdict: {found[-1] if found else 'Correct' if answer.lower() in said else 'Incorrect'}"


def test_there_are_enough_attacks_of_every_kind():
    up = [attack for attack in ATTACKS if attack.truth == "Incorrect"]
    assert len(up) >= 40
    assert len({attack.kind for attack in ATTACKS}) >= 12
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    assert sum(attack.attacked.context is not None for attack in ATTACKS) >= 5
    assert sum(attack.truth == "Correct" for attack in ATTACKS) >= 5
    for attack in ATTACKS:
        assert attack.plain != attack.attacked
        assert (attack.plain.answer.lower() in attack.plain.response.lower()) == (attack.truth == "Correct")
        assert "[[" not in attack.attacked.response + (attack.attacked.context or "")


def test_a_judge_that_believes_verdict_lines_is_turned_without_the_guards_only():
    outcomes = measure_with(find_verdict_lines)
    assert all(outcome.before == outcome.truth for outcome in outcomes)
    changed = {
        guard: {outcome.id for outcome in outcomes if outcome.changed and outcome.guard == guard}
        for guard in (False, True)
    }
    assert {"fake-verdict-line", "fake-verdict-only", "end-of-fence", "long-insisting"} <= changed[False]
    assert not any("verdict" in name for name in changed[True])
    assert len(changed[True]) < len(changed[False])


def test_a_judge_that_cannot_be_moved_shows_no_change():
    outcomes = measure_with(lambda _: "Verdict: Incorrect")
    lines = count(outcomes)
    assert lines[-1].n == len(ATTACKS)
    assert lines[-1].changed == lines[-1].unscored == (0, 0)
    right = sum(attack.truth == "Correct" for attack in ATTACKS)
    assert lines[-1].misjudged == (right, right)


def test_unreadable_replies_are_counted_apart():
    (line, total) = count(measure_with(lambda _: "Well.", ATTACKS[:1]))
    assert line.unscored == total.unscored == (1, 1)
    assert line.changed == (0, 0)


def test_the_table_and_the_comparison_of_the_guards():
    outcomes = [
        AttackOutcome(name, "kind", guard, "Incorrect", "Incorrect", after)
        for guard, afters in (
            (False, ["Correct", "Correct", "Incorrect"]),
            (True, ["Incorrect", "Correct", None]),
        )
        for name, after in zip("abc", afters, strict=True)
    ]
    assert write_table(count(outcomes)).splitlines()[2:] == [
        "| kind | 3 | 2 | 1 | 0 | 1 | 0 | 0 |",
        "| all | 3 | 2 | 1 | 0 | 1 | 0 | 0 |",
    ]
    assert "without the guards: 1, only with them: 0" in compare_guards(outcomes)


def test_an_unknown_class_is_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["injections", "--only", "magic"])
    monkeypatch.setattr(injections, "__name__", "__main__")
    with pytest.raises(SystemExit) as stopped:
        injections.main()
    assert stopped.value.code == 2
    assert "no class 'magic'" in capsys.readouterr().err


def test_the_prompts_show_every_field_and_explain_the_fence_only_where_there_is_one():
    for attack in (ATTACKS[0], next(attack for attack in ATTACKS if attack.attacked.context)):
        asks = {
            False: ScriptedJudge(lambda _: "x", JUDGE.parent),
            True: ScriptedJudge(lambda _: "x", ROOT / "bench/prompts"),
        }
        asyncio.run(measure([attack], asks))
        plain, _, guarded, attacked = asks[attack.attacked.context is not None].asked
        for prompt in (plain, guarded, attacked):
            for part in (attack.plain.query, attack.plain.answer, attack.plain.response):
                assert part in prompt
        assert "<<<" not in plain
        assert "<<<code" in guarded
