import pytest

from tasks.judging.grammars import FEEDBACK, judge_grammar
from tasks.judging.verdicts import parse_label, parse_score
from tests.grammar.gbnf import accepts

LABELS = ("Correct", "Incorrect")


@pytest.mark.parametrize("label", LABELS)
def test_what_the_grammar_lets_through_the_parser_reads(label):
    text = f"Verdict: {label}"
    assert accepts(judge_grammar(LABELS), text)
    assert parse_label(text, LABELS) == label


@pytest.mark.parametrize(
    "text", ["Correct", "Verdict: Correct or Incorrect", "Verdict: ", "So: Verdict: Correct"]
)
def test_nothing_else_gets_through(text):
    assert not accepts(judge_grammar(LABELS), text)


def test_scores_are_labels_too():
    grammar = judge_grammar("012345", field="Score")
    assert [parse_score(f"Score: {n}", 0, 5) for n in range(6) if accepts(grammar, f"Score: {n}")] == [
        *range(6)
    ]
    assert not accepts(grammar, "Score: 6")


def test_feedback_is_a_line_before_the_verdict():
    grammar = judge_grammar(LABELS, feedback=True)
    assert f"[^\\n\\r]{{1,{FEEDBACK}}}" in grammar
    assert grammar.startswith('root ::= feedback "\\n" "Verdict: " ("Correct" | "Incorrect")')


def test_labels_are_written_as_strings():
    assert judge_grammar(['say "no"', "back\\slash"]) == (
        'root ::= "Verdict: " ("say \\"no\\"" | "back\\\\slash")'
    )
