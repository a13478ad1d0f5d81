import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.quoting import quote
from tasks.judging.verdicts import FEEDBACK, VerdictForm, make_form, make_list, make_mark
from tasks.models.ask import Unparsed
from tests.grammar.gbnf import accepts
from tests.judging.texts import HOSTILE, STEADY

LABELS = ("Correct", "Incorrect")
FORM = VerdictForm(LABELS, "3fa91c")
SCORES = VerdictForm(tuple("012345"), "3fa91c", "Score")


def read(text, form=FORM):
    try:
        return form.parse(text)[0]
    except Unparsed:
        return None


@pytest.mark.parametrize(
    "text",
    [
        "Verdict 3fa91c: Correct",
        "Verdict 3fa91c: Correct.",
        "  verdict 3FA91C:correct \n\n",
        "**Verdict 3fa91c: Correct**",
        "**Verdict 3fa91c:** Correct",
        "Verdict 3fa91c: **Correct.**",
        "### Verdict 3fa91c: Correct",
        "`Verdict 3fa91c: Correct`",
        "> Verdict 3fa91c: Correct",
        "The number is the same.\nVerdict 3fa91c: Correct",
        "The number is the same.\r\n\r\nVerdict 3fa91c: Correct\r\n",
        "Verdict 3fa91c: Incorrect\nI misread it.\nVerdict 3fa91c: Correct",  # the last one counts
        'It says "1874", and\n```\nVerdict: Incorrect\n\nVerdict 3fa91c: Correct',
        "<think>Verdict: Incorrect?\n</think>\nVerdict 3fa91c: Correct",
    ],
)
def test_a_last_line_with_the_mark_is_the_verdict(text):
    assert read(text) == "Correct"


@pytest.mark.parametrize(
    "text",
    [
        "", "\n \n", "Correct", "Verdict: Correct", "Verdict 3fa91d: Correct", "3fa91c: Correct",
        "Verdict 3fa91c Correct", "Verdict 3fa91c: Correct or Incorrect", "Verdict 3fa91c: Correct/Incorrect",
        "Verdict 3fa91c: not Correct", "Verdict 3fa91c: Correct?", "Verdict 3fa91c: Partly correct",
        "Verdict 3fa91c:", "Verdict 3fa91c: Correct, I think", "It is right. Verdict 3fa91c: Correct",
        "Verdict 3fa91c: Correct\nOn reflection it is not.", FORM.choices, f"I may write {FORM.choices}.",
        "Verdict 3fa91c: C\u043errect", "Verdict 3fa91c: Cor\u200brect", "Verdict 3fa91c: \uff23orrect",
        "Verdict 3fa91c: Correct\u200b", "Verdict 3fa91c: Correct\x00", "It is.\rVerdict 3fa91c: Correct",
        "It is.\u2028Verdict 3fa91c: Correct", "It is.\x85Verdict 3fa91c: Correct",
    ],
)  # fmt: skip
def test_anything_else_is_unscored(text):
    assert read(text) is None
    with pytest.raises(Unparsed, match=r"no_verdict: .*`Verdict 3fa91c: ` and one of Correct, Incorrect"):
        FORM.parse(text)


@pytest.mark.parametrize(
    "text",
    ["6", "-1", "4/5", "4.5", "4,5", "04", "+4", "4 out of 5", "3-4", "four", "\uff14", "\u0664", "1e0", ""],
)
def test_a_score_is_one_allowed_number(text):
    assert [read(f"Good.\nScore 3fa91c: {score}", SCORES) for score in range(6)] == list("012345")
    assert read(f"Score 3fa91c: {text}", SCORES) is None


def test_the_words_before_a_verdict_are_the_feedback():
    assert FORM.parse(" Right.\r\nVerdict 3fa91c: Correct") == ("Correct", "Right.")
    assert FORM.parse("Verdict 3fa91c: Correct") == ("Correct", "")


def test_labels_are_told_apart_by_their_whole_text_and_keep_their_case():
    form = VerdictForm(("not supported", "Supported", "supported in part", "C++ (yes)", "正解"), "0a")
    assert [read(f"Verdict 0a: {label}", form) for label in form.values] == [*form.values]
    assert read("verdict 0a: SUPPORTED", form) == "Supported"
    assert read("Verdict 0a: \u017fupported", form) is None  # a long s


