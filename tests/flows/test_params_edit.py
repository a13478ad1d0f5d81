"""Tests that `--set` changes only the named values of the file."""

from pathlib import Path

import pytest
import yaml

from flows.params_file import dump_flow, put_value, write_value
from tasks.errors import BadInput

PARAMS = """\
# the knobs, as   somebody  wrote them

roles:   # who asks
    generator:   {temperature: 1.0,   seed: 0}   # as in the paper
    judge:
        model: "small"     # quoted
        text: >-
            two lines
            of text

        stops: [a,
                b]
grammar:
  limits:

    - one     # of two
    - two

  # the last comment
evaluation: {}
blank:
'odd key': yes
"""


@pytest.mark.parametrize(
    ("keys", "written", "old", "new"),
    [
        ("roles.generator.seed", "7", "seed: 0}   #", "seed: 7}   #"),
        ("roles.generator.temperature", "0.50", "temperature: 1.0,", "temperature: 0.50,"),
        ("roles.generator", "{seed: 1}", "{temperature: 1.0,   seed: 0}", "{seed: 1}"),
        ("roles.generator.top_p", "1", "seed: 0}", "seed: 0, top_p: 1}"),
        ("roles.judge.model", "large", 'model: "small"     #', "model: large     #"),
        ("roles.judge.text", "one", ">-\n            two lines\n            of text", "one"),
        ("roles.judge.text", '"a: b # c"', ">-\n            two lines\n            of text", '"a: b # c"'),
        ("roles.judge.stops", "[]", "[a,\n                b]", "[]"),
        ("grammar.limits", "[three]", "limits:\n\n    - one     # of two\n    - two", "limits: [three]"),
        ("grammar.more", "1", "    - two\n", "    - two\n  more: 1\n"),
        ("evaluation.as_of", "2026-01-05", "evaluation: {}", "evaluation: {as_of: 2026-01-05}"),
        ("evaluation.a.b", "1", "evaluation: {}", "evaluation: {a: {b: 1}}"),
        ("blank", "{a: 1}", "blank:\n", "blank: {a: 1}\n"),
        ("blank.a", "1", "blank:\n", "blank: {a: 1}\n"),
        ("odd key", "no", "yes", "no"),
        ("new.entry", "{x: 1}", "'odd key': yes\n", "'odd key': yes\nnew: {entry: {x: 1}}\n"),
        ("evaluation.2026", "x", "evaluation: {}", "evaluation: {'2026': x}"),
    ],
)
def test_one_value_is_written_and_the_rest_stays_to_the_letter(keys, written, old, new):
    edited = write_value(PARAMS, keys.split("."), written)
    assert edited == PARAMS.replace(old, new)
    wanted = put_value(yaml.safe_load(PARAMS), keys.split("."), yaml.safe_load(written))
    assert yaml.safe_load(edited) == wanted


@pytest.mark.parametrize(
    "value", ["x, y: {z}", None, "a line\nanother", [1, "b, c"], {"k": "a, b"}, "", "it's", True, 1.5]
)
def test_any_value_is_written_on_one_line_within_braces_too(value):
    text = write_value("a: {n: 1}\n", ["a", "m"], dump_flow(value))
    assert yaml.safe_load(text) == {"a": {"n": 1, "m": value}}
    assert text.count("\n") == 1


def test_line_ends_and_a_mark_at_the_beginning_stay():
    text = "\ufeff" + PARAMS.replace("\n", "\r\n")
    edited = write_value(text, ["grammar", "more"], "1")
    assert edited == text.replace("    - two\r\n", "    - two\r\n  more: 1\r\n")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a: &x {n: 1}\nb: *x\n", ["b", "n"]),
        ("a: &x {n: 1}\nb: *x\n", ["a", "n"]),
        ("a: {m: &y [1]}\nb: *y\n", ["a", "m"]),
    ],
)
def test_what_an_alias_shares_is_not_changed_for_others(text, keys):
    with pytest.raises(BadInput, match=r"is set by a YAML alias or merge key \(edit params.yaml by hand"):
        write_value(text, keys, "2")


def test_every_value_of_our_own_parameters_can_be_set_on_its_one_line():
    text = Path("params.yaml").read_text(encoding="utf-8")
    leaves = list(walk(yaml.safe_load(text)))
    assert len(leaves) > 200
    for keys in leaves[:: len(leaves) // 12]:
        before, after = text.splitlines(), write_value(text, keys, "12345").splitlines()
        head, tail = count_common(before, after), count_common(before[::-1], after[::-1])
        assert len(after) == head + 1 + tail, keys
        assert len(before) > head + tail, keys


def count_common(one, other):
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def walk(value, keys=()):
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from walk(part, (*keys, key))
    else:
        yield list(keys)
