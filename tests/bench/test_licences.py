"""Tests of the licence policy for installed packages."""

from importlib.metadata import PathDistribution

import pytest

from bench.licences import Policy, is_allowed, list_faults, read_licence

POLICY = Policy(
    frozenset({"MIT", "Apache-2.0"}), {"MIT License": "MIT", "OSI Approved": ""}, {"odd": "its author agreed"}
)


@pytest.fixture
def package(tmp_path):
    def make(name, *lines):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        text = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *lines])
        (folder / "METADATA").write_text(text, encoding="utf-8")
        return PathDistribution(folder)

    return make


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT AND Apache-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND (Apache-2.0 OR GPL-3.0-only)", True),
        ("GPL-3.0-only", False),
        ("GPLv2 | EPLv1", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_an_expression_is_allowed_if_allowed_licences_can_meet_it(expression, allowed):
    assert is_allowed(expression, POLICY.allow) is allowed


def test_a_licence_is_read_from_the_newest_field_that_names_one(package):
    classifier = "Classifier: License :: OSI Approved :: MIT License"
    spelled = package("a", "License-Expression: Apache-2.0", classifier)
    assert read_licence(spelled, POLICY.spellings) == "Apache-2.0"
    assert is_allowed(read_licence(package("b", classifier), POLICY.spellings), POLICY.allow)
    vague = package("c", "Classifier: License :: OSI Approved", "License: MIT License")
    assert read_licence(vague, POLICY.spellings) == "MIT"
    assert read_licence(package("d", f"License: {'Permission is granted ' * 9}"), POLICY.spellings) == ""


def test_classifiers_hold_together(package):
    two = [f"Classifier: License :: OSI Approved :: {name}" for name in ("MIT License", "GPL")]
    assert not is_allowed(read_licence(package("both", *two), POLICY.spellings), POLICY.allow)


def test_what_breaks_the_policy_is_named_and_an_exception_is_used_or_taken_out(package):
    good, odd = package("good", "License-Expression: MIT"), package("odd", "License: shareware")
    bad = package("bad", "License-Expression: AGPL-3.0-only")
    assert list(list_faults([good, odd], POLICY)) == []
    assert list(list_faults([bad, good, odd], POLICY)) == ["bad 1.0 is under AGPL-3.0-only"]
    (stale,) = list_faults([good], POLICY)
    assert stale.startswith("odd ")