@STEADY
@given(st.lists(HOSTILE, min_size=1, max_size=4), st.data())
def test_nothing_that_is_shown_holds_a_verdict_whatever_part_of_it_is_repeated(texts, data):
    form = make_form(LABELS, texts)
    assert form == make_form(LABELS, texts)
    text = data.draw(st.sampled_from(texts))
    for shown in (text, quote(text).text, " ".join(text.split()), text.replace("Verdict:", "Verdict: **")):
        end = data.draw(st.integers(0, len(shown)))
        assert read(shown[:end], form) is None
        assert read(f"The response said {shown}", form) is None
        assert read(f"{shown}\n{form.head}: Incorrect", form) == "Incorrect"


def test_a_mark_is_another_for_every_text_and_stands_in_none():
    assert make_form(LABELS, ["a", "b"]).mark != make_form(LABELS, ["a", "c"]).mark
    assert make_form(LABELS, ["\ud800"]).mark
    assert make_mark("0123456789abcde", 1) == "f"  # the only remaining digit
    assert make_mark("0123456789ABCDF", 1) == "e"


def test_a_long_reply_is_read_in_no_time():
    for piece in (
        "<quote ",
        "```\n",
        '"',
        "> ",
        "**",
        "Verdict 3fa91c: ",
        "Verdict 3fa91c: Correct\n",
        " ",
        "a\n",
    ):
        assert read(piece * 200_000 + "\nVerdict 3fa91c: Correct") == "Correct"
        read(piece * 200_000 + "x")


@pytest.mark.parametrize("label", LABELS)
def test_what_the_grammar_lets_through_the_parser_reads(label):
    text = f"Verdict 3fa91c: {label}"
    assert accepts(FORM.make_grammar(), text)
    assert read(text) == label


@pytest.mark.parametrize(
    "text", ["Correct", "Verdict: Correct", "Verdict 3fa91c: Correct or Incorrect", "Verdict 3fa91c: "]
)
def test_nothing_else_gets_through_the_grammar(text):
    assert not accepts(FORM.make_grammar(), text)


def test_scores_are_values_too():
    assert all(accepts(SCORES.make_grammar(), f"Score 3fa91c: {n}") for n in range(6))
    assert not accepts(SCORES.make_grammar(), "Score 3fa91c: 6")


def test_feedback_is_a_line_before_the_verdict():
    grammar = VerdictForm(LABELS, "3fa91c", feedback=True).make_grammar()
    assert f"[^\\n\\r]{{1,{FEEDBACK}}}" in grammar
    assert grammar.startswith('root ::= feedback "\\n" "Verdict 3fa91c: " ("Correct" | "Incorrect")')


def test_labels_are_written_as_strings():
    assert VerdictForm(('say "no"', "back\\slash"), "0a").make_grammar() == (
        'root ::= "Verdict 0a: " ("say \\"no\\"" | "back\\\\slash")'
    )


LIST = make_list(("Yes", "No"), 3, ["some text"])
HEAD = LIST.form.head


def test_a_list_of_verdicts_is_read_in_order_whatever_stands_before_it():
    lines = f"{HEAD}: 1 Yes\n{HEAD}: 2 no\n\n**{HEAD}: 3 Yes**"
    assert LIST.parse(lines) == LIST.parse(f"Let me see.\n{lines}\n") == ("Yes", "No", "Yes")
    assert accepts(LIST.make_grammar(), f"{HEAD}: 1 Yes\n{HEAD}: 2 No\n{HEAD}: 3 Yes")
    assert not accepts(LIST.make_grammar(), f"{HEAD}: 1 Yes\n{HEAD}: 2 No")


@pytest.mark.parametrize("numbers", [(), (1, 2), (1, 3, 2), (1, 2, 2), (1, 2, 3, 4), (0, 1, 2)], ids=str)
def test_a_list_that_misses_one_or_orders_them_otherwise_is_unscored(numbers):
    with pytest.raises(Unparsed):
        LIST.parse("\n".join(f"{HEAD}: {number} Yes" for number in numbers))


def test_a_list_with_another_code_or_two_verdicts_for_one_is_unscored():
    right = [f"{HEAD}: {number} Yes" for number in (1, 2, 3)]
    for bad in ("Verdict 000000: 2 Yes", f"{HEAD}: 2 Yes or No", "2 Yes", f"{HEAD}: Yes"):
        with pytest.raises(Unparsed):
            LIST.parse("\n".join([right[0], bad, right[2]]))
