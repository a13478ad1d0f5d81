import pytest

from flows.run.model_settings import read_models
from tasks.errors import BadInput

GOOD = {
    "models": {"small": {"file": "s.gguf", "bytes": 1, "sha256": "0" * 64, "licence": "MIT"}},
    "run": {
        "endpoints": {
            "small": {"kind": "embedded"},
            "big": {"url": "https://example.org/v1/", "key_env": "KEY"},
        },
        "prices": {"big": {"input_usd_per_million": 1, "output_usd_per_million": 2}},
        "budget": {"usd": 1.5},
        "workers": 2,
        "engine": {"name": "dask"},
    },
}


def test_the_sections_are_read():
    run, models = read_models(GOOD)
    assert run.endpoints["big"].url == "https://example.org/v1"
    assert run.budget.usd == 1.5
    assert models["small"].context == 4096


def test_nothing_set_is_nothing_limited():
    run, models = read_models({})
    assert (run.budget.usd, run.endpoints, models) == (None, {}, {})


@pytest.mark.parametrize(
    ("section", "value", "said"),
    [
        (
            "run",
            {"endpoints": {"a": {"url": "https://user:pass-word@host/v1"}}},
            r"run\.endpoints\.a\.url: .*password",
        ),
        ("run", {"endpoints": {"a": {"url": "ftp://host"}}}, r"run\.endpoints\.a\.url"),
        ("run", {"endpoints": {"a": {"kind": "openai"}}}, r"run\.endpoints\.a: .*needs a url"),
        ("run", {"endpoints": {"a": {"url": "http://h", "key": "sk-1"}}}, r"run\.endpoints\.a\.key"),
        ("run", {"budget": {"euros": 1}}, r"run\.budget\.euros"),
        ("models", {"m": {"file": "x"}}, r"models\.m\.bytes"),
    ],
)
def test_what_is_wrong_is_named_without_its_value(section, value, said):
    with pytest.raises(BadInput, match=said) as caught:
        read_models({section: value})
    assert "pass-word" not in str(caught.value)
    assert "sk-1" not in str(caught.value)
