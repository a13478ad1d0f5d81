"""Tests of an evaluation's tables against a plain computation, and of intervals, warnings and confusion."""

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.errors import StageFailed
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.publish.evaluation_figures import evaluation_figures
from tasks.streambench.score.curves import curves
from tasks.streambench.score.scores import scores
from tests.streambench.made_evaluation import (
    ENTRY,
    MODELS,
    MadeEvaluation,
    drop_run,
    make_evaluation,
    write_figures,
)
from tests.streambench.plain_tables import (
    PlainRuns,
    Tables,
    assert_cells,
    assert_pairs,
    compute_tables,
    read_values,
)

KEYS = {
    "means", "gains", "model-agent", "model-second_agent", "memories", "uses", "seeds", "kinds", "values",
    "readings", "times", "regrets", "pairs-agent", "pairs-second_agent", "tokens-agent",
    "tokens-second_agent", "tokens-gains", "tokens-means",
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> MadeEvaluation:
    return make_evaluation()


@pytest.fixture(scope="module")
def figures(made: MadeEvaluation, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return write_figures(made, tmp_path_factory.mktemp("figures") / "evaluation_figures.json")


@pytest.fixture(scope="module")
def plain(made: MadeEvaluation) -> Tables:
    return compute_tables(made)


@pytest.mark.parametrize("key", sorted(key for key in KEYS if not key.startswith(("pairs", "readings"))))
def test_every_cell_is_what_a_plain_computation_gives(plain: Tables, figures: Any, key: str) -> None:
    assert set(figures["tables"]) == KEYS
    assert_cells(figures["tables"][key], plain[key])
    cells = read_values(figures["tables"][key]).values()
    filled = [value for values in cells for value in values if value is not None]
    assert len(set(filled)) > 3


@pytest.mark.parametrize("model", MODELS)
def test_pairs_are_compared_over_the_same_sequence(plain: Tables, figures: Any, model: str) -> None:
    assert_pairs(figures["tables"][f"pairs-{model}"], plain[f"pairs-{model}"])
    found = read_values(figures["tables"][f"pairs-{model}"])
    assert len(found) == 9 * 8 / 2
    holm = [line[-1] for line in found.values()]
    assert sum(line[3] is not None for line in found.values()) == 8  # few-shot has one seed
    assert min(p for p in holm if p is not None) < 0.05 < max(p for p in holm if p is not None)


def test_failed_and_unjudged_steps_are_in_every_mean_and_beside_it(
    made: MadeEvaluation, figures: Any
) -> None:
    cell = figures["tables"]["model-agent"]["lines"][0]["cells"][0]
    own = [step for step in made.steps if step.method == "zero_shot" and step.agents == ("agent",)]
    counts = {outcome: sum(step.outcome == outcome for step in own) for outcome in ("failed", "unjudged")}
    assert (cell["n"], cell["failed"], cell.get("unjudged", 0)) == (80, counts["failed"], counts["unjudged"])
    assert min(counts["failed"], len([s for s in made.steps if s.outcome == "unjudged"])) > 0
    assert figures["counts"]["steps"] == len(made.steps)
    assert figures["counts"]["failed"] == sum(step.answer is None for step in made.steps)


def test_the_interval_of_one_run_is_wilsons(made: MadeEvaluation, figures: Any) -> None:
    lines = {tuple(line["label"]): line["cells"] for line in figures["tables"]["model-agent"]["lines"]}
    cell = lines["Non-streaming", "Few-Shot"][0]
    n, share, z = 40, cell["value"], 1.959963984540054
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert cell["interval"] == pytest.approx([middle - reach, middle + reach], abs=1e-9)


def test_the_interval_of_several_runs_draws_items_whole(made: MadeEvaluation, figures: Any) -> None:
    (line,) = [line for line in figures["tables"]["means"]["lines"] if line["label"][1] == "Self-StreamICL"]
    runs = PlainRuns(made).runs
    by_item: dict[str, list[int]] = {}
    for model in MODELS:
        for step in (step for steps in runs["self_stream_icl", model].values() for step in steps):
            by_item.setdefault(step.item, []).append(int(step.bit))
    means = np.array([np.mean(bits) for bits in by_item.values()])
    drawn = means[np.random.default_rng(3).integers(0, len(means), (4000, len(means)))].mean(axis=1)
    assert line["cells"][0]["interval"] == pytest.approx(list(np.quantile(drawn, [0.025, 0.975])), abs=0.02)


def test_warnings_name_few_steps_seeds_failures_and_the_window(figures: Any) -> None:
    told = "\n".join(figures["warnings"])
    assert "With only 40 steps" in told
    assert "2 combinations of method and model ran with only one seed" in told
    assert "steps failed and count as wrong. The most common reason: the model did not answer" in told
    assert "the context window was too small. The most common reason: 1 of 2 examples" in told
    assert "judged" not in told  # within the threshold


def test_unjudged_steps_beyond_the_threshold_one_seed_and_estimates_are_warned_of(tmp_path: Path) -> None:
    entry = StreamEvaluation(stream="sample", methods=("zero_shot",), models=("agent",))
    made = make_evaluation(entry=entry, seeds=(42,))
    steps = [
        replace(step, outcome="unjudged", bit=False, failed="no gold") if step.position < 20 else step
        for step in made.steps
    ]
    calls = [replace(call, estimated=True) for call in made.calls]
    scored = list(scores(steps, calls).rows)
    changed = replace(made, steps=steps, scores=scored, curves=list(curves(scored).rows))
    told = "\n".join(write_figures(changed, tmp_path / "f.json")["warnings"])
    assert "with only one order of the stream (one seed)" in told
    assert "could not be judged and count as wrong. The most common reason: no gold" in told
    assert "are estimates" in told


def test_what_was_not_run_says_so(made: MadeEvaluation, tmp_path: Path) -> None:
    bare = drop_run(drop_run(made, "zero_shot"), "mam_stream_icl")
    tables = write_figures(bare, tmp_path / "f.json")["tables"]
    whole = {line["label"][0]: line["cells"] for line in tables["memories"]["lines"]}
    assert [cell["why"] for cell in whole["MAM-StreamICL"]] == ["not run", "not run"]
    assert whole["Zero-Shot"][0]["value"] is None
    last = {tuple(line["label"]): line["cells"][-1] for line in tables["gains"]["lines"]}
    assert last["agent", "Self-StreamICL"]["why"] == "no Zero-Shot run to compare with"
    assert tables["times"]["lines"][0]["cells"][-1]["why"] == "not run"


def test_an_accuracy_that_is_never_reached_says_where_it_ends(figures: Any) -> None:
    (line,) = [
        line for line in figures["tables"]["times"]["lines"] if line["label"] == ["agent", "Zero-Shot"]
    ]
    assert line["cells"][3]["value"] is None
    assert line["cells"][3]["why"].startswith("not reached: ")


def test_diagnoses_are_counted_by_their_true_label(tmp_path: Path) -> None:
    entry = ENTRY.model_copy(update={"methods": ENTRY.methods[:1], "method_seeds": {}})
    made = make_evaluation("ddxplus", ("ddxplus",), entry)
    (first, _) = write_figures(made, tmp_path / "f.json")["confusions"]
    own = [step for step in made.steps if step.agents == ("agent",)]
    golds = {item.id: int(item.gold) for item in made.items}
    wanted = [[0] * 6 for _ in range(4)]
    for step in own:
        said = (
            5
            if step.answer is None
            else golds[step.item]
            if step.answer[0] == str(golds[step.item])
            else None
        )
        wanted[golds[step.item]][(golds[step.item] + 1) % 4 if said is None else said] += 1
    assert first["labels"] == ["0", "1", "2", "3"]
    assert first["columns"] == ["0", "1", "2", "3", "other", "none"]
    assert first["counts"] == wanted
    assert first["n"] == 80
    assert first["failed"] == sum(row[5] for row in wanted) > 0


def test_calls_are_counted_by_their_api_and_rare_ones_as_others(tmp_path: Path) -> None:
    entry = ENTRY.model_copy(update={"methods": ENTRY.methods[:1], "models": ("agent",), "method_seeds": {}})
    made = make_evaluation("toolbench", ("toolbench",), entry, (42,))
    names = {item.id: f"api {number // 2}" for number, item in enumerate(made.items)}
    items = [
        replace(item, details=json.dumps({"api": names[item.id], "arguments": {}})) for item in made.items
    ]
    steps = [
        replace(step, bit=False, answer=json.dumps({"action": names[step.item] if step.bit else "api 0"}))
        for step in made.steps
    ]
    (matrix,) = write_figures(replace(made, items=items, steps=steps), tmp_path / "f.json")["confusions"]
    assert len(matrix["labels"]) == 12
    assert matrix["n"] == sum(map(sum, matrix["counts"])) == 24
    assert [row[:-2][place] for place, row in enumerate(matrix["counts"])] == [
        sum(s.bit or names[s.item] == "api 0" for s in made.steps if names[s.item] == label)
        for label in matrix["labels"]
    ]


def test_no_step_is_an_error_and_the_file_is_the_same_bytes_in_any_order(
    made: MadeEvaluation, tmp_path: Path
) -> None:
    with pytest.raises(StageFailed, match="no step has run"):
        evaluation_figures(made.items, [], [], [], ENTRY, {}, tmp_path / "f.json")
    entry = ENTRY.model_copy(update={"methods": ENTRY.methods[:1], "method_seeds": {}})
    small = make_evaluation(entry=entry)
    write_figures(small, tmp_path / "one.json")
    turned = replace(
        small,
        items=small.items[::-1],
        steps=small.steps[::-1],
        scores=small.scores[::-1],
        curves=small.curves[::-1],
    )
    write_figures(turned, tmp_path / "other.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()
