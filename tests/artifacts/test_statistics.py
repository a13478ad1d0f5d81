from tasks.artifacts.statistics import group_by_prompt, list_models, read_statistics, sum_calls
from tests.grammar.sample import write_sample


def test_statistics_count_rows_drops_sources_and_calls(tmp_path):
    sample = write_sample(tmp_path)

    statistics = read_statistics(sample.paths()["back_check"])

    assert (statistics.name, statistics.rows, statistics.dropped) == ("back_check", 4, {"misread": 1})
    assert statistics.sources == {"text_templates": 5}  # the four that were kept and the one that was dropped
    assert len(statistics.calls) == 4


def test_an_artifact_without_calls_and_drops_has_none(tmp_path):
    statistics = read_statistics(write_sample(tmp_path).paths()["schema"])

    assert (statistics.calls, statistics.dropped, statistics.sources) == ((), {}, {})


def test_a_call_that_two_stages_use_is_paid_once(tmp_path):
    calls = read_statistics(write_sample(tmp_path).paths()["sql_templates"]).calls

    totals = sum_calls([*calls, *calls])

    assert (totals.calls, totals.unparsed) == (3, 1)
    assert (totals.prompt_tokens, totals.completion_tokens) == (300, 30)


def test_prompts_and_models_are_grouped(tmp_path):
    statistics = [read_statistics(path) for path in write_sample(tmp_path).paths().values()]

    assert [(name, totals.calls) for name, _, totals in group_by_prompt(statistics)] == [
        ("sql_templates", 3),
        ("text_templates", 4),
        ("back_check", 4),
    ]
    assert list_models(statistics) == [("small", "ab" * 32, ("generator", "reader"))]
