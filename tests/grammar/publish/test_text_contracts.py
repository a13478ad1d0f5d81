from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.publish.contracts import expect_no_example, expect_own_sentences, read_examples
from tests.grammar.world import SETTINGS

CALL = (Origin("row", "text_templates#t"), Origin("call", "c"))
EXCUSE = "I am putting some notes in order for a friend."


def find_wrong(tmp_path, shared, own, origin=CALL):
    texts = [f"{EXCUSE} What is number {n} of [a.b]?" for n in range(shared)]
    texts += [f"What is the number {n} of the very old thing [a.b]?" for n in range(own)]
    rows = [TextTemplate(str(n), "s", "long", text, origin) for n, text in enumerate(texts)]
    write_rows(tmp_path / "back_check.parquet", TextTemplate, rows)
    rule = expect_own_sentences(tmp_path / "back_check.parquet")
    records = [{**vars(row), "origin": [vars(part) for part in row.origin]} for row in rows]
    return [found for record in records if (found := rule.check(record))]


def test_a_sentence_in_more_than_three_in_a_hundred_texts_is_named(tmp_path):
    assert find_wrong(tmp_path, 1, 0) == []
    assert (
        find_wrong(tmp_path, 2, 5)[0] == "2 of 7 texts contain: i am putting some notes in order for a friend"
    )
    assert find_wrong(tmp_path, 3, 97) == []
    assert len(find_wrong(tmp_path, 4, 96)) == 4


def test_a_persons_texts_may_repeat_themselves(tmp_path):
    assert find_wrong(tmp_path, 5, 0, CALL[:1]) == []


def test_a_sentence_of_the_prompts_example_is_named():
    rule = expect_no_example(read_examples(SETTINGS))
    found = rule.check({"criterion": "short", "text": "Height of lighthouse [films.title] in feet?"})
    assert found == "contains a sentence of the prompt's example: height of lighthouse [] in feet"
    assert rule.check({"criterion": "short", "text": "height of the film [films.title]"}) == ""
    assert rule.check({"criterion": "own", "text": "height of lighthouse [a.b] in feet"}) == ""
