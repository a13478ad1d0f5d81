import json

import pytest

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.answers import KeptAnswers


def test_an_answer_is_kept_as_the_same_bytes(tmp_path):
    kept = KeptAnswers(tmp_path / "answers", "http://x")
    assert not kept.has("42/Q42")
    kept.keep("42/Q42", {"b": 1, "a": [2]})
    assert kept.has("42/Q42")
    assert kept.read("42/Q42") == {"a": [2], "b": 1}
    assert (tmp_path / "answers/42/Q42.json").read_bytes() == b'{"a":[2],"b":1}\n'


def test_what_is_no_json_or_too_deep_is_one_clear_line(tmp_path):
    kept = KeptAnswers(tmp_path, "http://x")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(BadInput, match=r"a\.json: is not valid JSON.*repeats the request"):
        kept.read("a")
    with pytest.raises(DatabaseGone, match="http://x: b: the response is nested too deeply"):
        kept.keep("b", json.loads("[" * 900 + "]" * 900))
    assert not kept.has("b")
