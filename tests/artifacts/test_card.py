import dataclasses

import pytest
import yaml

from tasks.artifacts.card import CardSection, DatasetCard, DatasetConfig, DatasetSource, write_card
from tasks.artifacts.statistics import ArtifactStatistics, CallStatistics

CALL = CallStatistics(
    "k", "judge", "small", "ab" * 32, "check", "cd" * 32, 1_000, 20, estimated=True, parsed=False
)
CARD = DatasetCard(
    title="Films",
    summary="About films.",
    language="en",
    tasks=("question-answering",),
    tags=("x",),
    sources=(DatasetSource("Films", "CC0-1.0", "https://example.org", "By many."),),
    sets=(
        DatasetConfig("balanced", "balanced.jsonl", 1_234, "all"),
        DatasetConfig("rest", "rest.jsonl", 2, "rest"),
    ),
    artifacts=(ArtifactStatistics("back_check", 5, {"misread": 7}, {"texts": 12}, (CALL,)),),
    columns={"id": "a hash"},
    made=("It is made.",),
    rebuild=("make reproduce",),
    limits=("It ends.",),
    sections=(CardSection("Yield", ("a", "n"), (("x|y", 1),)),),
    parameters={"grammar": {"seed": 7}},
)


def read_head(card: DatasetCard) -> dict:
    return yaml.safe_load(write_card(card).split("---\n")[1])


def test_the_head_says_what_hubs_read():
    head = read_head(CARD)

    assert head["license"] == "cc0-1.0"
    assert head["size_categories"] == ["1K<n<10K"]
    assert head["configs"][0] == {
        "config_name": "balanced",
        "default": True,
        "data_files": [{"split": "test", "path": "balanced.jsonl"}],
    }


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (10_000, "10K<n<100K"),
        (9_999_999, "1M<n<10M"),
        (10**7, "10M<n<100M"),
    ],
)
def test_sizes_are_the_hubs(rows, size):
    sets = (DatasetConfig("balanced", "b.jsonl", rows, ""),)

    assert read_head(dataclasses.replace(CARD, sets=sets))["size_categories"] == [size]


def test_a_licence_that_hubs_do_not_know_is_named():
    sources = (DatasetSource("Own", "House rules"), CARD.sources[0])

    head = read_head(dataclasses.replace(CARD, sources=sources))

    assert (head["license"], head["license_name"]) == ("other", "House rules and CC0-1.0")


def test_the_body_tells_drops_models_prompts_tokens_and_parameters():
    text = write_card(CARD)

    assert "| back_check | `misread` | 7 |" in text
    assert "| back_check | texts 12 | 5 | 7 | 1 | 1,000 | 20 |" in text
    assert f"`small` as judge, SHA-256 `{'ab' * 32}`" in text
    assert (
        "In total: 1 model calls, 1,000 input tokens, 20 output tokens "
        "(calls with estimated token counts: 1)."
    ) in text
    assert "seed: 7" in text
    assert "dollars" not in text


def test_the_name_of_a_served_model_is_not_shown_as_a_checksum():
    call = dataclasses.replace(CALL, model="big", identity="big-2024")
    artifacts = [dataclasses.replace(CARD.artifacts[0], calls=[call])]

    assert "`big` as judge, served as `big-2024`" in write_card(
        dataclasses.replace(CARD, artifacts=artifacts)
    )


def test_dollars_are_said_where_a_price_is_known():
    assert "0.25 US dollars" in write_card(dataclasses.replace(CARD, dollars=0.25))


def test_data_is_never_markup():
    sources = (DatasetSource("[x](http://evil) <b>", "CC0-1.0", attribution="a\n# b"),)

    text = write_card(dataclasses.replace(CARD, sources=sources))

    assert "\\[x\\](http://evil) \\<b\\>" in text
    assert "\n# b" not in text
    assert "| x\\|y | 1 |" in text


def test_the_same_facts_give_the_same_bytes():
    assert write_card(CARD) == write_card(dataclasses.replace(CARD))
