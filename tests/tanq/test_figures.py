"""Tests of an evaluation's figures: each cell against a plain computation on hand-written predictions."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import binomtest

from tasks.artifacts.rows import Counts, Dropped
from tasks.errors import StageFailed
from tasks.scoring.statistics import LEAST
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.tanq_item import FinalRow, ItemThing, TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.labels import AgentFault, FailureKind
from tasks.tanq.outcomes import TableSystem, list_main
from tasks.tanq.publish.evaluation_figures import evaluation_figures
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.score.scores import PredictionScore, score_all
from tasks.tanq.solve.prediction import Prediction
from tests.tanq.scored_items import PERFECT, make_item, make_prediction, make_step

KINDS = ("simple", "composition", "intersection")
SKILLS = (
    "filter_number", "filter_time", "filter_entity", "date_to_year", "conversion", "time_calculation",
    "approximation",
)  # fmt: skip
SETTINGS = {"judging.thresholds.unscored_share": 0.05}
ENTRY = TableEvaluation(set="sample", shots=(0, 1, 3), instructions=("simple", "steps"))
SYSTEMS = {
    "closed/agent/3-random/simple": ("closed", 3, "random", "simple"),
    "closed/agent/3-random/steps": ("closed", 3, "random", "steps"),
    "closed/agent/3-random/empty": ("closed", 3, "random", "empty"),
    "closed/agent/3-random/detailed": ("closed", 3, "random", "detailed"),
    "closed/agent/0/simple": ("closed", 0, "", "simple"),
    "closed/agent/1-random/simple": ("closed", 1, "random", "simple"),
    "closed/agent/3-chosen/simple": ("closed", 3, "chosen", "simple"),
    "closed/agent/5-random/simple": ("closed", 5, "random", "simple"),
    "closed/agent/5-random/steps": ("closed", 5, "random", "steps"),
    "oracle/agent/1-random/simple": ("oracle", 1, "random", "simple"),
    "oracle/agent/0/simple": ("oracle", 0, "", "simple"),
    "open/agent": ("open", 0, "", ""),
}
MAIN = ("closed/agent/3-random/simple", "oracle/agent/1-random/simple", "open/agent")
FAILED = ("oracle/agent/1-random/simple", "i04")
LABELS = tuple(
    HallucinationLabel(f"{n}", prediction, "i00", f"r{n}", label, ())
    for n, (prediction, label) in enumerate((
        ("closed/agent/3-random/simple-i00", "yes"), ("closed/agent/3-random/simple-i01", "no"),
        ("closed/agent/3-random/simple-i01", "yes"), ("closed/agent/3-random/simple-i02", "no"),
    ))
)  # fmt: skip


def make_items() -> list[TanqItem]:
    """Return items of every kind: with and without each skill, 1 to 10 relations, 1 to 9 rows."""
    chance, items = random.Random(5), []
    for n in range(12):
        skills = tuple(SkillUse(SKILLS[(n + k) % 7], "P36", "", "", "", "") for k in range(n % 4))
        base = make_item(f"i{n:02}")
        more = tuple(
            replace(base.rows[0], label=f"Isle {k}", entity=f"x{k}") for k in range(chance.randint(0, 6))
        )
        rows: tuple[FinalRow, ...] = (*base.rows[: chance.randint(2, 3)], *more)
        rows = tuple(replace(row, filter_pass=k > 0 or n % 5 > 0) for k, row in enumerate(rows))
        items.append(
            replace(base, kind=KINDS[n % 3], skills=skills, rows=rows,
                    relations=tuple(f"P{k}" for k in range((1, 3, 5, 10, 2, 4)[n % 6])),
                    intermediates=(ItemThing("m", "Mirk", ""),), near=(ItemThing("n", "Ness", ""),))
        )  # fmt: skip
    return items


def make_predictions(items: list[TanqItem]) -> list[Prediction]:
    chance, rows = random.Random(3), []
    spoilt: tuple[Any, ...] = (
        PERFECT, PERFECT[:2], PERFECT[1:], None, (*PERFECT, ("Mirk", "", "", "", "")),
        (*PERFECT, ("Ness", "", "", "", "")), tuple(row[:2] for row in PERFECT),
        tuple((*row[:1], "Hull", *row[2:]) for row in PERFECT),
    )  # fmt: skip
    for system, (setting, shots, choice, instruction) in SYSTEMS.items():
        for n, item in enumerate(items):
            table = spoilt[n % len(spoilt)] if setting == "open" else chance.choice(spoilt)
            row = make_prediction(
                item.id, table, id=f"{system}-{item.id}", system=system, setting=setting, shots=shots,
                shot_choice=choice, instruction=instruction,
                steps=(make_step("GetIntro", "x", "Ruvay is an island."),) if setting == "open" else (),
                left_out=("p1",) if item.id == "i03" else (),
            )  # fmt: skip
            if (system, item.id) == FAILED:
                row = replace(row, failed="not asked: no room", table=None, reply="")
            rows.append(row)
    chance.shuffle(rows)
    return rows


def make_human(items: list[TanqItem]) -> list[Prediction]:
    return [
        make_prediction(item.id, id=f"people-{item.id}", system="people", model="people", shots=0,
                        shot_choice="", instruction="")
        for item in items[:5]
    ]  # fmt: skip


def run(folder: Path, entry: TableEvaluation = ENTRY, **more: Any) -> tuple[Any, Counts]:
    items = make_items()
    given: dict[str, Any] = {
        "items": items, "predictions": make_predictions(items), "human_tables": make_human(items),
        "human_tables_dropped": [], "hallucination_labels": list(LABELS), "hallucination_labels_dropped": [],
        **more,
    }  # fmt: skip
    scored = score_all(given["items"], given["predictions"], "predictions")
    human = score_all(given["items"], given["human_tables"], "human_tables")
    out = folder / "evaluation_figures.json"
    counts = evaluation_figures(
        **given, scores=scored, human_scores=human, entry=entry, key="tiny", settings=SETTINGS, out=out
    )
    return json.loads(out.read_text()), counts


@cache
def get_scores() -> tuple[Mapping[str, TanqItem], Mapping[str, Prediction], Mapping[str, PredictionScore]]:
    items = make_items()
    rows = [*make_predictions(items), *make_human(items)]
    scored = score_all(items, rows, "predictions")
    return (
        {item.id: item for item in items},
        {row.id: row for row in rows},
        {score.id: score for score in scored},
    )


def average(
    system: str, rule: str, measure: str, belongs: Callable[[TanqItem], bool]
) -> tuple[Any, int, int]:
    """Return a mean, its n and its number of failures, by a loop over predictions."""
    items, rows, scores = get_scores()
    values, failed = [], 0
    for row in rows.values():
        if row.system == system and belongs(items[row.item]):
            value = getattr(scores[row.id], f"{rule}_{measure}")
            if value is None:
                failed += 1
            else:
                values.append(value)
    return (pytest.approx(fmean(values)) if values else None), len(values), failed


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made, counts = run(tmp_path_factory.mktemp("figures"))
    assert counts == Counts(144, 143, {"failed": 1})
    return made


def count_passing(item: TanqItem) -> int:
    return len([row for row in item.rows if row.filter_pass])


GROUPS: dict[str, dict[str, Callable[[TanqItem], bool]]] = {
    "5": {
        **{kind: lambda i, k=kind: i.kind == k for kind in KINDS},  # type: ignore[misc]
        "all": lambda i: True,
    },
    "6": {
        words: lambda i, s=skill: s in [use.name for use in i.skills]  # type: ignore[misc]
        for skill, words in zip(
            SKILLS,
            ("filter number", "filter time", "filter entity", "date to year", "conversion",
             "time calculation", "approximation"),
            strict=True,
        )
    },
    "8": {
        words: lambda i, n=n: len(i.skills) == n  # type: ignore[misc]
        for n, words in enumerate(("none", "one", "two", "three"))
    },
    "9": {
        **{str(n): lambda i, n=n: len(i.relations) == n for n in (1, 3, 5, 10)},  # type: ignore[misc]
        "other": lambda i: len(i.relations) in (2, 4),
    },
    "10-section": {
        "short": lambda i: count_passing(i) <= 3,
        "medium": lambda i: count_passing(i) in (4, 5, 6),
        "long": lambda i: count_passing(i) >= 7,
    },
    "10-caption": {
        "short": lambda i: count_passing(i) < 3,
        "medium": lambda i: count_passing(i) in (3, 4, 5, 6),
        "long": lambda i: count_passing(i) >= 7,
    },
}  # fmt: skip


@pytest.mark.parametrize("rule", ["released", "paper"])
@pytest.mark.parametrize("key", GROUPS)
def test_every_cell_of_a_breakdown_is_a_plain_mean(figures: Any, key: str, rule: str) -> None:
    table = figures["tables"][f"{key}-{rule}"]
    columns = [(group, measure) for group in GROUPS[key] for measure in ("precision", "recall", "f1")]
    assert table["columns"] == [f"{group}: {measure}" for group, measure in columns]
    lines = {tuple(line["label"]): line["cells"] for line in table["lines"]}
    assert list(lines) == [
        ("closed", "agent", "3 random shots, simple"), ("oracle", "agent", "1 shot, simple"),
        ("oracle", "people", ""), ("open", "agent", ""),
    ]  # fmt: skip
    for system, cells in zip((MAIN[0], MAIN[1], "people", MAIN[2]), lines.values(), strict=True):
        for (group, measure), cell in zip(columns, cells, strict=True):
            want = average(system, rule, measure, GROUPS[key][group])
            assert (cell["value"], cell["n"], cell["failed"]) == want, (system, group, measure)
            assert bool(cell["why"]) == (cell["interval"] is None)
            assert cell["n"] >= LEAST or cell["interval"] is None
            assert cell["interval"] is None or cell["interval"][0] < cell["interval"][1]


@pytest.mark.parametrize("key", GROUPS)
def test_every_group_has_questions_so_that_no_cell_is_held_empty(figures: Any, key: str) -> None:
    first = figures["tables"][f"{key}-released"]["lines"][0]["cells"]
    assert all(cell["n"] for cell in first)


def test_no_question_is_outside_the_groups(figures: Any) -> None:
    for key in ("5", "8", "9", "10-section", "10-caption"):
        first = figures["tables"][f"{key}-released"]["lines"][0]["cells"]
        whole = first[-3]["n"] if key == "5" else sum(cell["n"] for cell in first[::3])
        assert whole == 12, key


def test_an_interval_holds_its_mean(figures: Any) -> None:
    cells = [
        cell for line in figures["tables"]["5-paper"]["lines"] for cell in line["cells"] if cell["interval"]
    ]
    assert all(cell["interval"][0] <= cell["value"] <= cell["interval"][1] for cell in cells)
    assert any(cell["interval"][0] < cell["interval"][1] for cell in cells)


@pytest.mark.parametrize("rule", ["released", "paper"])
def test_prompts_are_compared_with_all_else_equal(figures: Any, rule: str) -> None:
    shots = {tuple(line["label"][:2]): line["cells"] for line in figures["tables"][f"15-{rule}"]["lines"]}
    assert list(shots) == [("closed", "agent"), ("oracle", "agent")]
    styles = {tuple(line["label"][:2]): line["cells"] for line in figures["tables"][f"16-{rule}"]["lines"]}
    wanted: list[tuple[Any, list[str]]] = [
        (shots["closed", "agent"], [f"closed/agent/{setting}/simple" for setting in
                                    ("0", "1-random", "3-random", "3-chosen", "5-random")]),
        (shots["oracle", "agent"], ["oracle/agent/0/simple", "oracle/agent/1-random/simple", "", "", ""]),
        (styles["closed", "agent"], [f"closed/agent/3-random/{style}" for style in
                                     ("empty", "simple", "detailed", "steps")]),
        (styles["oracle", "agent"], ["", "oracle/agent/1-random/simple", "", ""]),
    ]  # fmt: skip
    for cells, systems in wanted:
        assert len(cells) == 3 * len(systems)
        for place, cell in enumerate(cells):
            system, measure = systems[place // 3], ("precision", "recall", "f1")[place % 3]
            if system:
                want = average(system, rule, measure, lambda item: True)
                assert (cell["value"], cell["n"], cell["failed"]) == want, (system, measure)
            else:
                assert (cell["value"], cell["why"]) == (None, "did not run")


def test_failures_are_shares_of_all_replies(figures: Any) -> None:
    _, rows, scores = get_scores()
    table = figures["tables"]["11"]
    assert [line["label"] for line in table["lines"]] == [[kind.shown] for kind in FailureKind]
    for kind, line in zip(FailureKind, table["lines"], strict=True):
        for system, cell in zip(MAIN, line["cells"], strict=True):
            own = [row for row in rows.values() if row.system == system and not row.failed]
            hits = sum(kind in scores[row.id].failures for row in own)
            if kind == FailureKind.OTHER_HALLUCINATION:
                continue
            assert (cell["value"], cell["n"]) == (pytest.approx(hits / len(own)), len(own)), (kind, system)
            low, high = binomtest(hits, len(own)).proportion_ci(method="wilson")
            assert cell["interval"] == pytest.approx([low, high], abs=1e-9)
    assert any(cell["value"] > 0 for cell in table["lines"][0]["cells"])


def test_other_hallucinations_are_what_most_raters_say(figures: Any) -> None:
    closed, oracle, _ = figures["tables"]["11"]["lines"][4]["cells"]
    assert (closed["value"], closed["n"], closed["failed"]) == (0.5, 2, 1)  # one yes, one no, one tie
    assert (oracle["value"], oracle["why"]) == (
        None,
        "rules do not detect this failure, and no person labelled it",
    )


def test_faults_are_shares_of_all_and_of_those_that_can(figures: Any) -> None:
    items, rows, scores = get_scores()
    lines = figures["tables"]["faults"]["lines"]
    own = [row for row in rows.values() if row.setting == "open"]
    able: dict[str, Callable[[TanqItem], bool]] = {
        "one_condition": lambda i: i.kind == "intersection",
        "intermediates_listed": lambda i: i.kind == "composition",
        "filter_ignored": lambda i: any(use.name.startswith("filter") for use in i.skills),
    }
    for fault, line in zip(AgentFault, lines, strict=True):
        hits = [row for row in own if fault in (scores[row.id].faults or ())]
        those = [row for row in own if fault not in able or able[fault](items[row.item])]
        assert [(cell["value"], cell["n"]) for cell in line["cells"]] == [
            (pytest.approx(len(hits) / 12), 12),
            (pytest.approx(len([row for row in hits if row in those]) / len(those)), len(those)),
        ]
    found = {line["label"][0] for line in lines if line["cells"][0]["value"]}
    assert {"search ended", "malformed table", "one condition", "intermediates listed"} <= found


def test_warnings_say_what_is_few_failed_and_cut(figures: Any) -> None:
    few, failed, cut = figures["warnings"]
    assert few.startswith("With only 12 questions")
    assert failed.startswith("oracle · agent · 1 shot, simple: 1 of 12 predictions have no reply (not asked")
    assert cut.startswith("2 of 24 oracle prompts lack some proofs")


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    items = make_items()
    own = [row for row in make_predictions(items) if row.setting == "closed"]
    dropped = [Dropped("x", "no_table", "line 3: i1: contains no lines of the form `a|b`")]
    made, _ = run(
        tmp_path, TableEvaluation(set="sample"), predictions=own, human_tables=[],
        hallucination_labels=[], human_tables_dropped=dropped,
    )  # fmt: skip
    assert made["tables"]["faults"]["notes"] == ["Not shown: the open agent did not run."]
    assert "set the evaluation's `labels` in params.yaml" in made["tables"]["11"]["notes"][1]
    assert made["warnings"][-1].startswith("1 line of people's tables could not be used (line 3")


def test_a_skill_without_a_column_is_an_error(tmp_path: Path) -> None:
    items = make_items()
    items[1] = replace(items[1], skills=(SkillUse("rhyme", "", "", "", "", ""),))
    with pytest.raises(StageFailed, match="rhyme"):
        run(tmp_path, items=items)


def test_the_main_prompt_is_the_nearest_to_the_papers() -> None:
    def system(shots: int, choice: str = "random", instruction: str = "simple") -> TableSystem:
        return TableSystem(0, "closed", "agent", shots, choice, instruction)

    assert list_main([system(5), system(1), system(0, ""), system(3, "chosen")]) == [system(3, "chosen")]
    assert list_main([system(5), system(1), system(0, "")]) == [system(1)]
    assert list_main([system(5), system(3, instruction="steps")]) == [system(5)]
    assert list_main([system(3, instruction="steps"), system(3, instruction="empty")]) == [
        system(3, instruction="empty")
    ]
