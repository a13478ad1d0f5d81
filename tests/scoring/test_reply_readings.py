"""Tests of the released reading of replies, against independent readers written from the rules."""

import json
import re
from collections import Counter

import pytest

from tasks.errors import BadInput
from tasks.scoring.ds1000 import DS1000, extract_code
from tasks.scoring.execution import Execution
from tasks.scoring.reply_readings import (
    check_reading,
    make_call,
    read_released_answer,
    read_released_call,
    read_released_code,
    read_released_diagnosis,
    read_released_sql,
    write_call,
)
from tasks.scoring.sql_text import prepare_prediction
from tests.scoring.made_replies import write_replies

COUNT = 3_000


def read_sql(reply: str) -> str:
    """Read SQL by one expression per case: a whole block, a block that ends on a line, text after a fence."""
    whole = re.fullmatch(r"```sql\n(.*)```", reply, re.DOTALL)
    inner = re.search(r"```sql\n(.*?)\n```", reply, re.DOTALL)
    text = reply
    if whole:
        text = whole[1]
    elif "```" in reply and inner:
        text = inner[1]
    elif "```" in reply:
        text = re.sub(r"```SQL\n", "```", re.sub(r"```sql\n", "```", reply))
        text = "".join(re.split("```", text)[1:])
    text = text.strip()
    return text if re.match("SELECT", text) else "SELECT " + text


def read_code(reply: str) -> str:
    found = re.search(r"```python(.*?)```", reply, re.DOTALL)
    return found[1] if found else reply


def cut(reply: str) -> str | None:
    """Return the text in the first balanced braces; None if a brace closes before any brace opens."""
    before, brace, rest = reply.partition("{")
    if "}" in before:
        return None
    open_braces, text = int(bool(brace)), brace
    for part in re.findall(r"[^{}]*[{}]", rest):
        text += part
        open_braces += 1 if part[-1] == "{" else -1
        if open_braces == 0:
            return text
    return ""


def load(reply: str) -> dict[str, object] | None:
    try:
        return json.loads(cut(reply) or "")
    except ValueError:
        return None


def read_answer(reply: str) -> str:
    found = load(reply)
    if cut(reply) is None:
        return ""
    if found is None:
        return reply
    answer = found["answer"] if "answer" in found else cut(reply)
    return answer if isinstance(answer, str) else ""


def read_call(reply: str) -> tuple[object, object] | None:
    found = load(reply) or {}
    for names in (("action", "action_input"), ("api", "arguments")):
        if set(names) <= set(found):
            api, arguments = (found[name] for name in names)
            try:
                return api, json.loads(arguments) if isinstance(arguments, str) else arguments
            except ValueError:
                return api, arguments
    return None


def test_released_sql_is_read_by_the_rules():
    replies = list(write_replies("sql", COUNT))
    assert [reply for reply in replies if read_released_sql(reply) != read_sql(reply)] == []
    # The two readings differ in lower case, WITH and other fences.
    apart = sum(read_released_sql(reply) != prepare_prediction(reply) for reply in replies)
    assert COUNT // 10 < apart < COUNT
    told = {
        "select 1": "SELECT select 1",
        "WITH a AS (SELECT 1) SELECT * FROM a": "SELECT WITH a AS (SELECT 1) SELECT * FROM a",
        "```sql\nSELECT 1\n```": "SELECT 1",
        "So:\n```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```": "SELECT 1",
        "So:\n```SQL\nSELECT 1\n```\nDone.": "SELECT 1\n\nDone.",
        "```sql\nSELECT 1": "SELECT 1",
        "```sqlite\nSELECT 1\n```": "SELECT sqlite\nSELECT 1",
        "": "SELECT ",
    }
    assert {reply: read_released_sql(reply) for reply in told} == told


def test_released_code_is_read_by_the_rules():
    replies = list(write_replies("ds1000", COUNT))
    assert [reply for reply in replies if read_released_code(reply) != read_code(reply)] == []
    apart = sum(read_released_code(reply) != extract_code(reply) for reply in replies)
    assert COUNT // 10 < apart < COUNT
    told = {
        "```python\nx = 1\n```": "\nx = 1\n",
        "```\nx = 1\n```": "```\nx = 1\n```",
        "```python\nx = 1": "```python\nx = 1",
        "```\na\n```\n```python\nx = 1\n```": "\nx = 1\n",
        "x = 1": "x = 1",
    }
    assert {reply: read_released_code(reply) for reply in told} == told


def test_released_answers_are_read_by_the_rules():
    replies = list(write_replies("hotpotqa", COUNT))
    assert [reply for reply in replies if read_released_answer(reply) != read_answer(reply)] == []
    told = {
        'So: {"answer": "Paris"} {"answer": "Rome"}': "Paris",
        "Paris": "Paris",
        '{"reply": "Paris"}': '{"reply": "Paris"}',
        '} {"answer": "Paris"}': "",
        '{"answer": 5}': "",
        '{"answer": "a}b"}': '{"answer": "a}b"}',
        "{'answer': 'Paris'}": "{'answer': 'Paris'}",
    }
    assert {reply: read_released_answer(reply) for reply in told} == told


def test_released_calls_are_read_by_the_rules():
    outcomes: Counter[bool] = Counter()
    for reply in write_replies("toolbench", COUNT):
        call, wanted = read_released_call(reply), read_call(reply)
        assert (None if call is None else (call.api, call.arguments)) == wanted, reply
        outcomes[call is None] += 1
        if call is not None:
            # The stored answer is read again as the same call.
            assert make_call(*json.loads(write_call(call)).values()) == call
    assert min(outcomes.values()) > COUNT // 10
    text = read_released_call('{"api": "add_date", "arguments": "{\\"days\\": 3}"}')
    assert text is not None
    assert text.arguments == {"days": 3}
    broken = read_released_call('{"action": "add_date", "action_input": "3,"}')
    assert broken is not None
    assert (broken.arguments, broken.valid) == ("3,", False)


def test_reasoning_about_a_diagnosis_is_read_by_its_json():
    assert (
        read_released_diagnosis('1. Cough. {"rationale": "x", "answer": "34. Pneumonia"}') == "34. Pneumonia"
    )
    assert read_released_diagnosis("1. Cough. So 34. Pneumonia") == "1. Cough. So 34. Pneumonia"


def test_a_reading_that_is_not_known_is_refused(tmp_path):
    assert check_reading("none") == "none"
    for make in (lambda: Execution(tmp_path, reading="loose"), lambda: DS1000(reading="loose")):
        with pytest.raises(
            BadInput, match=r"'loose' is not an extraction rule .known: lenient, released, none"
        ):
            make()
