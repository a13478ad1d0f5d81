import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.grammar.assess.ablation import AblationPlan, DocumentAblation, diagnose_groups, plan_ablation


def test_groups_that_share_withheld_documents_are_planted_or_touched():
    true = {"a": ["1"], "b": ["1"], "c": ["1", "2"], "d": ["2"], "e": None, "f": []}
    # One group of the four that have documents. Whichever it is: a or b takes 1 (a and b planted, c touched),
    # c takes 1 and 2 (all four planted), d takes 2 (d planted, c touched).
    plan = plan_ablation(true, DocumentAblation(share=0.25))
    assert plan in (
        AblationPlan(frozenset("1"), frozenset("ab"), frozenset("c")),
        AblationPlan(frozenset("12"), frozenset("abcd"), frozenset()),
        AblationPlan(frozenset("2"), frozenset("d"), frozenset("c")),
    )
    assert {plan_ablation(true, DocumentAblation(share=0.25, seed=seed)).documents for seed in range(30)} == {
        frozenset("1"),
        frozenset("12"),
        frozenset("2"),
    }


@given(st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from("abcdef"), max_size=3)), st.integers())
def test_planted_and_touched_follow_from_the_documents(true, seed):
    plan = plan_ablation(true, DocumentAblation(share=0.5, seed=seed))
    for group, ids in true.items():
        left = set(ids) - plan.documents
        assert (group in plan.planted) == (bool(ids) and not left)
        assert (group in plan.touched) == (bool(left) and len(left) < len(set(ids)))


def test_recall_and_precision_by_hand():
    # planted a b c; called b c d; touched e is no mistake; f was not scored.
    plan = AblationPlan(frozenset("1"), frozenset("abcf"), frozenset("e"))
    found = diagnose_groups(plan, "abcde", "bcde")
    assert (found.found, found.called, found.planted) == (2, 3, 3)
    assert found.recall == found.precision == pytest.approx(2 / 3)
    nothing = diagnose_groups(plan, "d", "")
    assert (nothing.recall, nothing.precision) == (None, None)


def test_a_share_is_a_share():
    for share in (0, 1, -0.1):
        with pytest.raises(ValidationError):
            DocumentAblation(share=share)
